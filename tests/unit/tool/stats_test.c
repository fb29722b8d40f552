/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics against values computed elsewhere: binomial tails, tables of Student's t, and an
 * independent count of signs. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "tool/stats.h"

TEST(median_is_the_middle_or_the_mean_of_two)
{
	const double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 2 };

	assert_float_equal(stats_median(odd, 3), 3, 0);
	assert_float_equal(stats_median(even, 4), 2.5, 0);
	assert_float_equal(stats_median(odd, 1), 5, 0);
	assert_float_equal(odd[0], 5, 0); /* the input is as it was */
}

TEST(nothing_has_no_median_mean_or_percentile)
{
	assert_true(isnan(stats_median(NULL, 0)));
	assert_true(isnan(stats_mean(NULL, 0)));
	assert_true(isnan(stats_stdev(NULL, 0)));
	assert_true(isnan(stats_percentile(NULL, 0, 0.5)));
}

TEST(percentile_is_the_nearest_rank)
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

TEST(stdev_is_of_the_sample)
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

TEST(median_rank_is_the_narrowest_that_holds_95_percent)
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

TEST(median_interval_takes_the_values_at_its_ranks)
{
	const double v[] = { 9, 1, 8, 2, 7, 3, 6, 4, 5 };
	struct stats_interval ci = { -1, -1 };

	assert_false(stats_median_interval(v, 5, &ci));
	assert_float_equal(ci.lo, -1, 0);
	assert_true(stats_median_interval(v, 9, &ci));
	assert_float_equal(ci.lo, 2, 0);
	assert_float_equal(ci.hi, 8, 0);
}

/* ---- paired differences ------------------------------------------------------------ */

TEST(t_is_that_of_the_tables)
{
	static const struct { size_t df; double p, t; } known[] = {
		{ 1, 0.975, 12.7062 }, { 2, 0.975, 4.3027 }, { 5, 0.975, 2.5706 },
		{ 9, 0.975, 2.2622 },  { 30, 0.975, 2.0423 }, { 7, 0.99, 2.9980 },
		{ 3, 0.995, 5.8409 },  { 10, 0.9, 1.3722 },  { 100000, 0.975, 1.95996 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_float_equal(stats_t_quantile(known[i].df, known[i].p), known[i].t, 2e-4);
	assert_float_equal(stats_t_share(4, 0), 0.5, 1e-12);
	for (double t = 0.1; t < 20; t *= 1.7) /* one degree of freedom is Cauchy's */
		assert_float_equal(stats_t_share(1, t), 0.5 + atan(t) / M_PI, 1e-9);
}

TEST(t_share_and_quantile_undo_each_other)
{
	for (size_t df = 1; df < 60; df += 3)
		for (double p = 0.55; p < 0.9999; p = 1 - (1 - p) * 0.6)
			assert_float_equal(stats_t_share(df, stats_t_quantile(df, p)), p, 1e-9);
}

TEST(upper_limit_of_an_sd_is_that_of_chi_square)
{
	assert_float_equal(stats_sd_upper(8), sqrt(7 / 3.8223), 0.01);
	assert_float_equal(stats_sd_upper(21), sqrt(20 / 14.578), 0.003);
	assert_true(isnan(stats_sd_upper(1)));
}

TEST(hodges_lehmann_is_the_median_of_means)
{
	const double three[] = { 1, 2, 10 }; /* means 1 1.5 5.5 2 6 10 */
	const double four[] = { 4, 1, 3, 2 };

	assert_float_equal(stats_hodges_lehmann(three, 3), 3.75, 1e-12);
	assert_float_equal(stats_hodges_lehmann(four, 4), 2.5, 1e-12);
	assert_float_equal(stats_hodges_lehmann(four, 1), 4, 0);
	assert_true(isnan(stats_hodges_lehmann(NULL, 0)));
}

/* Depth first over all signs, in place of counting in binary. */
static size_t
far(const double *v, size_t n, double sum, double limit)
{
	if (!n)
		return fabs(sum) >= limit - 1e-9;
	return far(v + 1, n - 1, sum + v[0], limit) + far(v + 1, n - 1, sum - v[0], limit);
}

TEST(sign_flip_counts_all_signs)
{
	const double all_one_way[] = { 1, 2, 3, 4, 5, 6 }, even[] = { 1, -1 }, zero[] = { 0, 0, 0 };
	const double known[] = { 3, 1, -2 }; /* sums of signs: 6 4 2 0 0 -2 -4 -6 against 2 */
	struct tcpx_rng rng = tcpx_rng_seed(5);
	double v[10], sum;

	assert_float_equal(stats_sign_flip(all_one_way, 6), 2.0 / 64, 1e-12);
	assert_float_equal(stats_sign_flip(even, 2), 1, 1e-12);
	assert_float_equal(stats_sign_flip(zero, 3), 1, 1e-12);
	assert_float_equal(stats_sign_flip(known, 3), 6.0 / 8, 1e-12);
	assert_float_equal(stats_sign_flip(NULL, 0), 1, 0);
	for (size_t n = 1; n <= 10; n++) {
		sum = 0;
		for (size_t i = 0; i < n; i++) {
			v[i] = (double)tcpx_rng_below(&rng, 9) - 4;
			sum += v[i];
		}
		assert_float_equal(stats_sign_flip(v, n),
				   (double)far(v, n, 0, fabs(sum)) / (double)(1u << n), 1e-12);
	}
}

TEST(sign_flip_draws_where_it_cannot_count)
{
	double v[STATS_FLIP_EXACT + 4];

	for (size_t i = 0; i < STATS_FLIP_EXACT + 4; i++)
		v[i] = i % 2 ? 1 : -1;
	assert_true(stats_sign_flip(v, STATS_FLIP_EXACT + 4) > 0.9);
	for (size_t i = 0; i < STATS_FLIP_EXACT + 4; i++)
		v[i] = 1;
	assert_true(stats_sign_flip(v, STATS_FLIP_EXACT + 4) < 1e-4);
}

TEST(least_number_of_pairs_is_told)
{
	assert_int_equal(stats_flip_least(0.05), 6); /* five give 0.0625 */
	assert_int_equal(stats_flip_least(0.0625), 5);
	assert_int_equal(stats_flip_least(0.05 / 3), 7);
	assert_int_equal(stats_flip_least(1), 1);
}

TEST(holm_is_the_textbook)
{
	const double p[] = { 0.01, 0.04, 0.03, 0.005 };
	const double want[] = { 0.03, 0.06, 0.06, 0.02 };
	const double odd[] = { NAN, 0.6, 0.5 };
	double out[4];

	assert_true(stats_holm(p, 4, out));
	for (size_t i = 0; i < 4; i++)
		assert_float_equal(out[i], want[i], 1e-12);
	assert_true(stats_holm(odd, 3, out));
	assert_float_equal(out[0], 1, 0);
	assert_float_equal(out[1], 1, 0);
	assert_true(stats_holm(odd, 0, out));
}

TEST(pairs_needed_is_the_least_that_suffices)
{
	for (double sd = 0.01; sd < 0.5; sd *= 1.7) {
		size_t n = stats_pairs_needed(sd, 0.05, 0.95);

		assert_true(n == 2 || n > 2);
		assert_true(stats_t_quantile(n - 1, 0.975) * sd / sqrt((double)n) <= 0.05);
		if (n > 2)
			assert_true(stats_t_quantile(n - 2, 0.975) * sd / sqrt((double)n - 1) >
				    0.05);
	}
	assert_int_equal(stats_pairs_needed(0, 0.05, 0.95), 2);
	assert_int_equal(stats_pairs_needed(1e9, 0.05, 0.95), 100000);
}
