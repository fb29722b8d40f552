/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From figures to a verdict. The unit is one run; effects are differences of logarithms
 * within a block; the primary effects share an error of 5 %. Pure.
 *
 * A verdict other than inconclusive needs as many blocks as let the exact sign-flip test
 * reach 5 % after Holm's correction; one that claims a difference needs that test to agree.
 */
#ifndef MEASURE_MATRIX_VERDICT_H
#define MEASURE_MATRIX_VERDICT_H

#include "measure/matrix/design.h"
#include "tool/stats.h"

enum matrix_verdict {
	MATRIX_INCONCLUSIVE,
	MATRIX_HELPS,       /* the interval lies above 1 + margin                  */
	MATRIX_SMALL_GAIN,  /* above 1, and reaches beyond 1 + margin              */
	MATRIX_NO_EFFECT,   /* within 1 - margin .. 1 + margin: a finding          */
	MATRIX_HARMS        /* below 1 - margin                                    */
};

/* "helps", "no material effect", ... */
const char *matrix_verdict_text(enum matrix_verdict verdict);

/* @ci: of a ratio, above 1 is better; @significant: the permutation test agrees. */
enum matrix_verdict matrix_decide(struct stats_interval ci, double margin, bool significant);

struct matrix_estimate {
	size_t n;                  /* blocks in which all its cells were measured      */
	size_t terms;              /* ratios that were used: cells may be missing */
	double ratio;              /* geometric mean; above 1 is better; NAN for n == 0 */
	struct stats_interval ci;  /* t, of the level for its kind; NAN for n < 2      */
	double hl;                 /* Hodges-Lehmann, as a ratio                       */
	double sd;                 /* of the log ratios; NAN for n < 2                 */
	double p;                  /* exact sign-flip                                  */
	double p_holm;             /* corrected among the primary effects; NAN others  */
	enum matrix_verdict verdict;
	size_t needed;             /* blocks in all for an interval of +- margin, with the
				    * upper limit of the noise; 0: n < 2 */
};

struct matrix_analysis {
	struct matrix_estimate *effects; /* one for each of the design's                 */
	size_t primary;                  /* primary effects that can be estimated        */
	double level;                    /* of the primary intervals: 1 - 0.05 / primary */
	size_t least;                    /* blocks below which no difference can be shown */
	size_t needed;                   /* most that an inconclusive primary effect asks for; 0 */
	enum matrix_verdict verdict;     /* of the study                                 */
	int decisive;                    /* the effect that decided it, -1 none          */
	size_t best;                     /* cell with the best median                    */
	double best_median;              /* NAN without any run                          */
	double gap;                      /* what is missing to the reference, as share of it;
					  * NAN without one */
	char letter;                     /* A, B, C, R (reject), ? (inconclusive)        */
};

/*
 * matrix_analyse - all effects and the verdict
 * @figures: [block * d->n + cell], NAN where there is no valid run
 * @present: cells that could run here, [d->n]
 * Return: 0 or -ENOMEM; @out: matrix_analysis_fini().
 */
TCPX_MUST_CHECK int matrix_analyse(const struct matrix_design *d, const double *figures,
				   size_t blocks, const bool *present,
				   struct matrix_analysis *out);
/* The figures of @cell that are there, into @out[blocks]; their number. */
size_t matrix_column(const struct matrix_design *d, const double *figures, size_t blocks, size_t cell,
		     double *out);
void matrix_analysis_fini(struct matrix_analysis *a);

/* The meaning of @letter, a sentence. */
const char *matrix_letter_text(char letter);

#endif
