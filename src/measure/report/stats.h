/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few statistics of a run. Intervals aim at 95 %: the unit is one whole run or
 * pair, never an iteration inside it. Nothing here changes its input or keeps state.
 */
#ifndef TOOL_STATS_H
#define TOOL_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct stats_interval {
	double lo, hi;
};

/* NAN for n == 0 in all of these. */
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
/* These two values. False, @ci untouched, for n < 6. No assumption on the distribution. */
bool stats_median_interval(const double *v, size_t n, struct stats_interval *ci);

#endif
