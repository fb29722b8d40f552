/* SPDX-License-Identifier: Apache-2.0 */
/* Two control streams, and the bytes from one to the other. */
#ifndef CTRL_PIPE_H
#define CTRL_PIPE_H

#include "base_test.h"
#include "proto/ctrl.h"

#define PAYLOAD_MAX (TCPX_FRAME_MAX - TCPX_FRAME_HEAD)

static const uint8_t zeros[TCPX_FRAME_MAX];

static inline struct tcpx_ctrl *
ctrl_new(void)
{
	struct tcpx_ctrl *c = NULL;

	assert_int_equal(tcpx_ctrl_new(&c), 0);
	return c;
}

/* Moves at most @len bytes from one to the other; returns how many. */
static inline size_t
move(struct tcpx_ctrl *from, struct tcpx_ctrl *to, size_t len)
{
	const uint8_t *data;
	size_t have = tcpx_ctrl_pending(from, &data);
	uint8_t *room;
	size_t cap = tcpx_ctrl_room(to, &room);

	len = len < have ? len : have;
	len = len < cap ? len : cap;
	if (have)
		memcpy(room, data, len);
	tcpx_ctrl_arrived(to, len);
	tcpx_ctrl_written(from, len);
	return len;
}

/* Types of all frames that @to takes, moved whole, one digit or letter each. */
static inline void
take_types(struct tcpx_ctrl *from, struct tcpx_ctrl *to, char *types, size_t cap)
{
	struct tcpx_frame_head h;
	const uint8_t *payload;
	size_t n = 0;

	do {
		while (tcpx_ctrl_next(to, &h, &payload) == 1 && n + 1 < cap)
			types[n++] = tcpx_frame_name(h.type)[0];
	} while (move(from, to, SIZE_MAX));
	types[n] = '\0';
}

static inline void
put_ok(struct tcpx_ctrl *c, uint8_t type, size_t len)
{
	assert_int_equal(tcpx_ctrl_put(c, type, zeros, len), 0);
}

static inline void
bulk_ok(struct tcpx_ctrl *c, uint8_t type, size_t len)
{
	assert_int_equal(tcpx_ctrl_put_bulk(c, type, zeros, len, NULL), 0);
}

#endif
