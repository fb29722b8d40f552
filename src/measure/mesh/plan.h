/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks measure with each other in which step. By turns: a round-robin tournament, in
 * which every rank is in one pair at a time (with an odd number one rests). Each pair has
 * two steps, one for either side as the client, or one if both directions run at once. Or
 * all pairs at once: a single step.
 */
#ifndef MEASURE_MESH_PLAN_H
#define MEASURE_MESH_PLAN_H

#include <stdbool.h>

struct mesh_plan {
	unsigned size;    /* ranks, at least 2                                     */
	bool at_once;     /* all pairs in one step                                 */
	bool bi;          /* a pair is measured once, in both directions           */
};

unsigned mesh_plan_steps(const struct mesh_plan *plan);
/* Is @rank the client of a measurement with @peer in that step? */
bool mesh_plan_client(const struct mesh_plan *plan, unsigned step, unsigned rank, unsigned peer);
/* The opponent of @rank in @round of the tournament; @rank itself when it rests. */
unsigned mesh_plan_opponent(unsigned size, unsigned round, unsigned rank);

#endif
