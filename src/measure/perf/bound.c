/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transfer that failed or does not move, as both ends see it. Nothing here waits long:
 * the peer gets two seconds for its view.
 */
#include "measure/perf/bound.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "measure/perf/events.h"
#include "measure/perf/usage.h"
#include "tool/tool.h"

enum { VIEW_MS = 2000 };

/* The state of a channel's work, as far as its owner knows. */
static const char *
stage_of(const struct tcpx_channel_info *c)
{
	if (!c->up)
		return "down";
	if (!c->sending)
		return "receiving";
	return c->in_flight ? "sent, not acknowledged" : "nothing to send";
}

static void
print_channels(const char *whose, const struct usage *u)
{
	for (size_t i = 0; i < u->channels; i++) {
		const struct tcpx_channel_info *c = &u->channel[i];

		fprintf(stderr,
			"  %s channel %" PRIu32 ".%" PRIu32 " %s NIC %s -> %s: %s, in flight %" PRIu32
			", %" PRIu64 " chunks, stalls %" PRIu64 ", retransmits %" PRIu64 "\n",
			whose, c->index, c->generation, c->sending ? "sends" : "receives", c->nic,
			c->peer_nic, stage_of(c), c->in_flight, c->chunks, c->stalls,
			c->retransmits);
	}
}

/* Of the channels that hold unacknowledged work, or else of none. */
static const char *
stage_of_all(const struct usage *near, const struct usage *far)
{
	for (size_t i = 0; i < near->channels; i++)
		if (near->channel[i].sending && near->channel[i].in_flight)
			return "wire: sent here, not acknowledged by the peer";
	for (size_t i = 0; i < far->channels; i++)
		if (far->channel[i].sending && far->channel[i].in_flight)
			return "wire: sent by the peer, not acknowledged here";
	return "queue: no channel has taken the rest";
}

void
perf_explain(struct perf *p, tcpx_xfer *xfer, int code)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };
	struct usage *near = calloc(2, sizeof(*near)), *far = near + 1;
	json_t *view = NULL;
	bool stuck = code == -EAGAIN;

	events_put(p->events, "failed", events_failure(xfer, code, p->job.op != JOB_READ));
	if (!near || !xfer || tcpx_xfer_query(xfer, &info)) {
		free(near);
		return;
	}
	tool_fail(TOOL_FINDING, "tcpx perf",
		  "transfer %" PRIu64 " %s: %s (%s)%s%s; %" PRIu64 " of %" PRIu64
		  " bytes in place; chunk %" PRIu64 " at %" PRIu64 "%s%s: %s", info.id,
		  stuck ? "is stuck" : "failed",
		  stuck ? "no end within --timeout" : tcpx_strerror(code),
		  tcpx_strerror_name(stuck ? TCPX_ESTALLED : code),
		  info.cause[0] ? ": " : "", info.cause, info.bytes_done, info.bytes_total,
		  info.stuck_chunk, info.stuck_chunk * info.chunk_bytes,
		  info.stuck_nic[0] ? " on NIC " : "", info.stuck_nic, info.stage);
	usage_read(p->engine, p->peer_name, near);
	if (stuck && !job_send(p->peer, "look", NULL) && !perf_await(p, "view", VIEW_MS, &view) &&
	    usage_parse(view, far)) {
		json_decref(view);
		view = NULL;
	}
	if (stuck)
		fprintf(stderr, "  stage %s\n", stage_of_all(near, far));
	print_channels("here", near);
	if (view)
		print_channels("peer", far);
	else if (stuck)
		fprintf(stderr, "  the peer gives no view of it\n");
	json_decref(view);
	free(near);
}
