/* SPDX-License-Identifier: Apache-2.0 */
/* The tournament is complete and keeps every rank busy; sums over its pairs are right. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/mesh/plan.h"
#include "measure/mesh/sum.h"
#include "measure/report/out_verdict.h"
#include "tool/tool.h"

enum { MOST = 33 };

/* In each round opponents agree, and at most one rests. */
TEST(everybody_is_busy)
{
	for (unsigned n = 2; n <= MOST; n++) {
		unsigned rounds = n - (n % 2 == 0);

		for (unsigned t = 0; t < rounds; t++) {
			unsigned resting = 0;

			for (unsigned r = 0; r < n; r++) {
				unsigned other = mesh_plan_opponent(n, t, r);

				assert_true(other < n);
				assert_int_equal(mesh_plan_opponent(n, t, other), r);
				resting += other == r;
			}
			assert_int_equal(resting, n % 2);
		}
	}
}

/* Each ordered pair (with bi each pair) exactly once, and nobody twice in a step. */
static void
check_plan(const struct mesh_plan *plan)
{
	unsigned seen[MOST][MOST] = { { 0 } }, n = plan->size;

	for (unsigned step = 0; step < mesh_plan_steps(plan); step++) {
		unsigned busy[MOST] = { 0 };

		for (unsigned r = 0; r < n; r++)
			for (unsigned p = 0; p < n; p++)
				if (mesh_plan_client(plan, step, r, p)) {
					seen[r][p]++;
					busy[r]++;
					busy[p]++;
				}
		for (unsigned r = 0; !plan->at_once && r < n; r++)
			assert_in_range(busy[r], n % 2 ? 0 : 1, 1);
	}
	for (unsigned r = 0; r < n; r++)
		for (unsigned p = 0; p < n; p++)
			assert_int_equal(seen[r][p], r == p ? 0 : plan->bi ? r < p : 1);
}

TEST(every_pair_once)
{
	for (unsigned n = 2; n <= MOST; n++)
		for (int k = 0; k < 4; k++)
			check_plan(&(struct mesh_plan){ n, k & 1, k & 2 });
}

TEST(outsiders_have_no_pair)
{
	const struct mesh_plan plan = { 4, true, false };

	assert_false(mesh_plan_client(&plan, 0, 1, 1));
	assert_false(mesh_plan_client(&plan, 0, 4, 1));
	assert_false(mesh_plan_client(&plan, 0, 1, 4));
}

static void
add(struct result_mesh *m, unsigned from, unsigned to, unsigned step, double GBps)
{
	struct result_mesh_pair *p = LIST_ADD(&m->pairs);

	*p = (struct result_mesh_pair){ .from = from, .to = to, .step = step, .GBps = GBps };
}

TEST(sums)
{
	struct result_mesh m = { 0 };

	(void)LIST_ADD(&m.ranks);
	(void)LIST_ADD(&m.ranks);
	(void)LIST_ADD(&m.ranks);
	add(&m, 0, 1, 0, 4);
	add(&m, 1, 0, 1, 2);
	add(&m, 0, 2, 2, 1);
	add(&m, 2, 0, 2, 5);
	mesh_sum(&m);
	assert_true(m.mean_GBps == 3 && m.median_GBps == 3 && m.best_GBps == 5 && m.worst_GBps == 1);
	assert_int_equal(m.worst_from, 0);
	assert_int_equal(m.worst_to, 2);
	assert_true(m.together_GBps == 4);
	assert_true(fabs(m.fairness - 144.0 / (4 * 46)) < 1e-9);
	assert_ptr_equal(mesh_pair(&m, 2, 0), &m.pairs.at[3]);
	assert_null(mesh_pair(&m, 1, 2));
	assert_false(mesh_is_good(&m)); /* two are missing */
	add(&m, 1, 2, 3, 1);
	add(&m, 2, 1, 3, 1);
	assert_true(mesh_is_good(&m));
	m.pairs.at[2].wrong = 1;
	assert_false(mesh_is_good(&m));
	m.pairs.at[2].wrong = 0;
	m.pairs.at[2].failed = true;
	assert_false(mesh_is_good(&m));
	free(m.pairs.at);
	free(m.ranks.at);
}

TEST(fairness)
{
	assert_true(mesh_fairness((double[]){ 2, 2, 2 }, 3) == 1);
	assert_true(mesh_fairness((double[]){ 0, 0, 9, 0 }, 4) == 0.25);
	assert_true(isnan(mesh_fairness((double[]){ 0, 0 }, 2)));
	assert_true(isnan(mesh_fairness(NULL, 0)));
}
