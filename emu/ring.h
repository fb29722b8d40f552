/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a comm's requests: five marks that move over one row of sequence numbers.
 *
 *   free <= done <= cut <= active <= tail <= free + 16
 *
 *   [active, tail)  POSTED        isend() or irecv() was called, nothing more
 *   [cut, active)   ACTIVE        the oldest is being cut into chunks, or its headers read
 *   [done, cut)     TRANSMITTING  all its chunks are on their way; only the oldest may be tested
 *   [free, done)    INACTIVE      receives: done, pages held until irecvConsumed()
 */
#ifndef EMU_RING_H
#define EMU_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/bounds.h"

struct emu_ring {
	uint64_t free, done, cut, active, tail;
};

enum emu_state { EMU_FREE, EMU_INACTIVE, EMU_TRANSMITTING, EMU_ACTIVE, EMU_POSTED };

static inline enum emu_state
emu_ring_state(const struct emu_ring *r, uint64_t seq)
{
	if (seq < r->free || seq >= r->tail)
		return EMU_FREE;
	if (seq < r->done)
		return EMU_INACTIVE;
	if (seq < r->cut)
		return EMU_TRANSMITTING;
	return seq < r->active ? EMU_ACTIVE : EMU_POSTED;
}

static inline bool
emu_ring_full(const struct emu_ring *r)
{
	return r->tail - r->free == EMU_REQUESTS;
}

/* One POSTED request becomes ACTIVE: at most one a call of test(). */
static inline bool
emu_ring_activate(struct emu_ring *r)
{
	if (r->active == r->tail)
		return false;
	r->active++;
	return true;
}

static inline bool
emu_ring_has_active(const struct emu_ring *r)
{
	return r->cut < r->active;
}

static inline bool
emu_ring_has_transmitting(const struct emu_ring *r)
{
	return r->done < r->cut;
}

#endif
