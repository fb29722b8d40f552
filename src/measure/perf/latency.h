/* SPDX-License-Identifier: Apache-2.0 */
/* The run of --lat. */
#ifndef MEASURE_PERF_LATENCY_H
#define MEASURE_PERF_LATENCY_H

#include "measure/perf/load_ring.h"

/* *iters round trips, or fewer if an end is asked for: there with a note, and back. */
int lat_run(struct load *l, uint64_t *iters, struct load_stats *stats);

#endif
