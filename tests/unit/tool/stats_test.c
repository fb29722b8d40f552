/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics against values computed elsewhere: binomial tails, tables of Student's t. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tool/stats.h"

static void
median_is_the_middle_or_the_mean_of_two(void **state)
{
	const double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 2 };

	assert_float_equal(stats_median(odd, 3), 3, 0);
	assert_float_equal(stats_median(even, 4), 2.5, 0);
	assert_float_equal(stats_median(odd, 1), 5, 0);
	assert_float_equal(odd[0], 5, 0); /* the input is as it was */
}

static void
nothing_has_no_median_mean_or_percentile(void **state)
{
	assert_true(isnan(stats_median(NULL, 0)));
	assert_true(isnan(stats_mean(NULL, 0)));
	assert_true(isnan(stats_stdev(NULL, 0)));
	assert_true(isnan(stats_percentile(NULL, 0, 0.5)));
}

static void
percentile_is_the_nearest_rank(void **state)
{
	double v[1000];

	for (int i = 0; i < 1000; i++)
		v[i] = 1000 - i;
	assert_float_equal(stats_percentile(v, 1000, 0.5), 500, 0);
	assert_float_equal(stats_percentile(v, 1000, 0.99), 990, 0);
	assert_float_equal(stats_percentile(v, 1000, 0.999), 999, 0);
	assert_float_equal(stats_percentile(v, 1000, 0), 1, 0);
	assert_float_equal(stats_percentile(v, 1000, 1), 1000, 0);
	assert_float_equal(stats_percentile(v, 100, 0.99), 999, 0);
	assert_float_equal(stats_percentile(v, 3, 0.5), 999, 0);
}

static void
stdev_is_of_the_sample(void **state)
{
	const double v[] = { 2, 4, 4, 4, 5, 5, 7, 9 };

	assert_float_equal(stats_mean(v, 8), 5, 1e-12);
	assert_float_equal(stats_stdev(v, 8), sqrt(32.0 / 7), 1e-12);
	assert_float_equal(stats_stdev(v, 1), 0, 0);
}

/* Coverage of the ranks [r, n + 1 - r], summed here the slow way. */
static double
coverage(size_t n, size_t rank)
{
	double outside = 0;

	for (size_t k = 0; k < rank; k++)
		outside += exp(lgamma((double)n + 1) - lgamma((double)k + 1) -
			       lgamma((double)(n - k) + 1) - (double)n * log(2));
	return 1 - 2 * outside;
}

static void
median_rank_is_the_narrowest_that_holds_95_percent(void **state)
{
	static const struct { size_t n, rank; } known[] = {
		{ 0, 0 }, { 1, 0 }, { 5, 0 }, { 6, 1 }, { 8, 1 }, { 9, 2 }, { 12, 3 }, { 15, 4 },
		{ 20, 6 }, { 30, 10 }, { 100, 40 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(stats_median_rank(known[i].n), known[i].rank);
	for (size_t n = 6; n <= 1000; n += 7) {
		size_t rank = stats_median_rank(n);

		assert_true(coverage(n, rank) >= 0.95);
		assert_true(coverage(n, rank + 1) < 0.95);
	}
	assert_in_range(stats_median_rank(10000), 4900, 4903);
}

static void
median_interval_takes_the_values_at_its_ranks(void **state)
{
	const double v[] = { 9, 1, 8, 2, 7, 3, 6, 4, 5 };
	struct stats_interval ci = { -1, -1 };

	assert_false(stats_median_interval(v, 5, &ci));
	assert_float_equal(ci.lo, -1, 0);
	assert_true(stats_median_interval(v, 9, &ci));
	assert_float_equal(ci.lo, 2, 0);
	assert_float_equal(ci.hi, 8, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_is_the_middle_or_the_mean_of_two),
		cmocka_unit_test(nothing_has_no_median_mean_or_percentile),
		cmocka_unit_test(percentile_is_the_nearest_rank),
		cmocka_unit_test(stdev_is_of_the_sample),
		cmocka_unit_test(median_rank_is_the_narrowest_that_holds_95_percent),
		cmocka_unit_test(median_interval_takes_the_values_at_its_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
