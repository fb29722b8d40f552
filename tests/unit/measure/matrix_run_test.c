/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of one run: its figure, whether it counts, its row, and the difference of two
 * looks at the machine.
 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcpx/err.h"
#include "measure/matrix/store.h"
#include "measure/matrix/validity.h"

TEST(figures_are_found)
{
	static const struct { const char *how, *text; double v; } good[] = {
		{ "json:x", "{\"x\": 3}", 3 },
		{ "json:rows[-1].gb", "{\"rows\": [{\"gb\": 1}, {\"gb\": 2.5}]}", 2.5 },
		{ "json:rows[0].gb", "{\"rows\": [{\"gb\": 1}, {\"gb\": 2.5}]}", 1 },
		{ "json:[1][0]", "[[1], [7]]", 7 },
		{ "json:ok", "{\"ok\": true}", 1 },
		{ "regex:speed ([0-9.]+)", "speed 1.5\nspeed 2.5 GB/s\n", 2.5 },
		{ "regex:([0-9.e+-]+) GB", "a 1e3 GB b", 1000 },
		{ "regex:^([0-9]+)$", "x1\n12\n", 12 },
	};
	char why[MATRIX_WHY];
	double v;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (matrix_figure_find(good[i].how, good[i].text, &v, why))
			fail_msg("%s: %s", good[i].how, why);
		assert_float_equal(v, good[i].v, 1e-12);
	}
}

TEST(what_is_no_figure_is_told)
{
	static const struct { const char *how, *text; } bad[] = {
		{ "json:x", "" }, { "json:x", " \n" }, { "json:x", "{" }, { "json:x", "nan" },
		{ "json:x", "{\"x\": \"3\"}" }, { "json:x", "{\"x\": null}" }, { "json:y", "{\"x\": 1}" },
		{ "json:x[0]", "{\"x\": 1}" }, { "json:x[9]", "{\"x\": [1]}" },
		{ "json:x[-2]", "{\"x\": [1]}" }, { "json:x[", "{\"x\": [1]}" }, { "json:x..y", "{}" },
		{ "json:x", "{\"x\": 3, \"failed\": {\"cause\": \"it broke\"}}" },
		{ "json:x", "{\"x\": 1, \"x\": 2}" }, { "json:x", "{\"x\": 1e999}" },
		{ "regex:([0-9]+) GB", "none" }, { "regex:(x*)", "abc" },
		{ "regex:([a-z]+)", "nan" }, { "regex:([a-z]+)", "inf" }, { "regex:([0-9.]+)", "1.2.3" },
	};
	char why[MATRIX_WHY];
	double v = 5;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = '\0';
		if (!matrix_figure_find(bad[i].how, bad[i].text, &v, why))
			fail_msg("%s in %s gave %g", bad[i].how, bad[i].text, v);
		assert_true(why[0] && v == 5);
	}
	assert_int_equal(matrix_figure_check("regex:([0-9]+", "metric"), TCPX_ECONFIG);
	assert_int_equal(matrix_figure_check("regex:[0-9]+", "metric"), TCPX_ECONFIG);
	assert_int_equal(matrix_figure_check("regex:([0-9]+)", "metric"), 0);
}

TEST(expectations_are_cut_in_two)
{
	char how[64];
	struct matrix_want want;

	assert_int_equal(matrix_expect_cut("json:rows[-1].wrong 0", how, sizeof(how), &want), 0);
	assert_string_equal(how, "json:rows[-1].wrong");
	assert_float_equal(want.number, 0, 0);
	assert_false(want.above);
	assert_int_equal(matrix_expect_cut("json:x >0.5", how, sizeof(how), &want), 0);
	assert_string_equal(how, "json:x");
	assert_float_equal(want.number, 0.5, 0);
	assert_true(want.above);
	assert_int_not_equal(matrix_expect_cut("json:x >", how, sizeof(how), &want), 0);
	assert_int_not_equal(matrix_expect_cut("json:x", how, sizeof(how), &want), 0);
	assert_int_not_equal(matrix_expect_cut("json:x y", how, sizeof(how), &want), 0);
	assert_int_not_equal(matrix_expect_cut("", how, sizeof(how), &want), 0);
}

TEST(runs_count_or_a_reason_is_given)
{
	struct matrix_load load = { .steal = 0.01, .background = 0.1 };
	const struct matrix_facts good = { .ended = { .seconds = 2 }, .setup = "", .said = "",
					   .figure = 3, .figure_why = "", .failed = "",
					   .load = &load, .load_max = 0.25, .steal_max = 0.05 };
	struct matrix_facts f = good;
	char why[MATRIX_WHY];

	assert_true(matrix_valid(&f, why));
	assert_string_equal(why, "");
#define bad(change, text)                                                                          \
	do {                                                                                       \
		f = good;                                                                          \
		change;                                                                            \
		assert_false(matrix_valid(&f, why));                                               \
		assert_non_null(strstr(why, text));                                                \
	} while (0)
	bad(f.setup = "x", "set-up: x");
	bad(f.ended.timed_out = true, "timeout");
	bad((f.ended.code = 3, f.said = "no NIC"), "exit code 3: no NIC");
	bad((f.figure = NAN, f.figure_why = "no output"), "no output");
	bad(f.figure = 0, "above 0");
	bad(f.figure = -1, "above 0");
	bad(f.failed = "check x failed", "check x");
	bad((load.drifted = 2, snprintf(load.drift, sizeof(load.drift), "12 13")), "2 IRQs");
	load.drifted = 0;
	bad(load.steal = 0.06, "hypervisor");
	load.steal = 0;
	bad(load.background = 0.3, "30.0 %");
	f.ended.seconds = 0.1; /* too short to judge */
	assert_true(matrix_valid(&f, why));
}

TEST(looks_are_subtracted)
{
	struct matrix_look *before = calloc(2, sizeof(*before)), *after = before + 1;
	struct matrix_load load;

	assert_non_null(before);
	before->cpus = after->cpus = before->online = after->online = 2;
	before->retransmits = 5;
	after->retransmits = 9;
	after->user_s = 3;
	after->system_s = 1;
	after->steal_s = 0.4;
	after->cpu_s[0] = 1;
	after->cpu_s[1] = 2;
	before->soft_s[0] = 7; /* went backwards: clamped */
	after->soft_s[1] = 0.8;
	before->irq[7] = 1;
	after->irq[7] = 2;
	before->irq[8] = 3; /* gone: another device's business */
	after->irq[9] = 4;
	matrix_load_between(before, after, 2, 1, &load);
	assert_float_equal(load.background, 0.5, 1e-12);
	assert_float_equal(load.steal, 0.1, 1e-12);
	assert_float_equal(load.soft, 0.2, 1e-12);
	assert_float_equal(load.retransmits, 4, 0);
	assert_int_equal(load.busiest_cpu, 1);
	assert_float_equal(load.busiest, 1, 1e-12);
	assert_int_equal(load.drifted, 1);
	assert_string_equal(load.drift, "7");
	free(before);
}

TEST(rows_read_back)
{
	struct matrix_run run = { .block = 3, .attempt = 2, .order = 5, .cell = "1M,keep",
				  .start = "2026-01-01T00:00:00Z", .seconds = 1.5, .code = 1,
				  .figure = NAN, .reason = "said \"no\", twice" }, got;
	char text[1024], id[64];

	assert_true(matrix_row_format(&run, text, sizeof(text)) > 0);
	text[strcspn(text, "\n")] = '\0';
	assert_int_equal(matrix_row_parse(text, &got), 0);
	assert_string_equal(got.cell, run.cell);
	assert_string_equal(got.reason, run.reason);
	assert_true(isnan(got.figure) && !got.valid && got.block == 3 && got.attempt == 2);
	run = (struct matrix_run){ .block = -1, .attempt = 1, .order = 1, .cell = "T1", .valid = true,
				   .figure = 12.25 };
	matrix_row_format(&run, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	assert_int_equal(matrix_row_parse(text, &got), 0);
	assert_float_equal(got.figure, 12.25, 0);
	matrix_run_id(&got, id, sizeof(id));
	assert_string_equal(id, "w02a1-T1");
}

TEST(what_is_no_row_is_refused)
{
	static const char *const bad[] = {
		"", ",", "1,1,1,T1,s,1,0,1,5", "1,1,1,T1,s,1,0,1,5,,", "x,1,1,T1,s,1,0,1,5,",
		"1,0,1,T1,s,1,0,1,5,", "1,1,1,T1,s,1,0,1,,", "1,1,1,T1,s,1,0,1,0,", "1,1,1,T1,s,1,0,1,-3,",
		"1,1,1,T1,s,1,0,1,nan,", "1,1,1,T1,s,1,0,2,5,", "1,1,1,T1,s,1,256,1,5,",
		"501,1,1,T1,s,1,0,1,5,", "1,1,1,\"T1,s,1,0,1,5,", "1,1,1,\"T1\"x,s,1,0,1,5,",
		"99999999999999999999,1,1,T1,s,1,0,1,5,",
	};
	struct matrix_run run;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!matrix_row_parse(bad[i], &run))
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(matrix_row_parse("1,1,1,T1,s,1,0,1,5,", &run), 0);
}
