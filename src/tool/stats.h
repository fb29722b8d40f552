/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics of runs and of paired differences. The unit is one whole run or pair, never
 * an iteration inside it. Exact where enumeration is possible; the comment says where not.
 * Pure: nothing here changes its input or keeps state.
 */
#ifndef TOOL_STATS_H
#define TOOL_STATS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	STATS_FLIP_EXACT = 18 /* up to this many differences all 2^n signs are tried */
};

struct stats_interval {
	double lo, hi;
};

/* NAN for n == 0 in all of these; in the last two also without memory. */
double stats_mean(const double *v, size_t n);
/* Of the sample (n - 1); 0 for n == 1. */
double stats_stdev(const double *v, size_t n);
/* The middle value, or the mean of the two middle ones. */
double stats_median(const double *v, size_t n);
/* Nearest rank: the smallest value that at least the fraction @q (0..1) does not exceed. */
double stats_percentile(const double *v, size_t n, double q);

/* The rank r (1..n/2) for which the r-th smallest and r-th largest value enclose the
 * median of the population with at least 95 %; 0 for n < 6, where no rank does. */
size_t stats_median_rank(size_t n);
/* These two values. False, @ci untouched, for n < 6 or no memory. No assumption on the
 * distribution. */
bool stats_median_interval(const double *v, size_t n, struct stats_interval *ci);

/* ---- few paired differences: what holds for 3 to 18 of them ---------------------- */

/* Student's t below which a share @p (0.5 < p < 1) lies, @df >= 1 degrees of freedom. */
double stats_t_quantile(size_t df, double p);
/* The share below @t. */
double stats_t_share(size_t df, double t);

/* The sd of @n normal values, times this, exceeds the true one in four cases of five. For
 * planning with an sd from few values. NAN for n < 2. */
double stats_sd_upper(size_t n);

/* The median of all means of two (also of one with itself); NAN for n == 0, n > 4095 or no
 * memory. */
double stats_hodges_lehmann(const double *v, size_t n);

/*
 * stats_sign_flip - how often would random signs give a sum as far from 0 as this one
 * Two-sided p of the hypothesis that differences are as likely negative as positive: by
 * all 2^n signs for n <= STATS_FLIP_EXACT, else by 20,000 draws from a fixed seed. 1 for
 * n == 0 and n > 4096. Never below 2 / 2^n: see stats_flip_least().
 */
double stats_sign_flip(const double *v, size_t n);
/* The least n for which stats_sign_flip() can be at most @p: 2 / 2^n <= p. */
size_t stats_flip_least(double p);

/* Holm's adjustment of m p-values, in place order: out[i] belongs to p[i]; at most 1.
 * Values of NAN count as 1. False without memory. */
bool stats_holm(const double *p, size_t m, double *out);

/*
 * stats_pairs_needed - the least n with t(n-1, @level) * @sd / sqrt(n) <= @half
 * @level: share of the two-sided interval, 0.95
 * Return: at least 2; 100000 where that is not enough.
 */
size_t stats_pairs_needed(double sd, double half, double level);

#endif
