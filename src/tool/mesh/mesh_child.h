/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One measurement of a mesh: this program again, as `tcpx perf` with one peer, whose server it
 * is told by a blob. It waits at a gate before its timed run, so that all of a step begin
 * together, and leaves its result in memory.
 */
#ifndef TOOL_MESH_CHILD_H
#define TOOL_MESH_CHILD_H

#include <sys/types.h>

#include "tool/perf/perf_args.h"
#include "tool/report/row.h"

struct mesh_child {
	unsigned peer;
	pid_t pid;   /* 0: not there                                               */
	int gate;    /* its other end; -1 none                                     */
	int result;  /* memory                                                     */
	bool ready;  /* it came to its gate                                        */
	bool failed; /* ... or did not                                             */
};

/* 0 or -errno, logged. */
TCPX_MUST_CHECK int mesh_child_start(const struct perf_args *a, unsigned peer, const void *blob,
				     size_t blob_len, struct mesh_child *c);
/* Does it stand at its gate, or has failed before? Asked until it is so. */
bool mesh_child_ready(struct mesh_child *c);
void mesh_child_go(struct mesh_child *c);
/* Has it ended? */
bool mesh_child_over(struct mesh_child *c);
/* Ends it if need be, and reads its result. False: there is none, or none with a row. The
 * result is the caller's to free. */
bool mesh_child_end(struct mesh_child *c, struct result *r);
/* Ends it, if it is there. */
void mesh_child_kill(struct mesh_child *c);

#endif
