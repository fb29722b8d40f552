/* SPDX-License-Identifier: Apache-2.0 */
/* Two control streams, and the bytes from one to the other. */
#ifndef CTRL_PIPE_H
#define CTRL_PIPE_H

#include "base_test.h"
#include "proto/ctrl.h"

#define PAYLOAD_MAX (TCPX_FRAME_MAX - TCPX_FRAME_HEAD)

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

#endif
