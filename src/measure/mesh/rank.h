/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of a mesh: its server, its measurements, its messages to the hub. */
#ifndef MEASURE_MESH_RANK_H
#define MEASURE_MESH_RANK_H

#include "measure/mesh/env.h"
#include "measure/mesh/plan.h"
#include "measure/job/args.h"
#include "measure/report/row.h"

/* Longest time until all ranks have joined. */
enum { MESH_MEET_MS = 120 * 1000 };

/* The plan for @size ranks, with the options in @a. */
struct mesh_plan mesh_plan_of(const struct perf_args *a, unsigned size);
/* Longest time of one step. */
uint64_t mesh_step_ms(const struct perf_args *a);
/* Runs the rank until the mesh has ended. An exit code; at rank 0 @r gets the pairs. */
int mesh_rank_run(const struct perf_args *a, const struct mesh_env *env, struct result *r);

#endif
