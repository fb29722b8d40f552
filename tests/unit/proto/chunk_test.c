/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a transfer: sizes by table, and chunks that lie end to end. */
#include "base_test.h"
#include "proto/chunk.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static const struct {
	const char *name;
	uint64_t total;
	uint32_t channels, max, forced;
	uint32_t size;
	uint64_t slowest_Bps;
} size_cases[] = {
	{ "small: the least", 1, 8, 1 * MIB, 0, 64 * KIB, 0 },
	{ "empty: the least", 0, 8, 1 * MIB, 0, 64 * KIB, 0 },
	{ "large: the most", 4 * GIB, 8, 1 * MIB, 0, 1 * MIB, 0 },
	{ "between: two chunks a channel", 8 * MIB, 8, 1 * MIB, 0, 512 * KIB, 0 },
	{ "rounded up to a page", 8 * MIB + 16, 8, 1 * MIB, 0, 516 * KIB, 0 },
	{ "never above an odd most", 4 * GIB, 8, 100001, 0, 100001, 0 },
	{ "rounding stops at the most", 8 * MIB, 40, 104860, 0, 104860, 0 },
	{ "the most is below the least", 4 * GIB, 8, 16 * KIB, 0, 16 * KIB, 0 },
	{ "no channel counts as one", 256 * KIB, 0, 1 * MIB, 0, 128 * KIB, 0 },
	{ "forced", 4 * GIB, 8, 1 * MIB, 200000, 200000, 0 },
	{ "forced too small", 4 * GIB, 8, 1 * MIB, 1, 4 * KIB, 0 },
	{ "forced too large", 4 * GIB, 8, 1 * MIB, 2 * MIB, 1 * MIB, 0 },
	{ "30 ms of the slowest", 4 * GIB, 8, 1 * MIB, 0, 220 * KIB, 7500000 },
	{ "a fast slowest changes nothing", 4 * GIB, 8, 1 * MIB, 0, 1 * MIB, 1 * GIB },
	{ "the slowest of all: the least", 4 * GIB, 8, 1 * MIB, 0, 64 * KIB, 1 },
	{ "forced, however slow", 4 * GIB, 8, 1 * MIB, 200000, 200000, 1 },
	{ "more channels than 32 bits allow twice", UINT64_MAX, UINT32_MAX, 1 * MIB, 0, 1 * MIB, 0 },
};

TEST(size_follows_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(size_cases); i++)
		check(size_cases[i].name, "size",
		      tcpx_chunk_size(size_cases[i].total, size_cases[i].channels,
				      TCPX_CHUNK_MIN, size_cases[i].max, size_cases[i].forced,
				      size_cases[i].slowest_Bps),
		      size_cases[i].size);
}

/* What messages of lanes, of so many bytes together, are cut into. */
static const struct {
	const char *name;
	uint64_t bytes;
	uint32_t channels;
	bool one_way;
	uint64_t slowest_Bps;
	uint32_t size;
} lane_cases[] = {
	{ "little: small ones", 1, 8, false, 0, 128 * KIB },
	{ "the most that is little", 1 * MIB, 8, false, 0, 128 * KIB },
	{ "more: large ones", 1 * MIB + 1, 8, false, 0, 512 * KIB },
	{ "much: as of one transfer", 12 * MIB, 8, false, 0, 768 * KIB },
	{ "much, for few channels", 12 * MIB, 1, false, 0, 1 * MIB },
	{ "little, over a slow path", 1 * MIB, 8, false, 3000000, 88 * KIB },
	{ "more, over a slow path", 64 * MIB, 8, false, 3000000, 88 * KIB },
	{ "little, for few channels", 1 * MIB, 2, false, 0, 256 * KIB },
	{ "no channel counts as one", 200 * KIB, 0, false, 0, 128 * KIB },
	{ "the most that is little one way", 4 * MIB, 16, true, 0, 128 * KIB },
	{ "the same, for few channels", 4 * MIB, 4, true, 0, 512 * KIB },
	{ "more one way", 4 * MIB + 1, 16, true, 0, 512 * KIB },
};

TEST(lanes_are_cut_by_what_there_is_to_send)
{
	for (size_t i = 0; i < ARRAY_LEN(lane_cases); i++)
		check(lane_cases[i].name, "size",
		      tcpx_chunk_size(tcpx_chunk_lane(lane_cases[i].bytes, lane_cases[i].channels,
						      lane_cases[i].one_way),
				      lane_cases[i].channels, TCPX_CHUNK_MIN, TCPX_CHUNK_MAX, 0,
				      lane_cases[i].slowest_Bps), lane_cases[i].size);
}

static const struct {
	const char *name;
	uint64_t slowest_Bps, mean_Bps, Bps;
} uneven_cases[] = {
	{ "nothing is known", 0, 0, 0 },
	{ "NICs do not differ", 31250000, 0, 31250000 },
	{ "half of the mean", 50000000, 100000000, 50000000 },
	{ "less", 31250000, 101562500, 4687500 },
	{ "next to nothing is known", 1, 125000000, 1 },
};

TEST(where_nics_differ_chunks_of_lanes_are_short)
{
	for (size_t i = 0; i < ARRAY_LEN(uneven_cases); i++)
		check(uneven_cases[i].name, "Bps", tcpx_chunk_lane_Bps(uneven_cases[i].slowest_Bps,
								      uneven_cases[i].mean_Bps), uneven_cases[i].Bps);
	check("0.25 of 1, 1, 1, 0.25 Gbit/s", "size", tcpx_chunk_size(4 * MIB, 4, TCPX_CHUNK_MIN, TCPX_CHUNK_MAX, 0, 4687500),
	      (140625 + 4095) / 4096 * 4096);
}

static const struct {
	const char *name;
	uint64_t total;
	uint32_t chunk, count, last;
} count_cases[] = {
	{ "empty", 0, 65536, 0, 0 },
	{ "one byte", 1, 65536, 1, 1 },
	{ "exactly one", 65536, 65536, 1, 65536 },
	{ "one and a byte", 65537, 65536, 2, 1 },
	{ "no chunk size", 1, 0, UINT32_MAX, 0 },
	{ "nothing without a chunk size", 0, 0, 0, 0 },
	{ "as many as a u32 holds", UINT32_MAX - 1ull, 1, UINT32_MAX - 1, 1 },
	{ "too many", UINT32_MAX + 5ull, 1, UINT32_MAX, 1 },
	{ "far too many", UINT64_MAX, 4096, UINT32_MAX, 4096 },
};

TEST(count_and_last_length_follow_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(count_cases); i++) {
		uint64_t total = count_cases[i].total;
		uint32_t chunk = count_cases[i].chunk, count = tcpx_chunk_count(total, chunk);

		check(count_cases[i].name, "count", count, count_cases[i].count);
		check(count_cases[i].name, "last",
		      count ? tcpx_chunk_len(total, chunk, count - 1) : 0, count_cases[i].last);
	}
}

TEST(chunks_lie_end_to_end)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 200; round++) {
		uint64_t total = tcpx_rng_below(&rng, 1 << 20), sum = 0;
		uint32_t chunk = (uint32_t)tcpx_rng_between(&rng, 500, 100000);
		uint32_t count = tcpx_chunk_count(total, chunk);

		for (uint32_t k = 0; k < count; k++) {
			check_random(seed, sum == (uint64_t)k * chunk);
			check_random(seed, tcpx_chunk_len(total, chunk, k) > 0);
			sum += tcpx_chunk_len(total, chunk, k);
		}
		check_random(seed, sum == total);
		check_random(seed, tcpx_chunk_len(total, chunk, count) == 0);
	}
}

TEST(map_counts_every_chunk_once)
{
	uint64_t words[2] = { 0 };
	struct tcpx_chunkmap m = { .words = words, .count = 70 };

	for (uint32_t k = 70; k-- > 0;) {
		assert_false(tcpx_chunkmap_get(&m, k));
		assert_false(tcpx_chunkmap_full(&m));
		assert_true(tcpx_chunkmap_set(&m, k));
		assert_false(tcpx_chunkmap_set(&m, k));
		assert_true(tcpx_chunkmap_get(&m, k));
	}
	assert_true(tcpx_chunkmap_full(&m));
	assert_int_equal(m.set, 70);
}

TEST(map_refuses_chunks_outside)
{
	uint64_t words[1] = { 0 };
	struct tcpx_chunkmap m = { .words = words, .count = 3 };

	assert_false(tcpx_chunkmap_set(&m, 3));
	assert_false(tcpx_chunkmap_set(&m, UINT32_MAX));
	assert_false(tcpx_chunkmap_get(&m, UINT32_MAX));
	assert_int_equal(words[0], 0);
	assert_true(tcpx_chunkmap_full(&(struct tcpx_chunkmap){ .count = 0 }));
}
