/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The circle method: with an odd number m of places, r and s meet in round t if r + s = t
 * modulo m. A rank that would meet itself meets the extra one of an even number.
 */
#include "measure/mesh/plan.h"

static unsigned
places(unsigned size)
{
	return size - (size % 2 == 0);
}

unsigned
mesh_plan_opponent(unsigned size, unsigned round, unsigned rank)
{
	unsigned m = places(size), other;

	if (rank == m) /* the extra one: its opponent x has 2x = round modulo m */
		return (unsigned)((unsigned long long)round * ((m + 1) / 2) % m);
	other = (round % m + m - rank) % m;
	return other != rank ? other : size % 2 == 0 ? m : rank;
}

unsigned
mesh_plan_steps(const struct mesh_plan *plan)
{
	if (plan->at_once)
		return 1;
	return places(plan->size) * (plan->bi ? 1 : 2);
}

bool
mesh_plan_client(const struct mesh_plan *plan, unsigned step, unsigned rank, unsigned peer)
{
	bool lower = rank < peer;

	if (rank == peer || rank >= plan->size || peer >= plan->size)
		return false;
	if (plan->at_once)
		return !plan->bi || lower;
	if (mesh_plan_opponent(plan->size, plan->bi ? step : step / 2, rank) != peer)
		return false;
	return plan->bi ? lower : lower == (step % 2 == 0);
}
