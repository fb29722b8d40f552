/* SPDX-License-Identifier: Apache-2.0 */
/* What is a load, and when it is gone. */
#include "base_test.h"
#include "proto/load.h"

#define MIB (1ull << 20)
#define MS  1000000ull

/* Posts of the same size at the same distance; the first that makes a load. */
TEST(many_bytes_in_a_short_time_are_a_load)
{
	static const struct {
		uint64_t bytes, every_ms, backlog; /* backlog: of what was posted, never acknowledged */
		int first; /* from 1; 0: none */
	} rows[] = {
		{ 8 * MIB, 1000, 0, 1 },
		{ 256 * MIB, 0, 0, 1 },
		{ 8 * MIB - 1, 1000, 0, 0 },
		{ MIB, 0, 0, 8 },
		{ MIB, 12, 0, 8 },       /* the eighth after 84 ms */
		{ MIB, 15, 0, 0 },       /* seven in 100 ms */
		{ 4096, 0, 0, 2048 },
		{ 1, 0, 0, 0 },
		{ MIB, 200, 1, 8 },      /* slowly, and nothing is acknowledged */
		{ 5 * MIB, 101, 0, 0 },
		{ 5 * MIB, 101, 1, 2 },
		{ 5 * MIB, 99, 0, 2 },
		{ 5 * MIB, 100, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_load l = { 0 };
		uint64_t now = 500 * MS, waiting = 0;
		int first = 0;

		for (int k = 1; k <= 4000 && !first; k++) {
			if (tcpx_load_is_high(&l, rows[i].bytes, waiting, TCPX_LOAD_BYTES, now))
				first = k;
			waiting += rows[i].backlog * rows[i].bytes;
			now += rows[i].every_ms * MS;
		}
		if (first != rows[i].first)
			fail_msg("row %zu: post %d", i, first);
	}
}

TEST(it_is_gone_after_a_while_with_nothing_under_way)
{
	static const struct {
		uint64_t used_ms, moved_ms, waiting, now_ms;
		bool gone;
	} rows[] = {
		{ 1000, 1000, 0, 60999, false },
		{ 1000, 1000, 0, 61000, true },
		{ 1000, 5000, 0, 61000, false }, /* the last acknowledgement came later */
		{ 1000, 5000, 0, 65000, true },
		{ 5000, 1000, 0, 61000, false },
		{ 1000, 1000, 1, 900000, false },
		{ 0, 0, 0, 59999, false },       /* never used: since the clock's start */
		{ 0, 0, 0, 60000, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_load l = { .used_ns = rows[i].used_ms * MS };

		if (tcpx_load_is_gone(&l, rows[i].waiting, rows[i].moved_ms * MS, TCPX_LOAD_IDLE_NS,
				      rows[i].now_ms * MS) != rows[i].gone)
			fail_msg("row %zu", i);
	}
}

/* A load or not: what is posted is what a session is used for. */
TEST(a_post_uses_it)
{
	struct tcpx_load l = { 0 };
	uint64_t at_ns = 5000 * MS, end_ns = at_ns + TCPX_LOAD_IDLE_NS;

	assert_false(tcpx_load_is_high(&l, 1, 0, TCPX_LOAD_BYTES, at_ns));
	assert_false(tcpx_load_is_gone(&l, 0, 0, TCPX_LOAD_IDLE_NS, end_ns - 1));
	assert_true(tcpx_load_is_gone(&l, 0, 0, TCPX_LOAD_IDLE_NS, end_ns));
}

/* Twice the limit within the time: one of the two parts that it may fall into has enough. */
TEST(no_burst_is_missed)
{
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct tcpx_rng rng = tcpx_rng_seed(seed);
		struct tcpx_load l = { .since_ns = tcpx_rng_below(&rng, 200 * MS) };
		uint64_t now = 200 * MS, left = TCPX_LOAD_NS - 1, sum = 0;
		bool high = false;

		while (!high && sum < 2 * TCPX_LOAD_BYTES) {
			uint64_t bytes = tcpx_rng_between(&rng, 1, 2 * MIB), step = tcpx_rng_below(&rng, left / 4 + 1);

			sum += bytes;
			now += step;
			left -= step;
			high = tcpx_load_is_high(&l, bytes, 0, TCPX_LOAD_BYTES, now);
		}
		check_random(seed, high);
	}
}
