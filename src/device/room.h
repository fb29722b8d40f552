/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space in a ring that is taken in order and freed in order. Space never wraps: the rest at the
 * end is skipped. Positions only grow.
 */
#ifndef DEVICE_ROOM_H
#define DEVICE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct tcpx_room {
	uint64_t size;
	uint64_t head; /* end of the taken space                     */
	uint64_t tail; /* start of it                                */
};

/* Takes @n at *@at. False: not now; never, if the ring is empty. An empty ring begins anew
 * at 0. */
static inline bool
tcpx_room_take(struct tcpx_room *r, uint64_t n, uint64_t *at)
{
	uint64_t left = r->size - r->head % r->size;
	uint64_t skip = n > left || (r->head == r->tail && left < r->size) ? left : 0;

	if (n > r->size)
		return false;
	if (r->head == r->tail)
		r->tail += skip;
	if (r->head + skip + n - r->tail > r->size)
		return false;
	r->head += skip;
	*at = r->head % r->size;
	r->head += n;
	return true;
}

/* Frees what was taken before the head was at @end, a head that the caller kept. */
static inline void
tcpx_room_free(struct tcpx_room *r, uint64_t end)
{
	if (end > r->tail)
		r->tail = end;
}

#endif
