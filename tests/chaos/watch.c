/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outcomes are judged a second late: by then a process that did not run has said so.
 */
#include "chaos/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "chaos/fault.h"
#include "tool/tool.h"

enum {
	LATE_NS = 300 * 1000000,  /* without a beat: the process does not run */
	SCAN_NS = 100 * 1000000,
};

void
chaos_finding(struct chaos_run *r, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	n = snprintf(text, sizeof(text), "%.3f s: ",
		     (double)(tcpx_clock_now(&tcpx_clock_system) - r->start_ns) / 1e9);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	tool_progress_clear();
	tool_fail(0, CHAOS_COMMAND, "%s", text);
	json_array_append_new(r->findings, json_string(text));
}

static void
count_code(struct chaos_run *r, int code)
{
	for (unsigned i = 0; i < CHAOS_CODES; i++) {
		if (r->codes[i].count && r->codes[i].code != code)
			continue;
		r->codes[i].code = code;
		r->codes[i].count++;
		return;
	}
}

static void
judge_one(struct chaos_run *r, struct chaos_outcome *o)
{
	const char *wrong;

	o->peer_gone_ns = r->child[o->peer].gone_ns[o->peer_life % CHAOS_LIVES];
	wrong = chaos_judge_outcome(&r->judge, o);
	if (o->code)
		count_code(r, o->code);
	if (wrong)
		chaos_finding(r, "%s: %s of h%u with h%u (life %u), %.3f to %.3f s, ended with %s, "
			      "%llu wrong; apart for %.3f s; %s", wrong, chaos_kind_names[o->kind],
			      o->host, o->peer, o->peer_life,
			      ((double)o->posted_ns - (double)r->start_ns) / 1e9,
			      ((double)o->ended_ns - (double)r->start_ns) / 1e9,
			      o->code ? tcpx_strerror_name(o->code) : "success",
			      (unsigned long long)o->wrong,
			      (double)chaos_judge_apart(&r->judge, o->host, o->peer, r->start_ns,
							o->ended_ns) / 1e9, o->text);
}

static void
read_outcomes(struct chaos_run *r, unsigned h, uint64_t now)
{
	struct chaos_host *own = &r->area->host[h];
	struct chaos_child *c = &r->child[h];
	uint64_t there = atomic_load(&own->outcomes);

	if (there - c->outcomes > CHAOS_OUTCOMES) {
		chaos_finding(r, "h%u: %llu outcomes were not judged", h,
			      (unsigned long long)(there - c->outcomes - CHAOS_OUTCOMES));
		c->outcomes = there - CHAOS_OUTCOMES;
	}
	while (c->outcomes < there) {
		struct chaos_outcome o = own->outcome[c->outcomes % CHAOS_OUTCOMES];

		if (o.ended_ns + TCPX_SEC > now)
			return;
		judge_one(r, &o);
		c->outcomes++;
	}
}

static void
read_gaps(struct chaos_run *r, unsigned h)
{
	struct chaos_host *own = &r->area->host[h];
	struct chaos_child *c = &r->child[h];
	uint64_t there = atomic_load(&own->gaps);

	if (there - c->gaps > CHAOS_GAPS)
		c->gaps = there - CHAOS_GAPS;
	for (; c->gaps < there; c->gaps++) {
		struct chaos_gap g = own->gap[c->gaps % CHAOS_GAPS];
		int window = chaos_judge_begin(&r->judge, CHAOS_FREEZE, h, 0, g.from);

		chaos_judge_end(&r->judge, window, g.to);
		if (c->faulty && c->event.fault == CHAOS_FREEZE)
			continue;
		r->gap_count++;
		if (g.to - g.from > r->gap_longest_ns)
			r->gap_longest_ns = g.to - g.from;
	}
}

/* A process that does not run now, though nobody stopped it. */
static void
look_at_beat(struct chaos_run *r, unsigned h, uint64_t now)
{
	struct chaos_host *own = &r->area->host[h];
	struct chaos_child *c = &r->child[h];
	uint64_t beat = atomic_load(&own->beat_ns);

	if (c->starting >= 0 && atomic_load(&own->ready) == atomic_load(&own->life)) {
		chaos_judge_end(&r->judge, c->starting, now);
		c->starting = -1;
	}
	if (c->starting >= 0 || !c->pid || (c->faulty && c->event.fault == CHAOS_FREEZE))
		beat = now;
	if (now > beat + LATE_NS && c->late < 0) {
		c->late = chaos_judge_begin(&r->judge, CHAOS_FREEZE, h, 0, beat);
		c->late_told = false;
	} else if (now <= beat + LATE_NS && c->late >= 0) {
		chaos_judge_end(&r->judge, c->late, now);
		c->late = -1;
	}
	if (c->late >= 0 && !c->late_told && now > beat + chaos_judge_limit(&r->judge)) {
		c->late_told = true;
		chaos_finding(r, "hang: process %d of h%u has not run its loop for %.1f s",
			      (int)c->pid, h, (double)(now - beat) / 1e9);
	}
}

static void
ended(struct chaos_run *r, unsigned h, int status)
{
	struct chaos_child *c = &r->child[h];
	bool killed = c->faulty && c->event.fault == CHAOS_KILL;
	int phase = atomic_load(&r->area->phase);

	c->pid = 0;
	if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	if (WIFSIGNALED(status))
		chaos_finding(r, "process of h%u was ended by signal %d", h, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		chaos_finding(r, "process of h%u ended with exit code %d; %s", h,
			      WEXITSTATUS(status), r->area->host[h].why);
	else if (!c->leave_ns && phase != CHAOS_ENDS)
		chaos_finding(r, "process of h%u ended by itself", h);
	else
		return;
	if (phase == CHAOS_RUNS && !c->leave_ns && json_array_size(r->findings) < CHAOS_FINDINGS_MAX)
		chaos_child_start(r, h);
}

static void
look_at_process(struct chaos_run *r, unsigned h, uint64_t now)
{
	struct chaos_child *c = &r->child[h];
	int status;

	if (c->pid && waitpid(c->pid, &status, WNOHANG) == c->pid)
		ended(r, h, status);
	if (c->pid && c->leave_ns && now > c->leave_ns + 2 * chaos_judge_limit(&r->judge)) {
		chaos_finding(r, "hang: process %d of h%u does not close", (int)c->pid, h);
		kill(c->pid, SIGKILL);
		c->leave_ns = now;
	}
}

/* ---- what lasts too long ----------------------------------------------------------- */

static void
look_at_transfers(struct chaos_run *r, unsigned h, uint64_t now)
{
	struct chaos_host *own = &r->area->host[h];

	for (unsigned i = 0; i < CHAOS_JOBS && r->child[h].pid; i++) {
		struct chaos_pending *p = &own->pending[i];
		uint64_t since = atomic_load(&p->since_ns), from = since;
		uint64_t doomed = atomic_load(&p->doomed_ns);
		unsigned kind = atomic_load(&p->kind), peer = atomic_load(&p->peer);

		if (kind == CHAOS_RECV)
			from = doomed; /* it may wait as long as its session lives */
		if (!since || !from || from > now || r->hang_told[h][i] == since ||
		    !chaos_judge_overdue(&r->judge, h, peer, from, now))
			continue;
		r->hang_told[h][i] = since;
		chaos_finding(r, "hang: %s of h%u with h%u has no end for %.1f s%s",
			      chaos_kind_names[kind % CHAOS_KINDS], h, peer,
			      (double)(now - since) / 1e9, doomed ? ", its session has" : "");
	}
}

static void
look_at_sessions(struct chaos_run *r, unsigned a, uint64_t now)
{
	for (unsigned b = 0; b < r->processes; b++) {
		uint64_t since = atomic_load(&r->area->host[a].down_ns[b]), calm;

		if (b == a)
			continue;
		if (!since || !r->child[a].pid || !r->child[b].pid || since > now) {
			r->down_told[a][b] = false;
			continue;
		}
		if (now - since > r->longest_ns)
			r->longest_ns = now - since;
		calm = chaos_judge_calm_since(&r->judge, a, b, now);
		calm = calm > since ? calm : since;
		if (now - calm > r->calm_longest_ns)
			r->calm_longest_ns = now - calm;
		if (r->down_told[a][b] || !chaos_judge_overdue(&r->judge, a, b, since, now))
			continue;
		r->down_told[a][b] = true;
		chaos_finding(r, "h%u has no session with h%u for %.1f s, %.1f s of them without "
			      "a fault", a, b, (double)(now - since) / 1e9,
			      (double)(now - calm) / 1e9);
	}
}

void
chaos_watch(struct chaos_run *r, uint64_t now)
{
	for (unsigned h = 0; h < r->processes; h++) {
		look_at_process(r, h, now);
		read_gaps(r, h);
		look_at_beat(r, h, now);
	}
	for (unsigned h = 0; h < r->processes; h++)
		read_outcomes(r, h, now);
	if (now - r->scan_ns < SCAN_NS)
		return;
	r->scan_ns = now;
	for (unsigned h = 0; h < r->processes && atomic_load(&r->area->phase) != CHAOS_ENDS; h++) {
		look_at_transfers(r, h, now);
		look_at_sessions(r, h, now);
	}
}

bool
chaos_all_joined(const struct chaos_run *r)
{
	for (unsigned a = 0; a < r->processes; a++) {
		if (!r->child[a].pid || r->child[a].starting >= 0)
			return false;
		for (unsigned b = 0; b < r->processes; b++)
			if (b != a && atomic_load(&r->area->host[a].down_ns[b]))
				return false;
	}
	return true;
}

bool
chaos_all_calm(const struct chaos_run *r)
{
	bool calm = chaos_all_joined(r);

	for (unsigned a = 0; a < r->processes; a++)
		calm = calm && atomic_load(&r->area->host[a].calm);
	return calm;
}
