/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Medians, percentiles and two intervals. Where a choice exists it is the one that
 * claims less: nearest rank, and coverage of at least 95 % rather than about.
 */
#include "measure/report/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A sorted copy, to be freed; NULL for n == 0 or out of memory. */
static double *
sorted_copy(const double *v, size_t n)
{
	double *copy = n ? malloc(n * sizeof(*v)) : NULL;

	if (copy) {
		memcpy(copy, v, n * sizeof(*v));
		qsort(copy, n, sizeof(*v), by_value);
	}
	return copy;
}

double
stats_mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : NAN;
}

double
stats_stdev(const double *v, size_t n)
{
	double mean = stats_mean(v, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return n > 1 ? sqrt(sum / (double)(n - 1)) : mean - mean; /* NAN stays NAN */
}

double
stats_median(const double *v, size_t n)
{
	double *s = sorted_copy(v, n), median;

	if (!s)
		return NAN;
	median = (s[(n - 1) / 2] + s[n / 2]) / 2;
	free(s);
	return median;
}

double
stats_percentile(const double *v, size_t n, double q)
{
	double *s = sorted_copy(v, n), value;
	size_t rank;

	if (!s)
		return NAN;
	rank = (size_t)ceil(q * (double)n - 1e-9); /* 0.99 * 100 is a little above 99 */
	value = s[rank < 1 ? 0 : rank > n ? n - 1 : rank - 1];
	free(s);
	return value;
}

/*
 * The number of values below the median is binomial(n, 1/2): ranks r and n + 1 - r miss
 * it with twice the probability of fewer than r successes.
 */
size_t
stats_median_rank(size_t n)
{
	double term, below = 0;
	size_t rank = 0;

	if (n > 1000) /* 2^-n is no double any more, and the normal tail is exact enough */
		return (size_t)floor(((double)n - 1.96 * sqrt((double)n)) / 2);

	term = ldexp(1, -(int)n);
	while (rank < n / 2) {
		below += term;
		if (2 * below > 0.05)
			break;
		term *= (double)(n - rank) / (double)(rank + 1);
		rank++;
	}
	return rank;
}

bool
stats_median_interval(const double *v, size_t n, struct stats_interval *ci)
{
	size_t rank = stats_median_rank(n);
	double *s = rank ? sorted_copy(v, n) : NULL;

	if (!s)
		return false;
	ci->lo = s[rank - 1];
	ci->hi = s[n - rank];
	free(s);
	return true;
}
