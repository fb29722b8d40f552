/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the pairs. */
#include "measure/mesh/sum.h"

#include <math.h>
#include <stdlib.h>

#include "tool/stats.h"

double
mesh_fairness(const double *v, size_t n)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		sum += v[i];
		squares += v[i] * v[i];
	}
	return squares > 0 ? sum * sum / ((double)n * squares) : NAN;
}

/* The pairs of a step run at the same time: the mean over the steps of their sums. */
static double
together(const struct result_mesh *m)
{
	double sum = 0;
	unsigned steps = 0;

	for (size_t i = 0; i < m->pairs.n; i++) {
		sum += m->pairs.at[i].GBps;
		steps = m->pairs.at[i].step >= steps ? m->pairs.at[i].step + 1 : steps;
	}
	return steps ? sum / steps : 0;
}

void
mesh_sum(struct result_mesh *m)
{
	size_t n = m->pairs.n, worst = 0, best = 0;
	double *v = calloc(n ? n : 1, sizeof(*v));

	if (!v || !n) {
		free(v);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		v[i] = m->pairs.at[i].GBps;
		worst = v[i] < v[worst] ? i : worst;
		best = v[i] > v[best] ? i : best;
	}
	m->mean_GBps = stats_mean(v, n);
	m->median_GBps = stats_median(v, n);
	m->worst_GBps = v[worst];
	m->worst_from = m->pairs.at[worst].from;
	m->worst_to = m->pairs.at[worst].to;
	m->best_GBps = v[best];
	m->together_GBps = together(m);
	m->fairness = mesh_fairness(v, n);
	free(v);
}
