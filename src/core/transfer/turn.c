/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a lane share its turn: as turns of their own, a lane with many would have a greater
 * share, and a weight would mean nothing to messages of one chunk. */
#include "core/transfer/turn.h"

#include "core/transfer/lane_state.h"

_Static_assert(TCPX_LANE_SLOTS == 64, "a bit of tcpx_lane.ready for each");

static uint64_t
bit_of(const struct tcpx_xfer *x)
{
	return 1ull << tcpx_lane_seq(x->id) % TCPX_LANE_SLOTS;
}

/* The oldest message with chunks. There is one. */
static struct tcpx_xfer *
oldest(struct tcpx_lane *l)
{
	uint64_t first = l->tx.ring.done + 1;
	unsigned shift = first % TCPX_LANE_SLOTS;
	uint64_t turned = l->ready >> shift | l->ready << (TCPX_LANE_SLOTS - shift) % TCPX_LANE_SLOTS;

	return *tcpx_lane_slot(l, first + (unsigned)__builtin_ctzll(turned));
}

static struct turn *
turn(struct tcpx_xfer *x)
{
	return x->lane ? &x->lane->turn : &x->tx.turn;
}

bool
tcpx_turn_has(const struct tcpx_xfer *x)
{
	return x->lane ? x->lane->ready & bit_of(x) : x->tx.turn.drr.next != NULL;
}

void
tcpx_turn_join(struct session *s, struct tcpx_xfer *x)
{
	struct turn *t = turn(x);

	if (x->lane)
		x->lane->ready |= bit_of(x);
	t->next = x->lane ? oldest(x->lane) : x;
	tcpx_drr_add(&s->sched.drr, &t->drr);
}

void
tcpx_turn_leave(struct session *s, struct tcpx_xfer *x)
{
	struct turn *t = turn(x);

	if (x->lane)
		x->lane->ready &= ~bit_of(x);
	t->next = x->lane && x->lane->ready ? oldest(x->lane) : NULL;
	if (!t->next)
		tcpx_drr_remove(&s->sched.drr, &t->drr);
}

void
tcpx_turn_charge(struct session *s, struct tcpx_xfer *x, uint32_t len)
{
	tcpx_drr_charge(&s->sched.drr, &turn(x)->drr, len);
}
