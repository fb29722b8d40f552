/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a choice exists it is the one that claims less: nearest rank, coverage of at least
 * 95 % rather than about, and a sum equal to the observed one within rounding counts as
 * equally far out. Student's t is by the incomplete beta function, the rest by counting.
 */
#include "tool/stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/rng.h"

#define DRAWS 20000
#define NEEDED_MAX 100000

/* ---- one sample ------------------------------------------------------------------ */

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

	if (!s)
		return NAN;
	value = s[tcpx_rank(100 * q, n) - 1];
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

/* ---- Student's t ----------------------------------------------------------------- */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double
beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 300; m++) {
		double step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));

		d = 1 + step * d;
		c = 1 + step / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 + step * d;
		c = 1 + step / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		if (fabs(d * c - 1) < 1e-14)
			break;
	}
	return h;
}

/* The regularised incomplete beta function. */
static double
beta_share(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double
stats_t_share(size_t df, double t)
{
	double n = (double)df, tail = beta_share(n / 2, 0.5, n / (n + t * t)) / 2;

	return t > 0 ? 1 - tail : tail;
}

/* Newton's method from 0: the share is concave there, so the iteration rises to the root
 * and never passes it. */
double
stats_t_quantile(size_t df, double p)
{
	double n = (double)df, t = 0, step = 1;
	double front = exp(lgamma((n + 1) / 2) - lgamma(n / 2)) / sqrt(n * M_PI);

	for (int i = 0; i < 200 && step > 1e-12 * t; i++) {
		double density = front * pow(1 + t * t / n, -(n + 1) / 2);

		step = (p - stats_t_share(df, t)) / density;
		t += step;
	}
	return t;
}

double
stats_sd_upper(size_t n)
{
	/* the 20 % point of chi-square, by Wilson and Hilferty */
	double df = (double)n - 1, root = 1 - 2 / (9 * df) - 0.8416 * sqrt(2 / (9 * df));

	return n < 2 ? NAN : 1 / sqrt(root * root * root);
}

/* ---- counting -------------------------------------------------------------------- */

double
stats_hodges_lehmann(const double *v, size_t n)
{
	double *means = n && n < 4096 ? malloc(n * (n + 1) / 2 * sizeof(*means)) : NULL, median;
	size_t k = 0;

	if (!means)
		return NAN;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			means[k++] = (v[i] + v[j]) / 2;
	median = stats_median(means, k);
	free(means);
	return median;
}

static double
signed_sum(const double *v, size_t n, const uint64_t *signs)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += signs[i / 64] >> (i % 64) & 1 ? -v[i] : v[i];
	return sum;
}

double
stats_sign_flip(const double *v, size_t n)
{
	uint64_t none[64] = { 0 }, total, far = 0;
	struct tcpx_rng rng = tcpx_rng_seed(1);
	double observed, size = 0;

	if (!n || n > 64 * 64)
		return 1;
	for (size_t i = 0; i < n; i++)
		size += fabs(v[i]);
	observed = fabs(signed_sum(v, n, none)) - 1e-12 * size;
	total = n <= STATS_FLIP_EXACT ? 1ull << n : DRAWS;
	for (uint64_t k = 0; k < total; k++) {
		uint64_t signs[64] = { k };

		for (size_t w = 0; n > STATS_FLIP_EXACT && w <= (n - 1) / 64; w++)
			signs[w] = tcpx_rng_next(&rng);
		far += fabs(signed_sum(v, n, signs)) >= observed;
	}
	if (n > STATS_FLIP_EXACT) /* the observed signs are one more draw */
		return (double)(far + 1) / (double)(total + 1);
	return (double)far / (double)total;
}

size_t
stats_flip_least(double p)
{
	size_t n = 1;

	while (n < 1000 && ldexp(2, -(int)n) > p * (1 + 1e-12))
		n++;
	return n;
}

bool
stats_holm(const double *p, size_t m, double *out)
{
	bool *done = calloc(m ? m : 1, sizeof(*done));
	double before = 0;

	if (!done)
		return false;
	for (size_t k = 0; k < m; k++) {
		size_t least = m;
		double value;

		for (size_t i = 0; i < m; i++)
			if (!done[i] && (least == m || !(p[least] <= p[i])))
				least = i;
		value = isnan(p[least]) ? 1 : p[least] * (double)(m - k);
		before = fmax(before, fmin(value, 1));
		out[least] = before;
		done[least] = true;
	}
	free(done);
	return true;
}

size_t
stats_pairs_needed(double sd, double half, double level)
{
	size_t lo = 1, hi = 2;

	if (!(sd > 0))
		return 2;
	if (!(half > 0))
		return NEEDED_MAX;
	while (hi < NEEDED_MAX &&
	       stats_t_quantile(hi - 1, (1 + level) / 2) * sd / sqrt((double)hi) > half) {
		lo = hi;
		hi = 2 * hi < NEEDED_MAX ? 2 * hi : NEEDED_MAX;
	}
	while (hi - lo > 1) { /* the width falls with every more pair */
		size_t middle = (lo + hi) / 2;

		if (stats_t_quantile(middle - 1, (1 + level) / 2) * sd / sqrt((double)middle) > half)
			lo = middle;
		else
			hi = middle;
	}
	return hi;
}
