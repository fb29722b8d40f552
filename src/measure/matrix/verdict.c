/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides by interval and margin; the permutation test may only object. All ratios are
 * turned so that above 1 is better, in either direction of the figure.
 */
#include "measure/matrix/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tool/stats.h"

#define ALPHA 0.05
#define GAP_CLOSED 0.20 /* option A allows no larger gap to the reference */

const char *
matrix_verdict_text(enum matrix_verdict verdict)
{
	static const char *const text[] = { "inconclusive", "helps", "small gain",
					    "no material effect", "harms" };

	return text[verdict];
}

const char *
matrix_letter_text(char letter)
{
	switch (letter) {
	case 'A':
		return "adopt: it helps, and what is missing to the reference is below 20 %";
	case 'B':
		return "leave it: no material effect; the limit is elsewhere";
	case 'C':
		return "adopt and go on looking: a gain, and no reference that it is known to reach";
	case 'R':
		return "reject: it harms";
	default:
		return "inconclusive: run more blocks";
	}
}

enum matrix_verdict
matrix_decide(struct stats_interval ci, double margin, bool significant)
{
	if (isnan(ci.lo) || isnan(ci.hi))
		return MATRIX_INCONCLUSIVE;
	if (ci.lo >= 1 - margin && ci.hi <= 1 + margin)
		return MATRIX_NO_EFFECT;
	if (ci.lo > 1 + margin && significant)
		return MATRIX_HELPS;
	if (ci.hi < 1 - margin && significant)
		return MATRIX_HARMS;
	if (ci.lo > 1 && significant)
		return MATRIX_SMALL_GAIN;
	return MATRIX_INCONCLUSIVE;
}

/* ---- one effect ------------------------------------------------------------------ */

static bool
term_present(const struct matrix_term *t, const bool *present)
{
	return present[t->above] && present[t->below];
}

/* The ratios that were measured. An interaction needs both of its own. */
static size_t
terms_present(const struct matrix_effect *e, const bool *present)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++)
		n += term_present(&e->terms[i], present);
	return e->interaction && n < e->n ? 0 : n;
}

/* The effect within one block, NAN where a figure is missing. */
static double
block_effect(const struct matrix_effect *e, const double *figures, const bool *present, bool lower)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++) {
		const struct matrix_term *t = &e->terms[i];

		if (!term_present(t, present))
			continue;
		sum += t->sign * (log(figures[t->above]) - log(figures[t->below]));
		n++;
	}
	sum = lower ? -sum : sum;
	return e->interaction ? sum : sum / (double)n;
}

static void
estimate(const double *logs, size_t n, double level, double margin,
	 struct matrix_estimate *out)
{
	double mean = stats_mean(logs, n), half;

	out->n = n;
	out->ratio = exp(mean);
	out->hl = exp(stats_hodges_lehmann(logs, n));
	out->p = n ? stats_sign_flip(logs, n) : NAN;
	out->sd = out->ci.lo = out->ci.hi = NAN;
	out->p_holm = NAN;
	if (n < 2)
		return;
	out->sd = stats_stdev(logs, n);
	half = stats_t_quantile(n - 1, (1 + level) / 2) * out->sd / sqrt((double)n);
	out->ci = (struct stats_interval){ exp(mean - half), exp(mean + half) };
	out->needed = stats_pairs_needed(out->sd * stats_sd_upper(n), log1p(margin), level);
}

static int
estimate_all(const struct matrix_design *d, const double *figures, size_t blocks,
	     const bool *present, struct matrix_analysis *a)
{
	double *logs = malloc((blocks ? blocks : 1) * sizeof(*logs));

	if (!logs)
		return -ENOMEM;
	for (size_t i = 0; i < d->effect_count; i++) {
		const struct matrix_effect *e = &d->effects[i];
		struct matrix_estimate *out = &a->effects[i];
		size_t n = 0;

		out->terms = terms_present(e, present);
		for (size_t b = 0; out->terms && b < blocks; b++) {
			double v = block_effect(e, &figures[b * d->n], present, d->spec->lower);

			if (isfinite(v))
				logs[n++] = v;
		}
		estimate(logs, n, e->kind == MATRIX_PRIMARY ? a->level : 1 - ALPHA,
			 d->spec->margin, out);
	}
	free(logs);
	return 0;
}

/* ---- all together ---------------------------------------------------------------- */

static int
correct(const struct matrix_design *d, struct matrix_analysis *a)
{
	double p[MATRIX_EFFECTS_MAX], holm[MATRIX_EFFECTS_MAX];
	size_t m = 0;

	for (size_t i = 0; i < d->effect_count; i++)
		if (d->effects[i].kind == MATRIX_PRIMARY && a->effects[i].terms)
			p[m++] = a->effects[i].p;
	if (!stats_holm(p, m, holm))
		return -ENOMEM;
	m = 0;
	for (size_t i = 0; i < d->effect_count; i++)
		if (d->effects[i].kind == MATRIX_PRIMARY && a->effects[i].terms)
			a->effects[i].p_holm = holm[m++];
	return 0;
}

static void
decide_all(const struct matrix_design *d, struct matrix_analysis *a)
{
	for (size_t i = 0; i < d->effect_count; i++) {
		struct matrix_estimate *e = &a->effects[i];
		bool primary = d->effects[i].kind == MATRIX_PRIMARY;
		size_t least = primary ? a->least : stats_flip_least(ALPHA);

		if (e->n >= least)
			e->verdict = matrix_decide(e->ci, d->spec->margin,
						   (primary ? e->p_holm : e->p) <= ALPHA);
		if (e->needed && e->needed < least)
			e->needed = least;
		if (e->verdict == MATRIX_INCONCLUSIVE && e->n && e->needed <= e->n)
			e->needed = 2 * e->n; /* known well, and close to a border */
		if (primary && e->verdict == MATRIX_INCONCLUSIVE && e->needed > a->needed)
			a->needed = e->needed;
	}
}

/* The study's verdict: the first effect that helps; else one with a small gain; else none
 * if all others are settled; else the open one. "Harms" remains when all effects harm. */
static void
decide_study(const struct matrix_design *d, struct matrix_analysis *a)
{
	static const enum matrix_verdict first[] = { MATRIX_HELPS, MATRIX_SMALL_GAIN,
						     MATRIX_INCONCLUSIVE, MATRIX_NO_EFFECT,
						     MATRIX_HARMS };

	a->decisive = -1;
	for (size_t k = 0; k < sizeof(first) / sizeof(first[0]) && a->decisive < 0; k++)
		for (size_t i = 0; i < d->effect_count && a->decisive < 0; i++)
			if (d->effects[i].kind == MATRIX_PRIMARY && !d->effects[i].interaction &&
			    a->effects[i].terms && a->effects[i].verdict == first[k])
				a->decisive = (int)i;
	a->verdict = a->decisive < 0 ? MATRIX_INCONCLUSIVE : a->effects[a->decisive].verdict;
	switch (a->verdict) {
	case MATRIX_HELPS:
		a->letter = isfinite(a->gap) && a->gap < GAP_CLOSED ? 'A' : 'C';
		break;
	case MATRIX_SMALL_GAIN:
		a->letter = 'C';
		break;
	case MATRIX_NO_EFFECT:
		a->letter = 'B';
		break;
	case MATRIX_HARMS:
		a->letter = 'R';
		break;
	default:
		a->letter = '?';
	}
}

size_t
matrix_column(const struct matrix_design *d, const double *figures, size_t blocks, size_t cell,
	      double *out)
{
	size_t n = 0;

	for (size_t b = 0; b < blocks; b++)
		if (isfinite(figures[b * d->n + cell]))
			out[n++] = figures[b * d->n + cell];
	return n;
}

static int
find_best(const struct matrix_design *d, const double *figures, size_t blocks,
	  struct matrix_analysis *a)
{
	double *column = malloc((blocks ? blocks : 1) * sizeof(*column));

	if (!column)
		return -ENOMEM;
	a->best_median = a->gap = NAN;
	for (size_t c = 0; c < d->n; c++) {
		size_t n = matrix_column(d, figures, blocks, c, column);
		double median = stats_median(column, n);

		if (n && (isnan(a->best_median) || (d->spec->lower ? median < a->best_median
								   : median > a->best_median))) {
			a->best = c;
			a->best_median = median;
		}
	}
	free(column);
	if (d->spec->reference > 0 && isfinite(a->best_median))
		a->gap = d->spec->lower ? 1 - d->spec->reference / a->best_median
					: 1 - a->best_median / d->spec->reference;
	return 0;
}

int
matrix_analyse(const struct matrix_design *d, const double *figures, size_t blocks,
	       const bool *present, struct matrix_analysis *out)
{
	struct matrix_analysis a = { .decisive = -1 };
	int rc;

	a.effects = calloc(d->effect_count + 1, sizeof(*a.effects));
	if (!a.effects)
		return -ENOMEM;
	for (size_t i = 0; i < d->effect_count; i++)
		a.primary += d->effects[i].kind == MATRIX_PRIMARY &&
			     terms_present(&d->effects[i], present) > 0;
	a.level = 1 - ALPHA / (double)(a.primary ? a.primary : 1);
	a.least = stats_flip_least(1 - a.level);
	rc = estimate_all(d, figures, blocks, present, &a);
	rc = rc ? rc : correct(d, &a);
	rc = rc ? rc : find_best(d, figures, blocks, &a);
	if (rc) {
		free(a.effects);
		return rc;
	}
	decide_all(d, &a);
	decide_study(d, &a);
	*out = a;
	return 0;
}

void
matrix_analysis_fini(struct matrix_analysis *a)
{
	free(a->effects);
	a->effects = NULL;
}
