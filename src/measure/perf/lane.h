/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of a job with --op lane, for each way the data goes. Their keys travel with the job's
 * messages; one side listens, the other opens. A slot of the ring has its lane, the same on both
 * sides, so that sends meet their receives.
 */
#ifndef MEASURE_PERF_LANE_H
#define MEASURE_PERF_LANE_H

#include "measure/job/job.h"
#include "measure/perf/memory.h"

struct lanes {
	tcpx_lane *at[JOB_LANES_MAX];
	uint64_t count; /* 0: no such way, or no lanes                               */
};

/* Receiving ends, whose keys become a member of @msg. Codes of the library, logged there. */
TCPX_MUST_CHECK int lanes_listen(tcpx_engine *engine, json_t *msg, uint64_t count,
				 struct lanes *lanes);
/* The sending ends of the lanes that the peer's message names. TCPX_EBLOB: it names others. */
TCPX_MUST_CHECK int lanes_open(tcpx_peer *peer, const json_t *msg, uint64_t count,
			       struct lanes *lanes);
void lanes_close(struct lanes *lanes);
/* Waits until the other ends are there. TCPX_ETIMEDOUT, or what ended one. */
TCPX_MUST_CHECK int lanes_await(const struct lanes *lanes, uint64_t timeout_ms);
/* The next message of its lane, from or to @slot. */
TCPX_MUST_CHECK int lanes_post(const struct lanes *lanes, const struct regions *r,
			       const struct layout *l, uint64_t slot, tcpx_xfer **xfer);

#endif
