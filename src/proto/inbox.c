/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a control stream that have come and are not taken yet. */
#include "proto/inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"

#define NARROW (2u * TCPX_FRAME_MAX)
#define WIDE   (TCPX_FRAME_HEAD + TCPX_LANE_DATA_HEAD + TCPX_LANE_DATA_MAX + TCPX_FRAME_MAX)

int
tcpx_inbox_init(struct tcpx_inbox *in)
{
	*in = (struct tcpx_inbox){ .data = malloc(NARROW), .cap = NARROW };
	return in->data ? 0 : -ENOMEM;
}

void
tcpx_inbox_fini(struct tcpx_inbox *in)
{
	free(in->wider);
	free(in->data);
}

bool
tcpx_inbox_is_wide(const struct tcpx_inbox *in)
{
	return in->wider || in->cap == WIDE;
}

int
tcpx_inbox_widen(struct tcpx_inbox *in)
{
	if (!tcpx_inbox_is_wide(in))
		in->wider = malloc(WIDE);
	return tcpx_inbox_is_wide(in) ? 0 : -ENOMEM;
}

/* What is not yet taken begins at the front of @to. */
static void
move(struct tcpx_inbox *in, uint8_t *to)
{
	memmove(to, in->data + in->begin, in->end - in->begin);
	in->end -= in->begin;
	in->begin = 0;
}

size_t
tcpx_inbox_room(struct tcpx_inbox *in, uint8_t **data)
{
	if (in->wider) {
		move(in, in->wider);
		free(in->data);
		in->data = in->wider;
		in->cap = WIDE;
		in->wider = NULL;
	}
	if (in->begin == in->end)
		in->begin = in->end = 0;
	if (in->begin && in->cap - in->end < in->cap / 2)
		move(in, in->data);
	*data = in->data + in->end;
	return in->cap - in->end;
}

size_t
tcpx_inbox_memory(const struct tcpx_inbox *in)
{
	return in->wider ? in->cap + WIDE : in->cap;
}
