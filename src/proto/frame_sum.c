/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of a frame: one of its head, one of all of it. */
#include "proto/frame_sum.h"

#include <errno.h>
#include <string.h>

#include "base/crc32c.h"

enum { TYPE_AT = 4, SUM_AT = 5, NUMBER_AT = 8, CHECK_AT = 16 };

bool
tcpx_frame_is_summed(uint8_t type)
{
	return tcpx_frame_numbered(type) || type == TCPX_FR_ACK || type == TCPX_FR_PING ||
	       type == TCPX_FR_PONG;
}

static uint32_t
head_sum(const uint8_t *frame)
{
	uint32_t sum = tcpx_crc32c(0, frame, SUM_AT);

	return tcpx_crc32c(sum, frame + NUMBER_AT, CHECK_AT - NUMBER_AT) & 0xffffff;
}

static uint32_t
whole_sum(const uint8_t *frame, size_t len)
{
	uint32_t sum = tcpx_crc32c(0, frame, CHECK_AT);

	return tcpx_crc32c(sum, frame + TCPX_FRAME_HEAD, len - TCPX_FRAME_HEAD);
}

void
tcpx_frame_sum(uint8_t *frame, size_t len)
{
	uint32_t sum = head_sum(frame);
	struct tcpx_buf b;

	tcpx_buf_init(&b, frame + SUM_AT, NUMBER_AT - SUM_AT);
	tcpx_buf_put_u8(&b, (uint8_t)(sum >> 16));
	tcpx_buf_put_u16(&b, (uint16_t)sum);
	tcpx_buf_init(&b, frame + CHECK_AT, sizeof(sum));
	tcpx_buf_put_u32(&b, whole_sum(frame, len));
}

int
tcpx_frame_sum_read(const uint8_t *src, size_t have, struct tcpx_frame_head *out)
{
	uint8_t plain[TCPX_FRAME_HEAD];
	struct tcpx_buf b;
	uint32_t sum, len, check;
	uint64_t number;
	int rc;

	if (have < TCPX_FRAME_HEAD)
		return -EAGAIN;
	if (!tcpx_frame_is_summed(src[TYPE_AT]))
		return tcpx_frame_head_read(src, have, out) ? TCPX_EDATA : 0;
	tcpx_buf_init_const(&b, src, TCPX_FRAME_HEAD);
	len = tcpx_buf_get_u32(&b);
	tcpx_buf_get_u8(&b);
	sum = (uint32_t)tcpx_buf_get_u8(&b) << 16;
	sum |= tcpx_buf_get_u16(&b);
	number = tcpx_buf_get_u64(&b);
	check = tcpx_buf_get_u32(&b);
	if (sum != head_sum(src))
		return TCPX_EDATA;
	tcpx_frame_head_write(plain, src[TYPE_AT], number, len - TCPX_FRAME_HEAD);
	rc = tcpx_frame_head_read(plain, sizeof(plain), out);
	return rc == 0 && len <= have && check != whole_sum(src, len) ? TCPX_EDATA : rc;
}
