/* SPDX-License-Identifier: Apache-2.0 */
/* The histogram against a sorted array of the same values. */
#include "base_test.h"

#include "base/hist.h"

static struct tcpx_hist h, other;

TEST(empty_has_nothing)
{
	struct tcpx_hist_bucket b;
	unsigned at = 0;

	tcpx_hist_init(&h);
	assert_int_equal(tcpx_hist_percentile(&h, 50), 0);
	assert_true(tcpx_hist_mean(&h) == 0);
	assert_false(tcpx_hist_next(&h, &at, &b));
}

TEST(buckets_join_without_gap_and_are_narrow)
{
	struct tcpx_hist_bucket b;
	uint64_t expected = 0;
	unsigned at = 0;

	tcpx_hist_init(&h);
	for (unsigned i = 0; i < TCPX_HIST_BUCKETS; i++)
		h.buckets[i] = 1;
	while (tcpx_hist_next(&h, &at, &b)) {
		assert_int_equal(b.low, expected);
		assert_true((b.high - b.low) * 100 <= b.low);
		expected = b.high + 1;
	}
	assert_int_equal(expected, TCPX_HIST_MAX + 1);
}

TEST(value_falls_into_the_bucket_that_holds_it)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 2000; round++) {
		uint64_t v = tcpx_rng_next(&rng) >> tcpx_rng_between(&rng, 24, 63);
		struct tcpx_hist_bucket b;
		unsigned at = 0;

		if (round % 100 < 40) /* and the borders */
			v = (1ull << round % 100) - (round / 100) % 2;
		tcpx_hist_init(&h);
		tcpx_hist_add(&h, v);
		check_random(seed, tcpx_hist_next(&h, &at, &b));
		check_random(seed, b.low <= v && v <= b.high && b.count == 1);
		/* exact, as min and max hold it */
		check_random(seed, tcpx_hist_percentile(&h, 50) == v);
		check_random(seed, !tcpx_hist_next(&h, &at, &b));
	}
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

TEST(percentiles_are_within_one_percent)
{
	static const double percents[] = { 1, 10, 25, 50, 75, 90, 99 };
	static uint64_t values[2000];
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 10; round++) {
		size_t n = tcpx_rng_between(&rng, 1, 20) * 100; /* so that ranks are whole */

		tcpx_hist_init(&h);
		for (size_t i = 0; i < n; i++) {
			values[i] = tcpx_rng_next(&rng) >> tcpx_rng_between(&rng, 24, 63);
			tcpx_hist_add(&h, values[i]);
		}
		qsort(values, n, sizeof(values[0]), compare);
		for (size_t i = 0; i < ARRAY_LEN(percents); i++) {
			double want = (double)values[(size_t)percents[i] * n / 100 - 1];
			double got = (double)tcpx_hist_percentile(&h, percents[i]);

			check_random(seed, got >= want * 0.99 && got <= want * 1.01);
		}
		check_random(seed, tcpx_hist_percentile(&h, 0) == values[0]);
		check_random(seed, tcpx_hist_percentile(&h, 100) == values[n - 1]);
	}
}

/* @n values: a 2 at the rank of their 99.9 %, 1 below it, 100 above. */
static void
fill_around_p999(uint64_t n)
{
	tcpx_hist_init(&h);
	for (uint64_t i = 1; i <= n; i++)
		tcpx_hist_add(&h, i * 1000 < 999 * n ? 1 : i * 1000 == 999 * n ? 2 : 100);
}

TEST(percentile_of_round_counts_is_the_nearest_rank)
{
	for (uint64_t n = 1000; n <= 30000; n += 1000) {
		fill_around_p999(n);
		check("99.9 %", "value", tcpx_hist_percentile(&h, 99.9), 2);
		check("100 %", "value", tcpx_hist_percentile(&h, 100), 100);
	}
}

/* Exact values, so that no width of a bucket hides a rank; any number of them. */
TEST(percentile_is_the_value_at_its_rank)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	static uint64_t values[4000];

	for (int round = 0; round < 200; round++) {
		size_t n = tcpx_rng_between(&rng, 1, ARRAY_LEN(values));
		uint64_t mille = tcpx_rng_between(&rng, 1, 1000), rank = (mille * n + 999) / 1000;

		tcpx_hist_init(&h);
		for (size_t i = 0; i < n; i++) {
			values[i] = tcpx_rng_below(&rng, 128);
			tcpx_hist_add(&h, values[i]);
		}
		qsort(values, n, sizeof(values[0]), compare);
		check_random(seed, tcpx_hist_percentile(&h, (double)mille / 10) == values[rank - 1]);
	}
}

TEST(rank_is_that_of_whole_numbers)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	assert_int_equal(tcpx_rank(50, 0), 0);
	assert_int_equal(tcpx_rank(0, 7), 1);
	assert_int_equal(tcpx_rank(100, 7), 7);
	assert_int_equal(tcpx_rank(100, UINT64_MAX), UINT64_MAX);
	for (int round = 0; round < 20000; round++) {
		uint64_t share = tcpx_rng_between(&rng, 1, 100000);
		uint64_t n = (tcpx_rng_next(&rng) >> tcpx_rng_between(&rng, 20, 63)) + 1;

		check_random(seed, tcpx_rank((double)share / 1000, n) == (share * n + 99999) / 100000);
	}
}

TEST(merged_is_as_if_added)
{
	static struct tcpx_hist both;
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	tcpx_hist_init(&h);
	tcpx_hist_init(&other);
	tcpx_hist_init(&both);
	tcpx_hist_merge(&h, &other); /* nothing into nothing */
	check_random(seed, !memcmp(&h, &both, sizeof(h)));
	for (int i = 0; i < 3000; i++) {
		uint64_t v = tcpx_rng_next(&rng) >> tcpx_rng_between(&rng, 20, 63);

		tcpx_hist_add(i % 3 ? &h : &other, v);
		tcpx_hist_add(&both, v);
	}
	tcpx_hist_merge(&h, &other);
	check_random(seed, !memcmp(&h, &both, sizeof(h)));
}

TEST(merging_with_empty_keeps_the_minimum)
{
	static struct tcpx_hist empty;

	tcpx_hist_init(&h);
	tcpx_hist_init(&other);
	tcpx_hist_add(&other, 500);
	tcpx_hist_merge(&h, &other);
	tcpx_hist_merge(&h, &empty);
	assert_int_equal(h.min, 500);
	assert_int_equal(h.max, 500);
}

TEST(mean_is_exact_and_huge_values_are_held_at_the_top)
{
	tcpx_hist_init(&h);
	tcpx_hist_add(&h, 1000001);
	tcpx_hist_add(&h, 1000004);
	assert_true(tcpx_hist_mean(&h) == 1000002.5);
	tcpx_hist_add(&h, UINT64_MAX);
	assert_int_equal(h.max, TCPX_HIST_MAX);
	assert_int_equal(h.count, 3);
}
