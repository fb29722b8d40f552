/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of the lanes that a job measures. */
#include "measure/perf/perf_lane.h"

#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "measure/perf/job.h"

int
lane_listen(tcpx_engine *engine, json_t *msg, tcpx_lane **lane)
{
	uint8_t key[TCPX_LANE_KEY];
	int rc = tcpx_lane_listen(engine, key, lane);

	if (!rc)
		json_object_set_new(msg, "lane", job_hex(key, sizeof(key)));
	return rc;
}

int
lane_open(tcpx_peer *peer, const json_t *msg, tcpx_lane **lane)
{
	uint8_t key[TCPX_LANE_KEY];
	size_t len = 0;
	int rc = job_bytes(json_object_get(msg, "lane"), "lane", key, sizeof(key), &len);

	if (!rc && len != sizeof(key))
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message %s: lane is a key of %zu bytes, "
			       "allowed is %zu", job_text(msg, "t"), len, sizeof(key));
	return rc ? rc : tcpx_lane_open(peer, key, lane);
}

int
lane_await(tcpx_lane *lane, uint64_t timeout_ms)
{
	uint64_t until = tcpx_clock_now(&tcpx_clock_system) + timeout_ms * TCPX_MS;
	int rc;

	while ((rc = tcpx_lane_ready(lane)) == -EAGAIN) {
		if (tcpx_clock_now(&tcpx_clock_system) > until)
			return tcpx_fail(TCPX_SUB_TOOL, TCPX_ETIMEDOUT, "the other end of a lane did "
					 "not come for %llu s",
					 (unsigned long long)timeout_ms / 1000);
		(void)poll(NULL, 0, 1);
	}
	return rc;
}

int
lane_post(tcpx_lane *lane, const struct regions *r, const struct layout *l, uint64_t slot,
	  tcpx_xfer **xfer)
{
	struct tcpx_desc d;

	regions_descs(r, l, slot, &d);
	return tcpx_lane_post(lane, d.region, d.offset, d.len, xfer);
}
