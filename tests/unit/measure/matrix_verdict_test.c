/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict over simulated experiments: how often it claims an effect that is not there,
 * and whether it finds one that is, with the number of blocks it asks for.
 */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "measure/matrix/verdict.h"

static const char factorial[] =
	"run = true\nmetric = json:x\nmargin = 5%\n"
	"effect binding = T2/T1 T4/T3\n"
	"effect irq = T3/T1 T4/T2\n"
	"interaction both = T4/T3 T2/T1\n"
	"[cell T1]\n[cell T2]\n[cell T3]\n[cell T4]\n[cell T0]\nsame = T1\n";

struct world {
	struct matrix_spec spec;
	struct matrix_design design;
	bool present[MATRIX_CELLS_MAX];
	double figures[MATRIX_BLOCKS_MAX * 5];
	struct tcpx_rng rng;
};

static struct world *
world_new(const char *text)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(matrix_spec_parse(text, strlen(text), "test", &w->spec), 0);
	assert_int_equal(matrix_design_init(&w->design, &w->spec, "test"), 0);
	for (size_t i = 0; i < w->design.n; i++)
		w->present[i] = true;
	return w;
}

static void
world_free(struct world *w)
{
	matrix_design_fini(&w->design);
	matrix_spec_fini(&w->spec);
	free(w);
}

static double
normal(struct tcpx_rng *rng)
{
	double u = ((double)tcpx_rng_below(rng, 1u << 30) + 0.5) / (1u << 30);
	double v = (double)tcpx_rng_below(rng, 1u << 30) / (1u << 30);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Blocks that differ, a drift, and now and then a slow run; cells 1 and 3 (T2 and T4) are
 * faster by @planted. */
static void
simulate(struct world *w, size_t blocks, double sd, double planted)
{
	for (size_t b = 0; b < blocks; b++) {
		double level = 0.05 * normal(&w->rng) + 0.004 * (double)b;

		for (size_t c = 0; c < w->design.n; c++) {
			double v = level + sd * normal(&w->rng);

			if (!tcpx_rng_below(&w->rng, 20))
				v -= 3 * sd;
			if (c == 1 || c == 3)
				v += log1p(planted);
			w->figures[b * w->design.n + c] = 10 * exp(v);
		}
	}
}

static bool
claims(enum matrix_verdict v)
{
	return v == MATRIX_HELPS || v == MATRIX_SMALL_GAIN || v == MATRIX_HARMS;
}

/* 200 matrices in which nothing differs: at most 5 % may claim that anything does. */
TEST(nothing_is_found_where_nothing_is)
{
	static const double noise[] = { 0.005, 0.03, 0.08 };

	for (size_t k = 0; k < sizeof(noise) / sizeof(noise[0]); k++) {
		struct world *w = world_new(factorial);
		unsigned wrong = 0, same = 0;

		w->rng = tcpx_rng_seed(100 + k);
		for (unsigned i = 0; i < 200; i++) {
			struct matrix_analysis a;
			bool any = false;

			simulate(w, 8, noise[k], 0);
			assert_int_equal(matrix_analyse(&w->design, w->figures, 8, w->present, &a), 0);
			for (size_t e = 0; e < w->design.effect_count; e++)
				any |= w->design.effects[e].kind == MATRIX_PRIMARY &&
				       claims(a.effects[e].verdict);
			wrong += any;
			same += a.verdict == MATRIX_NO_EFFECT;
			matrix_analysis_fini(&a);
		}
		print_message("# noise %.3f: %u of 200 claim an effect, %u none\n", noise[k], wrong, same);
		assert_true(wrong <= 10);
		if (noise[k] < 0.01)
			assert_true(same > 190); /* where noise is small, that is a finding */
		world_free(w);
	}
}

/* What is there is found with the number of blocks that a first look asks for. */
TEST(ten_percent_is_found_with_the_blocks_asked_for)
{
	struct world *w = world_new(factorial);
	unsigned found = 0, wrong = 0, asked = 0;

	w->rng = tcpx_rng_seed(9);
	for (unsigned i = 0; i < 60; i++) {
		struct matrix_analysis a;
		size_t n;

		simulate(w, 8, 0.06, 0.10);
		assert_int_equal(matrix_analyse(&w->design, w->figures, 8, w->present, &a), 0);
		n = a.effects[0].needed;
		n = n < a.least ? a.least : n;
		matrix_analysis_fini(&a);
		assert_in_range(n, 7, MATRIX_BLOCKS_MAX);
		simulate(w, n, 0.06, 0.10);
		assert_int_equal(matrix_analyse(&w->design, w->figures, n, w->present, &a), 0);
		found += a.effects[0].verdict == MATRIX_HELPS ||
			 a.effects[0].verdict == MATRIX_SMALL_GAIN;
		wrong += claims(a.effects[1].verdict) || claims(a.effects[2].verdict);
		asked += (unsigned)n;
		matrix_analysis_fini(&a);
	}
	print_message("# 10 %% found in %u of 60, with %u blocks on average; %u wrong\n", found,
		      asked / 60, wrong);
	assert_true(found >= 54);
	assert_true(wrong <= 6);
	world_free(w);
}

TEST(the_margin_decides)
{
	static const struct { double lo, hi; enum matrix_verdict agreed, not_agreed; } cases[] = {
		{ 1.06, 1.20, MATRIX_HELPS, MATRIX_INCONCLUSIVE },
		{ 0.96, 1.04, MATRIX_NO_EFFECT, MATRIX_NO_EFFECT },
		{ 1.01, 1.03, MATRIX_NO_EFFECT, MATRIX_NO_EFFECT },
		{ 1.01, 1.09, MATRIX_SMALL_GAIN, MATRIX_INCONCLUSIVE },
		{ 0.80, 0.94, MATRIX_HARMS, MATRIX_INCONCLUSIVE },
		{ 0.90, 0.99, MATRIX_INCONCLUSIVE, MATRIX_INCONCLUSIVE },
		{ 0.90, 1.10, MATRIX_INCONCLUSIVE, MATRIX_INCONCLUSIVE },
		{ NAN, NAN, MATRIX_INCONCLUSIVE, MATRIX_INCONCLUSIVE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stats_interval ci = { cases[i].lo, cases[i].hi };

		assert_int_equal(matrix_decide(ci, 0.05, true), cases[i].agreed);
		assert_int_equal(matrix_decide(ci, 0.05, false), cases[i].not_agreed);
	}
}

/* Figures worked out by hand: T1 10, T2 12, T3 11, T4 11 * 1.2 * 1.1, all alike. */
TEST(factorial_effects_are_means_of_ratios)
{
	struct world *w = world_new(factorial);
	struct matrix_analysis a;

	for (size_t b = 0; b < 8; b++) {
		const double v[] = { 10, 12, 11, 14.52, 10 };

		for (size_t c = 0; c < 5; c++)
			w->figures[b * 5 + c] = v[c] * (double)(b + 1);
	}
	assert_int_equal(matrix_analyse(&w->design, w->figures, 8, w->present, &a), 0);
	assert_float_equal(a.effects[0].ratio, sqrt(1.2 * 1.32), 1e-9);
	assert_float_equal(a.effects[1].ratio, sqrt(1.1 * 1.21), 1e-9);
	assert_float_equal(a.effects[2].ratio, 1.1, 1e-9);
	assert_float_equal(a.effects[0].hl, sqrt(1.2 * 1.32), 1e-9);
	assert_int_equal(a.effects[0].verdict, MATRIX_HELPS);
	assert_int_equal(a.least, 7); /* three effects, 0.05 / 3 */
	assert_float_equal(a.effects[3].ratio, 1, 1e-9); /* T0/T1 */
	assert_int_equal(a.effects[3].verdict, MATRIX_NO_EFFECT);
	assert_int_equal(a.letter, 'C'); /* no reference: the gap is not known to be closed */
	matrix_analysis_fini(&a);

	/* lower is better: the same figures say the opposite */
	w->spec.lower = true;
	w->spec.reference = 9.5;
	assert_int_equal(matrix_analyse(&w->design, w->figures, 8, w->present, &a), 0);
	assert_int_equal(a.effects[0].verdict, MATRIX_HARMS);
	assert_int_equal(a.letter, 'R');
	matrix_analysis_fini(&a);
	world_free(w);
}

/* The best cell has 14.52 on the median where more is better, 10 where less is. */
TEST(a_gap_is_the_share_of_the_reference_that_is_missing)
{
	static const struct {
		bool lower;
		double reference, gap;
		char letter;
	} rows[] = {
		{ false, 0, NAN, 'C' }, /* no reference */
		{ false, 14.52 / 0.81, 0.19, 'A' },
		{ false, 14.52 / 0.79, 0.21, 'C' },
		{ false, 14.52 / 0.5, 0.5, 'C' },
		{ false, 14.52, 0, 'A' },
		{ false, 14.52 / 1.25, -0.25, 'A' },
		{ true, 8.1, 0.19, 'A' },
		{ true, 7.9, 0.21, 'C' },
		{ true, 12.5, -0.25, 'A' },
	};
	const double more[] = { 10, 12, 11, 14.52, 10 }, less[] = { 14, 12, 13, 10, 14 };
	struct world *w = world_new(factorial);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct matrix_analysis a;

		w->spec.lower = rows[i].lower;
		w->spec.reference = rows[i].reference;
		for (size_t k = 0; k < (size_t)8 * 5; k++)
			w->figures[k] = (rows[i].lower ? less : more)[k % 5];
		assert_int_equal(matrix_analyse(&w->design, w->figures, 8, w->present, &a), 0);
		assert_int_equal(a.verdict, MATRIX_HELPS);
		if (isnan(rows[i].gap) ? !isnan(a.gap) : !(fabs(a.gap - rows[i].gap) < 1e-9))
			fail_msg("row %zu: gap %g, want %g", i, a.gap, rows[i].gap);
		assert_int_equal(a.letter, rows[i].letter);
		matrix_analysis_fini(&a);
	}
	world_free(w);
}

TEST(gaps_in_the_matrix_cost_only_their_blocks)
{
	struct world *w = world_new(factorial);
	struct matrix_analysis a;

	w->rng = tcpx_rng_seed(3);
	simulate(w, 8, 0.001, 0.10);
	w->figures[2 * 5 + 3] = NAN; /* one T4 */
	assert_int_equal(matrix_analyse(&w->design, w->figures, 8, w->present, &a), 0);
	assert_int_equal(a.effects[0].n, 7);
	assert_int_equal(a.effects[3].n, 8);
	matrix_analysis_fini(&a);

	w->present[2] = w->present[3] = false; /* T3 and T4 cannot run: what is left of each */
	assert_int_equal(matrix_analyse(&w->design, w->figures, 8, w->present, &a), 0);
	assert_int_equal(a.effects[0].terms, 1);
	assert_float_equal(a.effects[0].ratio, 1.1, 0.01);
	assert_int_equal(a.effects[1].terms, 0);
	assert_int_equal(a.effects[2].terms, 0); /* half an interaction is none */
	assert_int_equal(a.primary, 1);
	assert_int_equal(a.least, 6);
	matrix_analysis_fini(&a);
	world_free(w);
}

TEST(few_blocks_show_nothing)
{
	struct world *w = world_new(factorial);
	struct matrix_analysis a;

	w->rng = tcpx_rng_seed(4);
	simulate(w, 6, 0.0001, 0.5);
	for (size_t n = 0; n <= 6; n++) {
		assert_int_equal(matrix_analyse(&w->design, w->figures, n, w->present, &a), 0);
		assert_int_equal(a.verdict, MATRIX_INCONCLUSIVE);
		assert_int_equal(a.letter, '?');
		if (n > 1)
			assert_true(a.effects[0].needed >= 7);
		matrix_analysis_fini(&a);
	}
	world_free(w);
}
