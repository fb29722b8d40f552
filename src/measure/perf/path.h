/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of GPU memory: copies from the sender's GPUs and to the receiver's at the same
 * time, nothing else. Each side measures its own; the slower counts.
 */
#ifndef MEASURE_PERF_PATH_H
#define MEASURE_PERF_PATH_H

#include "tool/gpu/gpu.h"

struct path_speed {
	double from_GBps, to_GBps; /* all GPUs together; INFINITY: not of this path */
};

struct path_stream {
	struct gpu_flow flow;
	unsigned turn;              /* the oldest in flight */
	uint64_t first_ns, last_ns; /* ends that count      */
	uint64_t turns;             /* between them         */
};

struct path {
	bool from, to;
	uint64_t copy_bytes, begin_ns;
	unsigned streams;
	struct path_stream stream[2 * PLACE_GPUS];
};

/* Memory and streams for copies from and to the GPUs of @place. */
TCPX_MUST_CHECK int path_open(struct gpus *g, const struct place *place, bool from, bool to,
			      struct path *path);
void path_close(struct path *path);
/* Copies of @copy_bytes for a third of a second, of which the middle counts. If both sides
 * start together, the counted part has both at work. */
TCPX_MUST_CHECK int path_begin(struct path *path, uint64_t copy_bytes);
/* 0 and *speed at the end; -EAGAIN: step again, soon. */
TCPX_MUST_CHECK int path_step(struct path *path, struct path_speed *speed);
/* Begins, and steps to the end. */
TCPX_MUST_CHECK int path_run(struct path *path, uint64_t copy_bytes, struct path_speed *speed);

#endif
