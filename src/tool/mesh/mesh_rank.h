/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of a mesh: its server, its measurements, its place at the rendezvous. */
#ifndef TOOL_MESH_RANK_H
#define TOOL_MESH_RANK_H

#include "tool/mesh/mesh_env.h"
#include "tool/mesh/mesh_plan.h"
#include "tool/perf/perf_args.h"
#include "tool/report/row.h"

enum { MESH_MEET_MS = 120 * 1000 };

struct mesh_plan mesh_plan_of(const struct perf_args *a, unsigned size);
/* How long a step may take at most. */
uint64_t mesh_step_ms(const struct perf_args *a);
/* All of it. An exit code; at rank 0 @r gets its mesh when there are pairs. */
int mesh_rank_run(const struct perf_args *a, const struct mesh_env *env, struct result *r);

#endif
