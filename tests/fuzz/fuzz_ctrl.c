/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control stream whose peer sends anything, in pieces, between our own frames and
 * over connections that break. Numbers go up by one; memory stays bounded.
 */
#include "fuzz.h"
#include "proto/ctrl.h"

#include <string.h>

FUZZ_QUIETLY

static void
step(struct tcpx_ctrl *c, uint8_t what)
{
	const uint8_t *out;
	size_t len;

	switch (what % 8) {
	case 0:
		tcpx_ctrl_put(c, TCPX_FR_DONE, "done", 4);
		break;
	case 1:
		tcpx_ctrl_put_bulk(c, TCPX_FR_LIST, "list", 4, NULL);
		break;
	case 2:
		tcpx_ctrl_put_ack(c);
		break;
	case 3:
		tcpx_ctrl_cut(c);
		break;
	case 4:
		tcpx_ctrl_resume(c, what / 8);
		break;
	case 5:
		len = tcpx_ctrl_pending(c, &out);
		tcpx_ctrl_written(c, len > what ? what : len);
		break;
	default:
		tcpx_ctrl_pending(c, &out);
	}
}

/* Makes the piece's first bytes a good head now and then, so that takes succeed. */
static void
forge(struct tcpx_ctrl *c, uint8_t *at, size_t len, uint8_t type)
{
	uint64_t number = tcpx_frame_numbered(type) ? tcpx_ctrl_received(c) + 1 + (type & 1) : 0;

	if (len >= TCPX_FRAME_HEAD && tcpx_frame_name(type)[0] != '?')
		tcpx_frame_head_write(at, type, number, (uint32_t)(len - TCPX_FRAME_HEAD));
}

/* Pieces of: step, length, type to forge, that many bytes. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct tcpx_frame_head head;
	struct tcpx_ctrl *c;
	const uint8_t *payload;
	int rc = 0;

	if (tcpx_ctrl_new(&c) != 0)
		return 0;
	while (len >= 3 && rc >= 0) {
		uint8_t *room;
		size_t cap = tcpx_ctrl_room(c, &room), n = data[1];

		n = n < len - 3 ? n : len - 3;
		n = n < cap ? n : cap;
		step(c, data[0]);
		memcpy(room, data + 3, n);
		forge(c, room, n, data[2]);
		tcpx_ctrl_arrived(c, n);
		data += 3 + n;
		len -= 3 + n;
		do {
			uint64_t before = tcpx_ctrl_received(c);

			rc = tcpx_ctrl_next(c, &head, &payload);
			promise(tcpx_ctrl_received(c) - before <= 1);
			promise(rc != 1 || head.len <= TCPX_FRAME_MAX);
		} while (rc == 1);
		promise(tcpx_ctrl_memory(c) < 64u << 20);
	}
	tcpx_ctrl_free(c);
	return 0;
}
