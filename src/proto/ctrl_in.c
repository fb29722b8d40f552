/* SPDX-License-Identifier: Apache-2.0 */
/* What comes by a control stream: one buffer, and the highest number in order. */
#include "proto/ctrl_in.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "proto/ctrl_state.h"
#include "proto/frame_sum.h"

#define ACK_BYTES  (256u << 10) /* received since the last ACK was put */
#define ACK_FRAMES 64u

int
tcpx_ctrl_widen(struct tcpx_ctrl *c)
{
	int rc = tcpx_inbox_widen(&c->in);

	return rc ? tcpx_fail(TCPX_SUB_BOOT, rc, "room for messages in frames") : 0;
}

size_t
tcpx_ctrl_room(struct tcpx_ctrl *c, uint8_t **data)
{
	return tcpx_inbox_room(&c->in, data);
}

void
tcpx_ctrl_arrived(struct tcpx_ctrl *c, size_t len)
{
	c->in.end += len;
}

static int
take_ack(struct tcpx_ctrl *c, const uint8_t *payload, size_t len)
{
	struct tcpx_buf b;

	if (len != 8)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EPROTO, "ACK frame with %zu bytes instead of 8", len);
	tcpx_buf_init_const(&b, payload, len);
	return tcpx_ctrl_acknowledge(c, tcpx_buf_get_u64(&b));
}

/* Counts a numbered frame. 1: new; 0: seen before; TCPX_EPROTO: a gap. */
static int
take_number(struct tcpx_ctrl *c, const struct tcpx_frame_head *h)
{
	if (h->number <= c->received)
		return 0;
	if (h->number != c->received + 1)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EPROTO, "control frame %" PRIu64 " (%s) after %" PRIu64,
				 h->number, tcpx_frame_name(h->type), c->received);
	c->received = h->number;
	c->unacked_bytes += h->len;
	return 1;
}

int
tcpx_ctrl_next(struct tcpx_ctrl *c, struct tcpx_frame_head *head, const uint8_t **payload)
{
	for (;;) {
		const uint8_t *at = c->in.data + c->in.begin;
		size_t have = c->in.end - c->in.begin;
		struct tcpx_frame_head h;
		int rc = (c->sums ? tcpx_frame_sum_read : tcpx_frame_head_read)(at, have, &h);

		if (!rc && h.len > TCPX_FRAME_MAX && !tcpx_inbox_is_wide(&c->in))
			rc = TCPX_EPROTO;
		if (rc == -EAGAIN || (!rc && h.len > have))
			return 0;
		if (rc)
			return rc == TCPX_EDATA ? rc :
			       tcpx_fail(TCPX_SUB_BOOT, rc, "bytes on the control stream after "
					 "frame %" PRIu64 " that are not a frame", c->received);
		if (h.type == TCPX_FR_ACK)
			rc = take_ack(c, at + TCPX_FRAME_HEAD, h.len - TCPX_FRAME_HEAD);
		else
			rc = tcpx_frame_numbered(h.type) ? take_number(c, &h) : 1;
		if (rc < 0)
			return rc;
		c->in.begin += h.len;
		if (rc) {
			*head = h;
			*payload = at + TCPX_FRAME_HEAD;
			return 1;
		}
	}
}

uint64_t
tcpx_ctrl_received(const struct tcpx_ctrl *c)
{
	return c->received;
}

bool
tcpx_ctrl_ack_due(const struct tcpx_ctrl *c)
{
	return c->unacked_bytes >= ACK_BYTES || c->received - c->ack_sent >= ACK_FRAMES;
}

bool
tcpx_ctrl_ack_owed(const struct tcpx_ctrl *c)
{
	return c->received > c->ack_sent;
}

int
tcpx_ctrl_put_ack(struct tcpx_ctrl *c)
{
	uint8_t payload[8], *ack;
	struct tcpx_buf b;
	uint64_t at = c->raw.end;
	int rc;

	tcpx_buf_init(&b, payload, sizeof(payload));
	tcpx_buf_put_u64(&b, c->received);
	if (c->raw_ack != NO_ACK && c->raw_ack >= c->raw.begin && !(c->lent & LENT_RAW)) {
		/* an ACK that is not yet being written: update its number */
		ack = tcpx_byteq_at(&c->raw, c->raw_ack);
		memcpy(ack + TCPX_FRAME_HEAD, payload, sizeof(payload));
		if (c->sums)
			tcpx_frame_sum(ack, TCPX_FRAME_HEAD + sizeof(payload));
	} else {
		rc = tcpx_ctrl_put_raw(c, TCPX_FR_ACK, payload, sizeof(payload));
		if (rc)
			return rc;
		c->raw_ack = at;
	}
	c->ack_sent = c->received;
	c->unacked_bytes = 0;
	return 0;
}
