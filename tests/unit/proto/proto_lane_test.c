/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a lane's two ends. */
#include "base_test.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "proto/lane.h"

static void
test_words(void **state)
{
	uint64_t w = tcpx_lane_word(true, TCPX_LANES_MAX) | TCPX_LANE_SEQ;

	assert_int_equal(w, UINT64_MAX);
	assert_int_equal(tcpx_lane_number(w), TCPX_LANES_MAX);
	assert_int_equal(tcpx_lane_seq(w), TCPX_LANE_SEQ);
	w = tcpx_lane_word(false, 1) | 7;
	assert_true(tcpx_lane_is(w) && !(w >> 63));
	assert_int_equal(tcpx_lane_number(w), 1);
	assert_int_equal(tcpx_lane_seq(w), 7);
	assert_false(tcpx_lane_is(1ull << 63 | 12345));
}

static void
test_a_ring_holds_no_more_than_its_slots(void **state)
{
	struct tcpx_lane_ring r = { 0 };
	uint64_t seq;

	for (uint64_t i = 1; i <= TCPX_LANE_SLOTS; i++) {
		assert_int_equal(tcpx_lane_ring_post(&r, &seq), 0);
		assert_int_equal(seq, i);
	}
	assert_int_equal(tcpx_lane_ring_post(&r, &seq), TCPX_ELIMIT);
	assert_int_equal(tcpx_lane_ring_open(&r), TCPX_LANE_SLOTS);
	for (uint64_t i = TCPX_LANE_SLOTS; i > 1; i--) {
		tcpx_lane_ring_finish(&r, i);
		assert_int_equal(tcpx_lane_ring_open(&r), i - 1);
	}
	assert_int_equal(tcpx_lane_ring_post(&r, &seq), TCPX_ELIMIT); /* the oldest is open */
	tcpx_lane_ring_finish(&r, 1);
	assert_int_equal(r.done, TCPX_LANE_SLOTS);
	assert_int_equal(tcpx_lane_ring_open(&r), 0);
	assert_int_equal(tcpx_lane_ring_post(&r, &seq), 0);
	assert_true(tcpx_lane_ring_has(&r, seq));
	assert_false(tcpx_lane_ring_has(&r, seq - 1));
	assert_false(tcpx_lane_ring_has(&r, seq + 1));
}

static void
test_a_lane_streams_until_it_is_empty(void **state)
{
	struct tcpx_lane_tx t = { .announced = 0 };
	uint64_t seq;

	for (uint64_t i = 1; i <= 5; i++) {
		assert_int_equal(tcpx_lane_send(&t, &seq), 0);
		assert_int_equal(seq, i);
		assert_int_equal(t.streams, i > TCPX_LANE_FEW);
	}
	for (uint64_t i = 1; i <= 4; i++)
		tcpx_lane_ring_finish(&t.ring, i);
	assert_int_equal(tcpx_lane_send(&t, &seq), 0);
	assert_true(t.streams); /* two are open */
	tcpx_lane_ring_finish(&t.ring, 5);
	tcpx_lane_ring_finish(&t.ring, 6);
	assert_int_equal(tcpx_lane_send(&t, &seq), 0);
	assert_false(t.streams);
	assert_int_equal(tcpx_lane_send(&t, &seq), 0);
	assert_false(t.streams);
}

static void
test_announcements_in_turn(void **state)
{
	uint64_t len[TCPX_LANE_SLOTS] = { 10, 20, 30 }, seq, room;
	struct tcpx_lane_tx t = { .announced = 0 };

	assert_int_equal(tcpx_lane_announced(&t, 2, len, 1), TCPX_EPROTO);
	assert_int_equal(tcpx_lane_announced(&t, 1, len, 3), 0);
	assert_int_equal(tcpx_lane_announced(&t, 3, len, 1), TCPX_EPROTO);
	assert_int_equal(tcpx_lane_announced(&t, 4, len, 0), 0);
	assert_int_equal(tcpx_lane_announced(&t, 4, len, TCPX_LANE_SLOTS - 2), TCPX_EPROTO);
	assert_false(tcpx_lane_next(&t, &seq, &room)); /* none is posted */
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(tcpx_lane_ring_post(&t.ring, &seq), 0);
		assert_true(tcpx_lane_next(&t, &seq, &room));
		assert_int_equal(seq, i);
		assert_int_equal(room, 10 * i);
		tcpx_lane_launched(&t);
	}
	assert_int_equal(tcpx_lane_ring_post(&t.ring, &seq), 0);
	assert_true(tcpx_lane_next(&t, &seq, &room));
	assert_int_equal(room, TCPX_LANE_UNKNOWN);
	tcpx_lane_launched(&t); /* before its receive is announced */
	assert_int_equal(tcpx_lane_announced(&t, 4, len, TCPX_LANE_SLOTS), 0);
	assert_int_equal(tcpx_lane_announced(&t, 4 + TCPX_LANE_SLOTS, len, 1), 0);
	assert_int_equal(tcpx_lane_announced(&t, 5 + TCPX_LANE_SLOTS, len, 1), TCPX_EPROTO);
	assert_true(tcpx_lane_near(&t, 4 + 2 * TCPX_LANE_SLOTS));
	assert_false(tcpx_lane_near(&t, 5 + 2 * TCPX_LANE_SLOTS));
}

/* Chunks that no sender may send, of a message for a receive of 10000 bytes. */
static void
test_chunks_that_do_not_fit(void **state)
{
	static const struct {
		const char *what;
		uint64_t seq, offset;
		bool last;
		uint32_t len;
		int want;
	} row[] = {
		{ "the whole receive", 1, 0, true, 10000, 0 },
		{ "less", 1, 0, true, 1, 0 },
		{ "nothing", 1, 0, true, 0, 0 },
		{ "a first chunk", 1, 0, false, 8192, 0 },
		{ "a last one", 1, 8192, true, 1808, 0 },
		{ "one byte too many", 1, 0, true, 10001, TCPX_ELENGTH },
		{ "a last one too long", 1, 8192, true, 1809, TCPX_ELENGTH },
		{ "one behind the end", 1, 12288, true, 1, TCPX_ELENGTH },
		{ "far behind the end", 1, TCPX_LANE_LEN_MAX - 4096, true, 4096, TCPX_ELENGTH },
		{ "not in units", 1, 0, false, 100, TCPX_EFRAME },
		{ "empty, not last", 1, 0, false, 0, TCPX_EFRAME },
		{ "empty, behind others", 1, 4096, true, 0, TCPX_EFRAME },
		{ "not announced", 2, 0, true, 1, TCPX_EFRAME },
		{ "never posted", 3, 0, true, 1, TCPX_EFRAME },
		{ "message 0", 0, 0, true, 1, TCPX_EFRAME },
		{ "its namesake, 64 on", 65, 0, true, 1, TCPX_EFRAME },
	};
	struct tcpx_lane_rx r = { .told = 0 };
	uint64_t seq, first, len[TCPX_LANE_SLOTS];

	assert_int_equal(tcpx_lane_receive(&r, 10000, &seq), 0);
	assert_int_equal(tcpx_lane_tell(&r, &first, len), 1);
	assert_int_equal(tcpx_lane_receive(&r, 10000, &seq), 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint32_t chunk = tcpx_lane_chunk(row[i].offset, row[i].last);
		int rc = tcpx_lane_fits(&r, row[i].seq, chunk, row[i].len);

		if (rc != row[i].want)
			fail_msg("%s: %d, not %d", row[i].what, rc, row[i].want);
	}
	assert_int_equal(tcpx_lane_receive(&r, TCPX_LANE_LEN_MAX + 1, &seq), -EINVAL);
}

static void
test_chunks_that_contradict(void **state)
{
	struct tcpx_lane_rx r = { .told = 0 };
	uint64_t seq, first, len[TCPX_LANE_SLOTS];

	assert_int_equal(tcpx_lane_receive(&r, 1 << 20, &seq), 0);
	(void)tcpx_lane_tell(&r, &first, len);
	assert_int_equal(tcpx_lane_applied(&r, 1, tcpx_lane_chunk(8192, true), 5), 0);
	assert_int_equal(tcpx_lane_fits(&r, 1, tcpx_lane_chunk(4096, true), 5), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_fits(&r, 1, tcpx_lane_chunk(8192, false), 4096), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_applied(&r, 1, tcpx_lane_chunk(0, false), 4096), 0);
	assert_int_equal(tcpx_lane_applied(&r, 1, tcpx_lane_chunk(4096, false), 4096), 1);
	tcpx_lane_ring_finish(&r.ring, 1);
	assert_int_equal(tcpx_lane_fits(&r, 1, tcpx_lane_chunk(0, true), 5), TCPX_EFRAME);
}

/* What may come before its receive is known, with five receives posted and three of them announced. The
 * first is whole, the second has begun by a channel, and message @kept is here or on its way. */
static void
post_many(struct tcpx_lane_rx *r, int count)
{
	uint64_t seq;

	while (count-- > 0)
		assert_int_equal(tcpx_lane_receive(r, 1 << 20, &seq), 0);
}

/* A sender of small messages does not wait for announcements; the first large one ends that. */
static void
test_receives_of_small_messages_are_announced_later(void **state)
{
	struct tcpx_lane_rx r = { .told = 0 };
	uint64_t first, len[TCPX_LANE_SLOTS];

	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOT);
	for (uint64_t seq = 1; seq <= 8; seq++) {
		post_many(&r, 1);
		assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOW);
		assert_int_equal(tcpx_lane_early(&r, seq, false), 0);
		tcpx_lane_ring_finish(&r.ring, seq);
		assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOT);
	}
	post_many(&r, 1);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_SOON);
	post_many(&r, 22);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_SOON);
	post_many(&r, 1);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOW);
	assert_int_equal(tcpx_lane_tell(&r, &first, len), 32);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOT);
	assert_int_equal(tcpx_lane_applied(&r, 9, tcpx_lane_chunk(0, true), 100000), 1);
	for (uint64_t seq = 9; seq <= 30; seq++)
		tcpx_lane_ring_finish(&r.ring, seq);
	post_many(&r, 1);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOW);
}

static void
test_early_messages_out_of_turn(void **state)
{
	static const struct {
		const char *what;
		uint64_t kept, seq;
		bool known;
		int want;
	} row[] = {
		{ "one that is announced", 9, 3, true, 0 },
		{ "... on credit", 9, 3, false, 0 },
		{ "one that is posted", 9, 4, false, 0 },
		{ "... said to be announced", 9, 4, true, TCPX_EPROTO },
		{ "the next to be posted", 9, 6, false, 0 },
		{ "... said to be announced", 9, 6, true, TCPX_EPROTO },
		{ "one that overtakes others", 9, 8, false, 0 },
		{ "one that is overtaken", 9, 7, false, 0 },
		{ "the farthest", 9, 67, false, 0 },
		{ "one too far", 9, 68, false, TCPX_EPROTO },
		{ "the same again", 9, 9, false, TCPX_EPROTO },
		{ "what is coming to its receive", 3, 3, false, TCPX_EPROTO },
		{ "... by a frame, too", 3, 3, true, TCPX_EPROTO },
		{ "64 ahead of what is coming to its receive", 3, 67, false, TCPX_EPROTO },
		{ "one that is whole", 9, 1, true, TCPX_EPROTO },
		{ "one that has begun", 9, 2, true, TCPX_EPROTO },
		{ "message 0", 9, 0, true, TCPX_EPROTO },
		{ "far away", 9, TCPX_LANE_SEQ, false, TCPX_EPROTO },
	};
	struct tcpx_lane_rx r = { .told = 0 }, now;
	uint64_t seq, first, len[TCPX_LANE_SLOTS];

	for (int i = 0; i < 5; i++) {
		assert_int_equal(tcpx_lane_receive(&r, 10000, &seq), 0);
		if (i == 2)
			(void)tcpx_lane_tell(&r, &first, len);
	}
	assert_int_equal(tcpx_lane_applied(&r, 1, TCPX_LANE_LAST, 5), 1);
	tcpx_lane_ring_finish(&r.ring, 1);
	assert_int_equal(tcpx_lane_applied(&r, 2, 0, 4096), 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int rc;

		now = r;
		now.kept = 1ull << row[i].kept;
		rc = tcpx_lane_early(&now, row[i].seq, row[i].known);
		if (rc != row[i].want || !tcpx_lane_keeps(&now, row[i].kept) ||
		    (rc == 0 && tcpx_lane_keeps(&now, row[i].seq) != (row[i].seq > 5)))
			fail_msg("%s: %d, not %d", row[i].what, rc, row[i].want);
		tcpx_lane_forget(&now, row[i].kept);
		assert_false(tcpx_lane_keeps(&now, row[i].kept));
	}
}

/* On credit a chunk may come for a receive that is not announced, and only one. */
static void
test_an_early_chunk_and_its_receive(void **state)
{
	const uint32_t whole = TCPX_LANE_LAST | TCPX_LANE_EARLY;
	struct tcpx_lane_rx r = { .told = 0 };
	uint64_t seq;

	assert_int_equal(tcpx_lane_offset(whole), 0);
	assert_int_equal(tcpx_lane_receive(&r, 1000, &seq), 0);
	assert_int_equal(tcpx_lane_fits(&r, 1, TCPX_LANE_LAST, 1000), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_fits(&r, 1, whole, 1001), TCPX_ELENGTH);
	assert_int_equal(tcpx_lane_fits(&r, 2, whole, 1000), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_applied(&r, 1, whole, 1000), 1);
	assert_int_equal(tcpx_lane_applied(&r, 1, whole, 1000), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_early(&r, 1, false), TCPX_EPROTO);
}

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
		assert_true(r->told == r->ring.posted || r->told >= r->ring.done + 4 ||
			    r->ring.done == r->ring.posted || tcpx_lane_due(r));
		assert_true(r->ring.posted - r->told <= TCPX_LANE_SLOTS);
	}
	assert_true(r->ring.done > 50);
	*early += e.early;
	*lost += e.lost;
}

static void
test_seeds(void **state)
{
	uint64_t early = 0, lost = 0;

	for (uint64_t seed = 1; seed <= 200; seed++)
		run_seed(seed, &early, &lost);
	assert_true(early > 5000 && lost > 500);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_a_ring_holds_no_more_than_its_slots),
		cmocka_unit_test(test_a_lane_streams_until_it_is_empty),
		cmocka_unit_test(test_announcements_in_turn),
		cmocka_unit_test(test_chunks_that_do_not_fit),
		cmocka_unit_test(test_chunks_that_contradict),
		cmocka_unit_test(test_receives_of_small_messages_are_announced_later),
		cmocka_unit_test(test_early_messages_out_of_turn),
		cmocka_unit_test(test_an_early_chunk_and_its_receive),
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
