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
	for (uint64_t i = TCPX_LANE_SLOTS; i > 1; i--)
		tcpx_lane_ring_finish(&r, i);
	assert_int_equal(tcpx_lane_ring_post(&r, &seq), TCPX_ELIMIT); /* the oldest is open */
	tcpx_lane_ring_finish(&r, 1);
	assert_int_equal(r.done, TCPX_LANE_SLOTS);
	assert_int_equal(tcpx_lane_ring_post(&r, &seq), 0);
	assert_true(tcpx_lane_ring_has(&r, seq));
	assert_false(tcpx_lane_ring_has(&r, seq - 1));
	assert_false(tcpx_lane_ring_has(&r, seq + 1));
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
	assert_false(tcpx_lane_next(&t, &seq, &room));
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(tcpx_lane_ring_post(&t.ring, &seq), 0);
		assert_true(tcpx_lane_next(&t, &seq, &room));
		assert_int_equal(seq, i);
		assert_int_equal(room, 10 * i);
		tcpx_lane_launched(&t);
	}
	assert_int_equal(tcpx_lane_ring_post(&t.ring, &seq), 0);
	assert_false(tcpx_lane_next(&t, &seq, &room));
	assert_int_equal(tcpx_lane_announced(&t, 4, len, TCPX_LANE_SLOTS), 0);
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

/* Both ends against each other: any order of chunks, receives in any number a frame. */
static void
run_seed(uint64_t seed)
{
	struct { uint64_t seq; uint32_t chunk, len; } wire[4096];
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct tcpx_lane_tx t = { .announced = 0 };
	struct tcpx_lane_rx r = { .told = 0 };
	uint64_t len[TCPX_LANE_SLOTS], seq, first, room, on_wire = 0;

	for (int step = 0; step < 4000; step++) {
		if (tcpx_rng_below(&rng, 2))
			(void)tcpx_lane_receive(&r, tcpx_rng_below(&rng, 30000), &seq);
		if (tcpx_rng_below(&rng, 2))
			(void)tcpx_lane_ring_post(&t.ring, &seq);
		if (tcpx_lane_due(&r)) {
			uint32_t count = tcpx_lane_tell(&r, &first, len);

			assert_int_equal(tcpx_lane_announced(&t, first, len, count), 0);
		}
		while (tcpx_lane_next(&t, &seq, &room)) {
			uint64_t total = tcpx_rng_below(&rng, room + 1), at = 0;

			tcpx_lane_launched(&t);
			do {
				uint64_t left = total - at, n = left < 8192 ? left : 8192;

				wire[on_wire].seq = seq;
				wire[on_wire].chunk = tcpx_lane_chunk(at, at + n == total);
				wire[on_wire++].len = (uint32_t)n;
				at += n;
			} while (at < total);
		}
		for (uint64_t n = tcpx_rng_below(&rng, 4); n && on_wire; n--) {
			uint64_t k = tcpx_rng_below(&rng, on_wire);
			int rc = tcpx_lane_applied(&r, wire[k].seq, wire[k].chunk, wire[k].len);

			assert_true(rc >= 0);
			if (rc == 1) {
				tcpx_lane_ring_finish(&r.ring, wire[k].seq);
				tcpx_lane_ring_finish(&t.ring, wire[k].seq);
			}
			wire[k] = wire[--on_wire];
		}
		/* the sender is never left without announcements while receives wait */
		assert_true(r.told == r.ring.posted || r.told - r.ring.done >= 4 || tcpx_lane_due(&r));
	}
	assert_true(r.ring.done > 50);
}

static void
test_seeds(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		run_seed(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_a_ring_holds_no_more_than_its_slots),
		cmocka_unit_test(test_announcements_in_turn),
		cmocka_unit_test(test_chunks_that_do_not_fit),
		cmocka_unit_test(test_chunks_that_contradict),
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
