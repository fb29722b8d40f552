/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latency of one small transfer. WRITE and SEND go there and back, and half of that
 * is reported; a READ is a round trip by itself and reported whole.
 */
#include "measure/perf/latency.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "measure/perf/bound.h"
#include "measure/job/stop.h"
#include "tool/tool.h"

enum { SPIN_LOOK = 4096, WAIT_MS = 250 };

/* Waits for the note in the server's WRITE. */
static int
wait_pong(struct perf *p, uint64_t post_ns)
{
	uint64_t until = post_ns + p->args->timeout_s * TCPX_SEC;
	tcpx_note *note;
	const char *data;
	size_t len;
	bool pong;
	int rc;

	for (uint64_t i = 1;; i++) {
		rc = p->job.spin ? tcpx_note_get(p->engine, &note)
				 : tcpx_note_wait(p->engine, WAIT_MS, &note);
		if (!rc) {
			data = tcpx_note_data(note, &len);
			pong = len == 1 && data[0] == JOB_NOTE_PING;
			tcpx_note_free(note);
			if (pong)
				return 0;
		}
		if (rc && rc != -EAGAIN)
			return rc;
		if (i % SPIN_LOOK == 0 || !p->job.spin)
			if (tool_now_ns() > perf_stop_limit(until))
				return perf_stop_asked() ? -EINTR : -EAGAIN;
	}
}

int
lat_run(struct load *l, uint64_t *iters, struct load_stats *stats)
{
	static const char ping[] = { JOB_NOTE_PING, '\0' };
	struct perf *p = l->perf;
	int rc = 0;

	for (uint64_t i = 0; !rc && i < *iters; i++) {
		struct load_slot *slot = load_slot_at(l, i);
		uint64_t ns;

		if (load_is_over(l)) {
			*iters = i;
			break;
		}
		if (i >= l->window) /* acknowledged long since */
			rc = load_wait(l, load_slot_at(l, i - l->window));
		if (!rc)
			rc = load_post(l, slot, ping);
		if (!rc && p->job.op == JOB_WRITE) {
			rc = wait_pong(p, slot->post_ns);
			if (rc && rc != -EINTR)
				perf_explain(p, slot->out, rc);
			if (rc == -EAGAIN)
				rc = TCPX_ESTALLED;
		} else if (!rc) {
			rc = load_wait(l, slot);
		}
		ns = tool_now_ns() - slot->post_ns;
		if (!rc && stats) {
			load_add_time(stats, p->job.op == JOB_READ ? ns : ns / 2);
			l->done++;
			load_look(l, slot->post_ns + ns);
		}
	}
	for (uint64_t i = *iters < l->window ? 0 : *iters - l->window; !rc && i < *iters; i++)
		rc = load_wait(l, load_slot_at(l, i));
	return rc;
}
