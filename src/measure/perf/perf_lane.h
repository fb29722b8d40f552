/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of a job with --op lane: one for each way the data goes. The key travels with the
 * job's messages; one side listens, the other opens.
 */
#ifndef TOOL_PERF_LANE_H
#define TOOL_PERF_LANE_H

#include "measure/perf/perf_mem.h"

/* A receiving end, whose key becomes a member of @msg. Codes of the library, logged there. */
TCPX_MUST_CHECK int lane_listen(tcpx_engine *engine, json_t *msg, tcpx_lane **lane);
/* The sending end of the lane that the peer's message names. TCPX_EBLOB: it names none. */
TCPX_MUST_CHECK int lane_open(tcpx_peer *peer, const json_t *msg, tcpx_lane **lane);
/* Waits until the other end is there. TCPX_ETIMEDOUT, or what ended it. */
TCPX_MUST_CHECK int lane_await(tcpx_lane *lane, uint64_t timeout_ms);
/* The next message, from or to @slot. */
TCPX_MUST_CHECK int lane_post(tcpx_lane *lane, const struct regions *r, const struct layout *l,
			      uint64_t slot, tcpx_xfer **xfer);

#endif
