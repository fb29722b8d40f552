/* SPDX-License-Identifier: Apache-2.0 */
/* A lane's two ends over wires that lose and reorder, by seeds: each message comes once, and whole. */
#include "base_test.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "proto/lane.h"

struct early {
	uint64_t seq;
	bool known;
};

struct two_ends {
	struct tcpx_rng rng;
	struct tcpx_lane_tx t;
	struct tcpx_lane_rx r;
	struct { uint64_t seq; uint32_t chunk, len; } wire[4096];
	uint64_t on_wire;
	struct early frame[TCPX_LANE_SLOTS * 2]; /* on their way, in order                */
	uint64_t put, got;
	struct told { uint64_t first, len[TCPX_LANE_SLOTS]; uint32_t count; } told[4096];
	uint64_t told_put, told_got;
	uint64_t coming[TCPX_LANE_SLOTS]; /* on credit, in the middle                     */
	uint32_t coming_count;
	uint64_t whole; /* bit seq % 64: come before its receive, all of it               */
	uint32_t lost, early;
};

static void
finish(struct two_ends *e, uint64_t seq)
{
	tcpx_lane_ring_finish(&e->r.ring, seq);
	tcpx_lane_ring_finish(&e->t.ring, seq); /* or earlier, if it was early */
}

static void
put_chunk(struct two_ends *e, uint64_t seq, uint32_t chunk, uint64_t len)
{
	e->wire[e->on_wire].seq = seq;
	e->wire[e->on_wire].chunk = chunk;
	e->wire[e->on_wire++].len = (uint32_t)len;
}

/* Before its receive is known, or in a frame. */
static bool
send_early(struct two_ends *e, uint64_t seq, bool known)
{
	uint64_t how = tcpx_rng_below(&e->rng, 6);

	if (how > 3 || (!known && !tcpx_lane_near(&e->t, seq)))
		return false;
	if (how > 1 && !known) {
		put_chunk(e, seq, TCPX_LANE_LAST | TCPX_LANE_EARLY, 1);
		e->early++;
	} else if (how < 2 && e->put - e->got < 2 * TCPX_LANE_SLOTS) {
		e->frame[e->put++ % (2 * TCPX_LANE_SLOTS)] = (struct early){ seq, known };
		tcpx_lane_ring_finish(&e->t.ring, seq);
	} else {
		return false;
	}
	tcpx_lane_launched(&e->t);
	return true;
}

static void
send_some(struct two_ends *e)
{
	uint64_t seq, room;

	while (tcpx_lane_next(&e->t, &seq, &room)) {
		bool known = room != TCPX_LANE_UNKNOWN;
		uint64_t total, at = 0;

		if (send_early(e, seq, known))
			continue;
		if (!known)
			return;
		total = tcpx_rng_below(&e->rng, room + 1);
		tcpx_lane_launched(&e->t);
		do {
			uint64_t left = total - at, n = left < 8192 ? left : 8192;

			put_chunk(e, seq, tcpx_lane_chunk(at, at + n == total), n);
			at += n;
		} while (at < total);
	}
}

/* A chunk has come on credit, or the first of it. */
static void
hear_early(struct two_ends *e, uint64_t seq)
{
	assert_int_equal(tcpx_lane_begins(&e->r, seq), 0);
	if (tcpx_lane_keeps(&e->r, seq)) {
		assert_true(seq > e->r.ring.posted);
		e->coming[e->coming_count++] = seq;
		assert_in_range(e->coming_count, 1, TCPX_LANE_SLOTS);
	} else if (tcpx_rng_below(&e->rng, 4)) {
		assert_int_equal(tcpx_lane_applied(&e->r, seq, TCPX_LANE_LAST | TCPX_LANE_EARLY, 1), 1);
		finish(e, seq);
	} else {
		put_chunk(e, seq, TCPX_LANE_LAST | TCPX_LANE_EARLY, 1); /* its channel was lost */
	}
}

/* What is in the middle comes to its end, or is to come again. */
static void
go_on(struct two_ends *e)
{
	uint64_t seq, bit;
	uint32_t k;

	if (!e->coming_count)
		return;
	k = (uint32_t)tcpx_rng_below(&e->rng, e->coming_count);
	seq = e->coming[k];
	bit = 1ull << seq % TCPX_LANE_SLOTS;
	e->coming[k] = e->coming[--e->coming_count];
	if (!tcpx_rng_below(&e->rng, 4)) {
		e->lost++;
		tcpx_lane_forget(&e->r, seq);
		put_chunk(e, seq, TCPX_LANE_LAST | TCPX_LANE_EARLY, 1);
		return;
	}
	tcpx_lane_ring_finish(&e->t.ring, seq);
	if (seq > e->r.ring.posted) {
		e->whole |= bit;
		return;
	}
	tcpx_lane_forget(&e->r, seq);
	finish(e, seq);
}

static void
hear_some(struct two_ends *e)
{
	for (uint64_t n = tcpx_rng_below(&e->rng, 4); n && e->on_wire; n--) {
		uint64_t k = tcpx_rng_below(&e->rng, e->on_wire), seq = e->wire[k].seq;
		uint32_t chunk = e->wire[k].chunk, len = e->wire[k].len;
		int rc = 0;

		e->wire[k] = e->wire[--e->on_wire];
		if (chunk & TCPX_LANE_EARLY)
			hear_early(e, seq);
		else
			rc = tcpx_lane_applied(&e->r, seq, chunk, len);
		assert_true(rc >= 0);
		if (rc == 1)
			finish(e, seq);
	}
	go_on(e);
	for (uint64_t n = tcpx_rng_below(&e->rng, 3); n && e->got < e->put; n--) {
		struct early *f = &e->frame[e->got++ % (2 * TCPX_LANE_SLOTS)];

		assert_int_equal(tcpx_lane_early(&e->r, f->seq, f->known), 0);
		if (f->seq <= e->r.ring.posted)
			finish(e, f->seq);
		else
			e->whole |= 1ull << f->seq % TCPX_LANE_SLOTS;
	}
	if (e->told_got < e->told_put && tcpx_rng_below(&e->rng, 2)) {
		struct told *p = &e->told[e->told_got++];

		assert_int_equal(tcpx_lane_announced(&e->t, p->first, p->len, p->count), 0);
	}
}

static void
receive(struct two_ends *e)
{
	uint64_t seq, bit;

	if (tcpx_lane_receive(&e->r, 1 + tcpx_rng_below(&e->rng, 30000), &seq) != 0)
		return;
	bit = 1ull << seq % TCPX_LANE_SLOTS;
	if (!(e->whole & bit))
		return;
	e->whole &= ~bit;
	assert_true(tcpx_lane_keeps(&e->r, seq));
	tcpx_lane_forget(&e->r, seq);
	finish(e, seq);
}

/* Both ends against each other: any order of chunks, receives in any number a frame, messages before
 * and after their receives, and some that begin more than once. */
static void
run_seed(uint64_t seed, uint64_t *early, uint64_t *lost)
{
	static struct two_ends e;
	struct tcpx_lane_rx *r = &e.r;
	uint64_t seq;

	memset(&e, 0, sizeof(e));
	e.rng = tcpx_rng_seed(seed);
	for (int step = 0; step < 4000; step++) {
		if (tcpx_rng_below(&e.rng, 2))
			receive(&e);
		if (tcpx_rng_below(&e.rng, 2))
			(void)tcpx_lane_send(&e.t, &seq);
		if (tcpx_lane_due(r) > tcpx_rng_below(&e.rng, 2)) {
			struct told *p = &e.told[e.told_put++];

			p->count = tcpx_lane_tell(r, &p->first, p->len);
		}
		send_some(&e);
		hear_some(&e);
		/* the sender is never left without announcements while receives wait */
		assert_true(r->announced == r->ring.posted || r->announced >= r->ring.done + 4 ||
			    r->ring.done == r->ring.posted || tcpx_lane_due(r));
		assert_true(r->ring.posted - r->announced <= TCPX_LANE_SLOTS);
	}
	assert_true(r->ring.done > 50);
	*early += e.early;
	*lost += e.lost;
}

TEST(test_seeds)
{
	uint64_t early = 0, lost = 0;

	for (uint64_t seed = 1; seed <= 200; seed++)
		run_seed(seed, &early, &lost);
	assert_true(early > 5000 && lost > 500);
}
