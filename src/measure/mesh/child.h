/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One measurement of a mesh: this program again, as `tcpx perf` with one peer, whose server
 * a blob names. It waits at a gate before its timed run, so that all measurements of a step
 * begin together, and leaves its result in memory.
 */
#ifndef MEASURE_MESH_CHILD_H
#define MEASURE_MESH_CHILD_H

#include <sys/types.h>

#include "measure/job/args.h"
#include "measure/report/row.h"

struct mesh_child {
	unsigned peer;
	pid_t pid;   /* 0: no process                                              */
	int gate;    /* a socket: our end of the gate; -1 none                     */
	int result;  /* a memfd, where the process writes its result; -1 none      */
	bool ready;  /* it has reached its gate                                    */
	bool failed; /* ... or failed before                                       */
};

/* @beside: measurements that share this host's memory with it. 0 or -errno, logged. */
TCPX_MUST_CHECK int mesh_child_start(const struct perf_args *a, unsigned peer, uint64_t beside,
				     const void *blob, size_t blob_len, struct mesh_child *c);
/* Has it reached its gate, or failed before? To be called until true. */
bool mesh_child_ready(struct mesh_child *c);
/* Opens the gate of a measurement that is ready; failed: it could not. */
void mesh_child_go(struct mesh_child *c);
/* Has it ended? */
bool mesh_child_over(struct mesh_child *c);
/* Ends it if need be, and reads its result. False: no result, or one without a row. The
 * caller frees the result. */
bool mesh_child_end(struct mesh_child *c, struct result *r);
/* Ends the process, if there is one. */
void mesh_child_kill(struct mesh_child *c);

#endif
