/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few paired differences: estimates, intervals and tests that hold for 3 to 18 of them.
 * Exact where enumeration is possible; the comment says where not. Pure.
 */
#ifndef TOOL_STATS_PAIRED_H
#define TOOL_STATS_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

enum {
	STATS_FLIP_EXACT = 18 /* up to this many differences all 2^n signs are tried */
};

/* Student's t below which a share @p (0.5 < p < 1) lies, @df >= 1 degrees of freedom. */
double stats_t_quantile(size_t df, double p);
/* The share below @t. */
double stats_t_share(size_t df, double t);

/* The sd of @n normal values, times this, exceeds the true one in four cases of five. For
 * planning with an sd from few values. NAN for n < 2. */
double stats_sd_upper(size_t n);

/* The median of all means of two (also of one with itself); NAN for n == 0 or no memory. */
double stats_hodges_lehmann(const double *v, size_t n);

/*
 * stats_sign_flip - how often would random signs give a sum as far from 0 as this one
 * Two-sided p of the hypothesis that differences are as likely negative as positive: by
 * all 2^n signs for n <= STATS_FLIP_EXACT, else by 20,000 draws from a fixed seed. 1 for
 * n == 0. Never below 2 / 2^n: see stats_flip_least().
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
