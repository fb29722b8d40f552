/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx perf --mesh: every rank measures with every other. */
#ifndef MEASURE_MESH_MESH_H
#define MEASURE_MESH_MESH_H

#include "measure/job/args.h"
#include "measure/report/row.h"

/* Runs this process's part of the mesh: a rank of the job that the environment
 * describes, or with --ranks the parent that starts all ranks here. Returns an exit
 * code. At rank 0 @r then has a mesh, if there was one. @a is changed: the environment
 * has the settings from then on. */
int mesh_run(struct perf_args *a, struct result *r);

#endif
