/* SPDX-License-Identifier: Apache-2.0 */
/* Notes before the first transfer and after the last acknowledgement give the server the interval. */
#include "measure/perf/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "measure/perf/load_check.h"
#include "measure/perf/events.h"
#include "measure/perf/latency.h"
#include "measure/job/stop.h"
#include "measure/perf/sync.h"

static int
run_window(struct load *l, uint64_t *iters, struct load_stats *stats)
{
	int rc = 0;

	for (uint64_t i = 0; !rc && i < *iters + l->window; i++) {
		struct load_slot *slot;

		if (i >= l->window) {
			slot = load_slot_at(l, i - l->window);
			rc = load_wait(l, slot);
			if (!rc && stats) {
				uint64_t now = tcpx_clock_now(&tcpx_clock_system);

				load_add_time(stats, now - slot->post_ns);
				l->done++;
				load_look(l, now);
			}
		}
		if (i < *iters && load_is_over(l))
			*iters = i;
		if (!rc && i < *iters)
			rc = load_post(l, load_slot_at(l, i), NULL);
	}
	return rc;
}

/* The server's report on the run that has just ended. */
static int
take_ran(struct load *l, struct load_stats *stats, uint64_t *far_ns)
{
	struct perf *p = l->perf;
	struct usage *far;
	json_t *ran;
	int rc = perf_await(p, "ran", p->args->timeout_s * 1000, &ran);

	if (rc)
		return rc;
	far = stats ? malloc(sizeof(*far)) : NULL;
	rc = stats ? -ENOMEM : 0;
	if (far)
		rc = usage_parse(ran, far);
	if (far && !rc) {
		*far_ns = far->now_ns;
		stats->far_ns += far->now_ns;
		usage_add_difference(&stats->far, NULL, far);
	}
	free(far);
	json_decref(ran);
	return rc;
}

/* For --events; before the interval, so that a run that hangs has its line. */
static void
put_begin(struct perf *p, uint64_t iters, bool timed)
{
	if (p->events)
		events_put(p->events, "begin", json_pack("{s:I, s:b, s:I}", "run",
							 (json_int_t)p->runs[timed], "timed", timed,
							 "iters", (json_int_t)iters));
	p->runs[timed]++;
}

/* The rest of a look that has the process's figures already: times that went to and fro since then
 * are not the run's. */
static void
read_rest(struct perf *p, struct usage *u)
{
	uint64_t now_ns = u->now_ns, ctxt_switches = u->ctxt_switches;
	double cpu_s = u->cpu_s;

	usage_read(p->engine, p->peer_name, u);
	u->now_ns = now_ns;
	u->cpu_s = cpu_s;
	u->ctxt_switches = ctxt_switches;
}

int
load_run(struct load *l, uint64_t iters, struct load_stats *stats, uint64_t *ns)
{
	struct perf *p = l->perf;
	struct usage *before = calloc(2, sizeof(*before)), *after = before + 1;
	struct placed here = { 0 };
	const char end = JOB_NOTE_END;
	uint64_t took_ns, far_ns = 0;
	int rc;

	if (!before)
		return -ENOMEM;
	if (perf_stop_asked()) {
		free(before);
		return -EINTR;
	}
	rc = load_fill(l, l->at + iters < l->ring ? l->at + iters : l->ring);
	if (rc) {
		free(before);
		return rc;
	}
	if (stats) /* takes its time: not between "ready" and the first transfer */
		usage_read(p->engine, p->peer_name, before);
	rc = p->sides.placed ? thread_place(&here, p->sides.client) : 0;
	if (!rc)
		rc = perf_tell(p, "run", json_pack("{s:I, s:b, s:I, s:I}", "iters",
						   (json_int_t)iters, "timed", stats != NULL,
						   "slot", (json_int_t)l->at, "ring",
						   (json_int_t)l->ring), "ready");
	if (!rc && stats)
		rc = sync_begin(p);
	if (rc)
		goto free_usage;
	put_begin(p, iters, stats != NULL);
	l->timed = stats != NULL;
	if (l->whole < l->before + iters)
		l->whole = l->before + iters;
	l->done = 0;
	usage_read_process(before);
	if (stats && p->pace)
		pace_run(p->pace, before->now_ns);
	rc = p->job.lat ? lat_run(l, &iters, stats) : run_window(l, &iters, stats);
	usage_read_process(after);
	took_ns = after->now_ns - before->now_ns;
	l->timed = false;
	if (!rc && !iters)
		rc = -EINTR;
	if (!rc)
		rc = stats ? sync_end(p, before->now_ns, after->now_ns)
			   : tcpx_notify(p->peer, &end, 1);
	if (rc)
		goto free_usage;
	if (stats) {
		read_rest(p, after);
		usage_add_difference(&stats->near, before, after);
		stats->ns += took_ns;
		stats->iters += iters;
		l->before += iters;
		if (p->pace)
			pace_run_end(p->pace, before->now_ns + took_ns, iters * load_bytes(l));
	}
	if (ns)
		*ns = took_ns;
	rc = take_ran(l, stats, &far_ns);
	events_put(p->events, "run", json_pack("{s:I, s:I}", "ns", (json_int_t)took_ns, "peer_ns",
					       (json_int_t)far_ns));
free_usage:
	thread_release(&here);
	free(before);
	return rc;
}
