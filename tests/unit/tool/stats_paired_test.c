/* SPDX-License-Identifier: Apache-2.0 */
/* Against tables of Student's t, and against an independent count. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "tool/stats.h"

static void
t_is_that_of_the_tables(void **state)
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

static void
t_share_and_quantile_undo_each_other(void **state)
{
	for (size_t df = 1; df < 60; df += 3)
		for (double p = 0.55; p < 0.9999; p = 1 - (1 - p) * 0.6)
			assert_float_equal(stats_t_share(df, stats_t_quantile(df, p)), p, 1e-9);
}

static void
upper_limit_of_an_sd_is_that_of_chi_square(void **state)
{
	assert_float_equal(stats_sd_upper(8), sqrt(7 / 3.8223), 0.01);
	assert_float_equal(stats_sd_upper(21), sqrt(20 / 14.578), 0.003);
	assert_true(isnan(stats_sd_upper(1)));
}

static void
hodges_lehmann_is_the_median_of_means(void **state)
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

static void
sign_flip_counts_all_signs(void **state)
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

static void
sign_flip_draws_where_it_cannot_count(void **state)
{
	double v[STATS_FLIP_EXACT + 4];

	for (size_t i = 0; i < STATS_FLIP_EXACT + 4; i++)
		v[i] = i % 2 ? 1 : -1;
	assert_true(stats_sign_flip(v, STATS_FLIP_EXACT + 4) > 0.9);
	for (size_t i = 0; i < STATS_FLIP_EXACT + 4; i++)
		v[i] = 1;
	assert_true(stats_sign_flip(v, STATS_FLIP_EXACT + 4) < 1e-4);
}

static void
least_number_of_pairs_is_told(void **state)
{
	assert_int_equal(stats_flip_least(0.05), 6); /* five give 0.0625 */
	assert_int_equal(stats_flip_least(0.0625), 5);
	assert_int_equal(stats_flip_least(0.05 / 3), 7);
	assert_int_equal(stats_flip_least(1), 1);
}

static void
holm_is_the_textbook(void **state)
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

static void
pairs_needed_is_the_least_that_suffices(void **state)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_is_that_of_the_tables),
		cmocka_unit_test(t_share_and_quantile_undo_each_other),
		cmocka_unit_test(upper_limit_of_an_sd_is_that_of_chi_square),
		cmocka_unit_test(hodges_lehmann_is_the_median_of_means),
		cmocka_unit_test(sign_flip_counts_all_signs),
		cmocka_unit_test(sign_flip_draws_where_it_cannot_count),
		cmocka_unit_test(least_number_of_pairs_is_told),
		cmocka_unit_test(holm_is_the_textbook),
		cmocka_unit_test(pairs_needed_is_the_least_that_suffices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
