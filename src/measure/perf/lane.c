/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of the lanes that a job measures. */
#include "measure/perf/lane.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>

#include "base/clock.h"
#include "measure/job/job.h"

int
lanes_listen(tcpx_engine *engine, json_t *msg, uint64_t count, struct lanes *lanes)
{
	uint8_t key[JOB_LANES_MAX][TCPX_LANE_KEY];
	int rc = 0;

	for (lanes->count = 0; !rc && lanes->count < count; lanes->count += !rc)
		rc = tcpx_lane_listen(engine, key[lanes->count], &lanes->at[lanes->count]);
	if (!rc)
		json_object_set_new(msg, "lane", job_hex(key, count * TCPX_LANE_KEY));
	return rc;
}

int
lanes_open(tcpx_peer *peer, const json_t *msg, uint64_t count, struct lanes *lanes)
{
	uint8_t key[JOB_LANES_MAX][TCPX_LANE_KEY];
	size_t len = 0;
	int rc = job_bytes(json_object_get(msg, "lane"), "lane", key, sizeof(key), &len);

	if (!rc && len != count * TCPX_LANE_KEY)
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message %s: lane is keys of %zu bytes, "
			       "allowed is %" PRIu64, job_text(msg, "t"), len, count * TCPX_LANE_KEY);
	for (lanes->count = 0; !rc && lanes->count < count; lanes->count += !rc)
		rc = tcpx_lane_open(peer, key[lanes->count], &lanes->at[lanes->count]);
	return rc;
}

void
lanes_close(struct lanes *lanes)
{
	for (uint64_t i = 0; i < lanes->count; i++)
		tcpx_lane_close(lanes->at[i]);
	*lanes = (struct lanes){ 0 };
}

int
lanes_await(const struct lanes *lanes, uint64_t timeout_ms)
{
	uint64_t until = tcpx_clock_now(&tcpx_clock_system) + timeout_ms * TCPX_MS;
	int rc = 0;

	for (uint64_t i = 0; !rc && i < lanes->count; i++)
		while ((rc = tcpx_lane_ready(lanes->at[i])) == -EAGAIN) {
			if (tcpx_clock_now(&tcpx_clock_system) > until)
				return tcpx_fail(TCPX_SUB_TOOL, TCPX_ETIMEDOUT, "the other end of "
						 "a lane did not come for %llu s",
						 (unsigned long long)timeout_ms / 1000);
			(void)poll(NULL, 0, 1);
		}
	return rc;
}

int
lanes_post(const struct lanes *lanes, const struct regions *r, const struct layout *l,
	   uint64_t slot, tcpx_xfer **xfer)
{
	struct tcpx_desc d;

	regions_descs(r, l, slot, &d);
	return tcpx_lane_post(lanes->at[slot % lanes->count], d.region, d.offset, d.len, xfer);
}
