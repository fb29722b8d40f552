/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx perf --mesh: every rank with every other. */
#ifndef TOOL_MESH_H
#define TOOL_MESH_H

#include "tool/perf/perf_args.h"
#include "tool/report/row.h"

/* What this process is to the mesh: a rank of the job that the environment tells of, or with
 * --ranks their parent, who starts them here. An exit code. At rank 0 @r has a mesh then, if
 * there was one. @a is changed: the environment has the settings from then on. */
int mesh_run(struct perf_args *a, struct result *r);

#endif
