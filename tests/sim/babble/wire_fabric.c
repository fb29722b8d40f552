/* SPDX-License-Identifier: Apache-2.0 */
/* What a babbler puts into the scripted network's pipes. */
#include <string.h>

#include "sim/babble/babble.h"
#include "fabric/inside.h"

static void
put(struct tcpx_chan *c, const void *bytes, size_t len)
{
	struct loop_pipe *out = &c->end.link->pipe[c->end.side];
	const char *at = bytes;
	size_t n = 1;

	for (; len && n; len -= n, at += n)
		n = tcpx_pipe_write(out, at, len);
}

void
babble_wire_ack(struct tcpx_chan *c, const struct tcpx_ack *a, bool summed)
{
	(void)summed;
	put(c, a, sizeof(*a));
}

void
babble_wire_message(struct tcpx_chan *c, const struct tcpx_head *h, const void *payload, uint32_t len,
		    bool abandoned)
{
	uint8_t head[LOOP_HEAD_BYTES] = { 0 }, tail[LOOP_TAIL_MAX] = { abandoned };
	struct tcpx_head plain = *h;

	plain.sum = 0;
	memcpy(head, &plain, sizeof(plain));
	memcpy(tail + 1, &h->sum, sizeof(h->sum));
	put(c, head, sizeof(head));
	put(c, payload, len);
	put(c, tail, h->summed ? LOOP_TAIL_MAX : 1);
}

uint64_t
babble_wire_slot(const struct tcpx_chan *c)
{
	uint64_t next = c->last_seq + 1;

	return next - c->end.link->ring->released <= LOOP_SLOTS ? next : 0;
}
