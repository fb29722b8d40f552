/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks, and places on axes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "measure/report/svg.h"
#include "tool/tool.h"

static void
linear_ticks_are_round_and_cover_the_top(void **state)
{
	static const struct { double hi; size_t n; double last; int decimals; } cases[] = {
		{ 11.1, 7, 12, 0 }, { 10, 6, 10, 0 }, { 0.97, 6, 1, 1 }, { 1, 6, 1.0, 1 },
		{ 43, 6, 50, 0 },   { 120, 7, 120, 0 }, { 3e-5, 7, 3e-5, 6 }, { 1e12, 6, 1e12, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct svg_ticks ticks;

		svg_ticks_linear(cases[i].hi, 6, &ticks);
		assert_int_equal(ticks.n, cases[i].n);
		assert_float_equal(ticks.at[ticks.n - 1] / cases[i].last, 1, 1e-9);
		assert_int_equal(ticks.decimals, cases[i].decimals);
	}
}

static void
linear_ticks_never_run_out_of_room(void **state)
{
	for (double hi = 1e-300; hi < 1e300; hi *= 7.3) {
		struct svg_ticks ticks;

		svg_ticks_linear(hi, 6, &ticks);
		assert_in_range(ticks.n, 2, 7);
		assert_true(ticks.at[ticks.n - 1] >= hi * (1 - 1e-6));
	}
}

static void
binary_ticks_are_powers_of_two_within(void **state)
{
	struct svg_ticks ticks;

	svg_ticks_binary(1 << 20, 1 << 30, 9, &ticks);
	assert_int_equal(ticks.n, 6);
	assert_float_equal(ticks.at[0], 0x1p20, 0);
	assert_float_equal(ticks.at[1], 0x1p22, 0);
	assert_float_equal(ticks.at[5], 0x1p30, 0);
	svg_ticks_binary(3, 5, 9, &ticks);
	assert_int_equal(ticks.n, 1);
	svg_ticks_binary(1, 0x1p63, 9, &ticks);
	assert_in_range(ticks.n, 2, 9);
}

static void
decimal_ticks_thin_out_over_many_decades(void **state)
{
	struct svg_ticks ticks;

	svg_ticks_decimal(12, 430, 10, &ticks);
	assert_int_equal(ticks.n, 4);
	assert_float_equal(ticks.at[0], 20, 1e-9);
	assert_float_equal(ticks.at[3], 200, 1e-9);
	svg_ticks_decimal(1, 1e6, 10, &ticks);
	assert_int_equal(ticks.n, 7);
	assert_float_equal(ticks.at[1], 10, 1e-9);
}

static void
values_land_where_they_belong(void **state)
{
	const struct svg_axis linear = { 0, 10, 100, 0, false }, log = { 1, 1024, 0, 100, true };
	const struct svg_axis empty = { 5, 5, 7, 9, false };

	assert_float_equal(svg_at(&linear, 2.5), 75, 1e-9);
	assert_float_equal(svg_at(&log, 32), 50, 1e-9);
	assert_float_equal(svg_at(&log, 0), 0, 0);
	assert_float_equal(svg_at(&linear, NAN), 100, 0);
	assert_float_equal(svg_at(&empty, 5), 7, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_ticks_are_round_and_cover_the_top),
		cmocka_unit_test(linear_ticks_never_run_out_of_room),
		cmocka_unit_test(binary_ticks_are_powers_of_two_within),
		cmocka_unit_test(decimal_ticks_thin_out_over_many_decades),
		cmocka_unit_test(values_land_where_they_belong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
