/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements: runs whose bytes are compared unless -c 0 says otherwise. */
#ifndef MEASURE_PERF_LOAD_MEASURE_H
#define MEASURE_PERF_LOAD_MEASURE_H

#include "measure/perf/load.h"

/* Number of transfers of @one_ns that fill @ns: at least 1. */
uint64_t load_iters_for(uint64_t ns, uint64_t one_ns);

/* Before a run that others wait for: fills its ring. */
TCPX_MUST_CHECK int load_get_ready(struct load *l);
/* A number of transfers. The clock stops while a full ring is compared. Of a run of latency the
 * last tenth is; one with others beside it does not stop, and its last ring is. */
TCPX_MUST_CHECK int load_measure(struct load *l, uint64_t iters, struct load_stats *stats);
/* Runs until @ns have passed; the last tenth is compared. */
TCPX_MUST_CHECK int load_measure_for(struct load *l, uint64_t ns, uint64_t one_ns,
				     struct load_stats *stats);
/* --each: this many transfers after as many warm-ups as asked, each timed and compared. */
TCPX_MUST_CHECK int load_each(struct load *l, struct load_stats *stats);

#endif
