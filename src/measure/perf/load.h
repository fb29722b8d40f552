/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of one size, repeated, a number of them in flight. A run begins after the
 * server's "ready" and ends when the last byte is acknowledged; nothing else is
 * inside its interval.
 */
#ifndef MEASURE_PERF_LOAD_H
#define MEASURE_PERF_LOAD_H

#include "measure/perf/load_ring.h"

/* One run, round the ring from l->at on. @stats NULL: warm-up, nothing is kept but *ns (may be
 * NULL). A failure has been explained on stderr. -EINTR: an end was asked for; when it comes
 * during the run, fewer transfers are counted. */
TCPX_MUST_CHECK int load_run(struct load *l, uint64_t iters, struct load_stats *stats,
			     uint64_t *ns);

#endif
