/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a transfer that does not end well. */
#ifndef MEASURE_PERF_BOUND_H
#define MEASURE_PERF_BOUND_H

#include "measure/perf/client.h"

/* Prints the known facts of a transfer that failed or is stuck: transfer, chunk, channel,
 * NIC, stage, and the peer's view. */
void perf_explain(struct perf *p, tcpx_xfer *xfer, int code);

#endif
