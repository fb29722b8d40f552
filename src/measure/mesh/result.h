/* SPDX-License-Identifier: Apache-2.0 */
/* From measurements of pairs, through the rendezvous, to the result of a mesh. */
#ifndef MEASURE_MESH_RESULT_H
#define MEASURE_MESH_RESULT_H

#include <jansson.h>
#include <stdio.h>

#include "measure/mesh/env.h"
#include "measure/job/args.h"
#include "measure/report/row.h"

/* Appends the figures that @client measured with @peer as messages for rank 0: one pair, or
 * with --dir bi two. @r NULL: the measurement failed. */
void mesh_result_add(json_t *pairs, const struct perf_args *a, unsigned step, unsigned client,
		     unsigned peer, const struct result *r);
/* Keeps NICs, settings and the like of the first measurement. */
void mesh_result_keep(struct result *r, struct result *from);
/* Adds the mesh to @r; @ranks NULL: they have not met. TOOL_OK; TOOL_FINDING with a message for pairs that make no sense. */
int mesh_result_fill(struct result *r, const struct perf_args *a, const struct mesh_env *env,
		     const json_t *ranks, const json_t *pairs);
/* The mesh in @r ended before its time: by @signal, or if that is 0 for the reason @why. */
void mesh_result_stop(struct result *r, const char *why, int signal);
/* A mesh that came to its end has failed if a pair has. */
void mesh_result_judge(struct result *r);
/* Prints the matrix and its sums for people. */
void mesh_print(FILE *f, const struct result *r);

#endif
