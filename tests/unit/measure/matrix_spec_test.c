/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specs: their meaning, refusals, and an order of runs that is shuffled, complete
 * and repeatable.
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "tcpx/err.h"
#include "measure/matrix/design.h"

#define HEAD "run = work\nmetric = json:rows[-1].x\n"

static int
parse(const char *text, struct matrix_spec *spec)
{
	return matrix_spec_parse(text, strlen(text), "test", spec);
}

TEST(a_study_reads_back)
{
	static const char text[] =
		"# a comment\n"
		"title = Of bindings\n"
		"run = first line\n"
		"\tsecond # line\n"
		"    third\n"
		"\n"
		"metric = regex:([0-9.]+) = GB/s\n"
		"margin = 3%\nblocks = 12\nwarmup = 2\nseed = 99\ntimeout = 90s\nbetter = lower\n"
		"reference of the design = 18.7\n"
		"set PEER = 10.0.0.2\n"
		"require two nodes = test -d /sys/x\n"
		"[level irq=keep]\n"
		"[level irq=tail]\n  # indented comment\nsetup = a\nsetup = b\nteardown = c\n"
		"[sweep chunk]\nvalues = 1M 2M\n  4M\nargs = --chunk {}\nenv A = x{}y{}\n";
	struct matrix_spec s;

	assert_int_equal(parse(text, &s), 0);
	assert_int_equal(s.n, 4);
	assert_string_equal(matrix_spec_text(&s, MATRIX_RUN, ""), "first line\n\tsecond # line\n    third");
	assert_string_equal(matrix_spec_text(&s, MATRIX_METRIC, ""), "regex:([0-9.]+) = GB/s");
	assert_float_equal(s.margin, 0.03, 1e-12);
	assert_int_equal(s.blocks, 12);
	assert_int_equal(s.warmup, 2);
	assert_int_equal(s.seed, 99);
	assert_int_equal(s.timeout_ms, 90000);
	assert_true(s.lower);
	assert_float_equal(s.reference, 18.7, 1e-12);
	assert_string_equal(matrix_spec_find(&s.sections[0], MATRIX_REQUIRE)->name, "two nodes");
	assert_string_equal(s.sections[2].level, "tail");
	assert_int_equal(s.sections[2].n, 3);
	matrix_spec_fini(&s);
}

TEST(bad_specs_are_refused)
{
	static const char *const bad[] = {
		"", "run = x\n", "metric = json:x\n", "run = \nmetric = json:x\n",
		"run = x\nmetric = x\n", "run = x\nmetric = json:\n",
		HEAD "nonsense\n", HEAD "unknown = 1\n", HEAD "run = twice\n",
		HEAD "margin = 0\n", HEAD "margin = 101%\n", HEAD "margin = nan\n",
		HEAD "margin = -5%\n", HEAD "margin = 5 %\n",
		HEAD "blocks = 0\n", HEAD "blocks = 501\n", HEAD "blocks = 1e2\n",
		HEAD "timeout = 0\n", HEAD "better = more\n", HEAD "reference x = 0\n",
		HEAD "reference x = inf\n", HEAD "reference = 3\n", HEAD "title name = x\n",
		HEAD "set 1A = x\n", HEAD "set A-B = x\n", HEAD "set = x\n",
		HEAD "set A = x\nset A = y\n", HEAD "level a = b\n", HEAD "values = a\n",
		HEAD "[cell]\n", HEAD "[cell a b]\n", HEAD "[cell a\n", HEAD "[level irq]\n",
		HEAD "[level irq=]\n", HEAD "[level =x]\n", HEAD "[nothing x]\n", HEAD "[]\n",
		HEAD "[cell a]\n[cell a]\n", HEAD "[cell a]\nmargin = 5%\n",
		HEAD "[cell a]\ncontrol = positive\n", HEAD "[cell a/b]\n",
		HEAD "[cell aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n",
	};
	struct matrix_spec s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse(bad[i], &s) != TCPX_ECONFIG)
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(matrix_spec_parse("run = a\0b\n", 10, "test", &s), TCPX_ECONFIG);
}

TEST(bad_designs_are_refused)
{
	static const char *const bad[] = {
		HEAD, HEAD "[cell a]\n", HEAD "[level f=a]\n", HEAD "[sweep s]\n",
		HEAD "[sweep s]\nvalues = a a\n", HEAD "[sweep s]\nvalues = a/b c\n",
		HEAD "[sweep s]\nvalues = a b\n[level s=c]\n",
		HEAD "[cell a]\n[cell b]\nlevel f = x\n",
		HEAD "[level f=x]\n[cell a]\n[cell b]\nlevel f = y\n",
		HEAD "[cell a]\n[cell b]\nsame = c\n", HEAD "[cell a]\n[cell b]\nsame = b\n",
		HEAD "[cell a]\n[cell b]\nsame = a\n[cell c]\nsame = b\n",
		HEAD "[cell a]\n[cell b]\nsame = a\nenv X = 1\n",
		HEAD "[cell a]\n[cell b]\ncontrol = negative\nagainst = c\n",
		HEAD "[cell a]\n[cell b]\ncontrol = negative\nagainst = b\n",
		HEAD "baseline = z\n[cell a]\n[cell b]\n",
		HEAD "effect e = a/z\n[cell a]\n[cell b]\n", HEAD "effect e = a\n[cell a]\n[cell b]\n",
		HEAD "effect e = a/a\n[cell a]\n[cell b]\n",
		HEAD "interaction e = a/b\n[cell a]\n[cell b]\n",
		HEAD "[sweep p]\nvalues = 1 2\n[sweep q]\nvalues = 1 2\n",
		HEAD "[level p=1]\n[level p=2]\n[sweep q]\nvalues = 1 2\n",
	};
	struct matrix_design d;
	struct matrix_spec s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i], &s), 0);
		if (matrix_design_init(&d, &s, "test") != TCPX_ECONFIG)
			fail_msg("taken: %s", bad[i]);
		matrix_spec_fini(&s);
	}
}

static const char *
value_of(const struct matrix_cell *cell, enum matrix_key key, size_t index)
{
	for (size_t i = 0; i < cell->n; i++)
		if (cell->lines[i].key == key && !index--)
			return cell->lines[i].value;
	return "none";
}

TEST(the_levels_of_one_factor_are_cells)
{
	static const char *const texts[] = {
		HEAD "baseline = 2M\n[sweep chunk]\nvalues = 1M 2M 4M\n"
		"args = --chunk {} -x {}\nsetup = {}\n",
		HEAD "baseline = 2M\n[level chunk=1M]\n[level chunk=2M]\n"
		"[level chunk=4M]\nargs = --chunk 4M -x 4M\nsetup = {}\n",
	};
	static const char *const setups[] = { "4M", "{}" }; /* braces are of a sweep */
	struct matrix_design d;
	struct matrix_spec s;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(parse(texts[i], &s), 0);
		assert_int_equal(matrix_design_init(&d, &s, "test"), 0);
		assert_int_equal(d.n, 3);
		assert_string_equal(d.cells[0].name, "1M");
		assert_string_equal(d.cells[2].name, "4M");
		assert_string_equal(value_of(&d.cells[2], MATRIX_ARGS, 0), "--chunk 4M -x 4M");
		assert_string_equal(value_of(&d.cells[2], MATRIX_SETUP, 0), setups[i]);
		assert_int_equal(d.effect_count, 2);
		assert_int_equal(matrix_design_count(&d, MATRIX_PRIMARY), 2);
		assert_string_equal(d.effects[1].name, "chunk=4M");
		assert_int_equal(d.effects[1].n, 1);
		assert_int_equal(d.effects[1].terms[0].above, 2);
		assert_int_equal(d.effects[1].terms[0].below, 1);
		matrix_design_fini(&d);
		matrix_spec_fini(&s);
	}
}

TEST(cells_take_levels_and_lines_of_their_own)
{
	static const char text[] = HEAD
		"[level irq=tail]\nsetup = apply\nteardown = restore\n"
		"[level bind=on]\nenv B = 1\n"
		"[cell T1]\n[cell T4]\nlevel bind = on\nlevel irq = tail\nsetup = more\n"
		"[cell T0]\nsame = T4\n[cell TN]\ncontrol = negative\nagainst = T4\n";
	struct matrix_design d;
	struct matrix_spec s;

	assert_int_equal(parse(text, &s), 0);
	assert_int_equal(matrix_design_init(&d, &s, "test"), 0);
	assert_int_equal(d.n, 4);
	assert_string_equal(value_of(&d.cells[1], MATRIX_SETUP, 0), "apply");
	assert_string_equal(value_of(&d.cells[1], MATRIX_SETUP, 1), "more");
	assert_string_equal(value_of(&d.cells[1], MATRIX_ENV, 0), "1");
	assert_int_equal(d.cells[2].same, 1);
	assert_string_equal(value_of(&d.cells[2], MATRIX_SETUP, 1), "more");
	assert_true(d.cells[3].negative);
	assert_int_equal(matrix_design_count(&d, MATRIX_PRIMARY), 1);
	assert_int_equal(matrix_design_count(&d, MATRIX_AA), 1);
	assert_int_equal(matrix_design_count(&d, MATRIX_NEGATIVE), 1);
	assert_string_equal(d.effects[2].name, "TN/T4");
	assert_int_equal(matrix_design_count(&d, MATRIX_EXPLORATORY), 1); /* TN/T1 */
	matrix_design_fini(&d);
	matrix_spec_fini(&s);
}

TEST(blocks_are_whole_shuffled_and_repeatable)
{
	unsigned char order[6], again[6];
	unsigned first[6] = { 0 };

	for (unsigned block = 0; block < 600; block++) {
		unsigned seen = 0;

		matrix_order(6, 42, block, order);
		matrix_order(6, 42, block, again);
		assert_memory_equal(order, again, sizeof(order));
		for (size_t i = 0; i < 6; i++)
			seen |= 1u << order[i];
		assert_int_equal(seen, 63);
		first[order[0]]++;
	}
	for (size_t i = 0; i < 6; i++) /* 100 each, more or less */
		assert_in_range(first[i], 60, 140);
}
