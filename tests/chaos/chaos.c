/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run: a lab, processes, faults by the plan, and at the end a time without faults in which
 * every pair must have its session and every transfer its end.
 */
#include "chaos/chaos.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "chaos/fault.h"
#include "chaos/watch.h"
#include "measure/lab/namespace.h"
#include "tool/json_file.h"
#include "tool/tool.h"

enum { TICK_NS = 10 * 1000000 };

static void
hold(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, before);
}

/* Sleeps for a tick; a signal ends the run early, in order. */
static uint64_t
tick(struct chaos_run *r)
{
	const struct timespec time = { .tv_nsec = TICK_NS };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigtimedwait(&set, NULL, &time) > 0)
		r->stopped = true;
	return tcpx_clock_now(&tcpx_clock_system);
}

static int
make_area(struct chaos_run *r)
{
	size_t places = (size_t)r->processes * r->processes * CHAOS_PLACES * CHAOS_BYTES;

	r->area_bytes = sizeof(*r->area) + places;
	r->area = mmap(NULL, r->area_bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->area == MAP_FAILED) {
		r->area = NULL;
		return tool_fail(TOOL_DENIED, CHAOS_COMMAND, "%zu bytes of shared memory: %s",
				 r->area_bytes, strerror(errno));
	}
	r->area->hosts = r->processes;
	r->area->nics = r->nics;
	r->area->seed = r->seed;
	r->area->stall_ms = r->stall_ms;
	return TOOL_OK;
}

static int
start_all(struct chaos_run *r)
{
	char name[64];

	for (unsigned h = 0; h < r->processes; h++) {
		struct chaos_child *c = &r->child[h];
		int ns = lab_ns_open(lab_ns_name(r->lab.name, (int)h, name, sizeof(name)));

		c->starting = c->late = -1;
		c->netlink = ns < 0 ? ns : lab_ns_socket(ns);
		if (ns >= 0)
			close(ns);
		if (c->netlink < 0)
			return tool_fail(TOOL_DENIED, CHAOS_COMMAND, "namespace %s: %s", name,
					 strerror(-c->netlink));
	}
	for (unsigned h = 0; h < r->processes; h++)
		if (chaos_child_start(r, h))
			return TOOL_DENIED;
	return TOOL_OK;
}

static void
end_faults(struct chaos_run *r, uint64_t now, bool all)
{
	for (unsigned h = 0; h < r->processes; h++)
		if (r->child[h].faulty && (all || now >= r->child[h].until_ns))
			chaos_fault_end(r, h);
}

static bool
any_fault(const struct chaos_run *r)
{
	bool any = false;

	for (unsigned h = 0; h < r->processes; h++)
		any = any || r->child[h].faulty;
	return any;
}

static bool
too_bad(const struct chaos_run *r)
{
	return r->stopped || json_array_size(r->findings) >= CHAOS_FINDINGS_MAX;
}

/* The clock of the plan starts when every pair has its session. */
static void
join_all(struct chaos_run *r)
{
	while (!chaos_all_joined(r) && !too_bad(r) && !json_array_size(r->findings))
		chaos_watch(r, tick(r));
	r->start_ns = tcpx_clock_now(&tcpx_clock_system);
}

static void
run_plan(struct chaos_run *r)
{
	uint64_t end = r->start_ns + r->seconds * TCPX_SEC, now = r->start_ns;

	chaos_plan_next(&r->plan, &r->next);
	while (now < end && !too_bad(r)) {
		now = tick(r);
		end_faults(r, now, false);
		while (r->start_ns + r->next.at_ns <= now) {
			if (!chaos_fault_begin(r, &r->next, now))
				r->skipped++;
			chaos_plan_next(&r->plan, &r->next);
		}
		chaos_watch(r, now);
		tool_progress("%.0f of %" PRIu64 " s, %zu findings",
			      (double)(now - r->start_ns) / 1e9, r->seconds,
			      json_array_size(r->findings));
	}
}

/* No more faults: all pairs must find together, and all transfers end. */
static void
settle(struct chaos_run *r)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);
	uint64_t until = now + 3 * chaos_judge_limit(&r->judge);
	bool calm = false;

	atomic_store(&r->area->phase, CHAOS_LAST);
	while (!calm && now < until && !too_bad(r)) {
		end_faults(r, now, true);
		now = tick(r);
		chaos_watch(r, now);
		calm = !any_fault(r) && chaos_all_calm(r);
	}
	/* the last outcomes are judged, too */
	for (until = now + 2 * TCPX_SEC; now < until;) {
		now = tick(r);
		chaos_watch(r, now);
	}
	if (!calm && !r->stopped && !json_array_size(r->findings))
		chaos_finding(r, "not all sessions and transfers came to rest");
}

static void
end_all(struct chaos_run *r)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);
	uint64_t until = now + 2 * chaos_judge_limit(&r->judge);
	bool alive = true;

	if (!r->area)
		return;
	end_faults(r, now, true);
	atomic_store(&r->area->phase, CHAOS_ENDS);
	while (alive) {
		alive = false;
		now = tick(r);
		chaos_watch(r, now);
		for (unsigned h = 0; h < r->processes; h++) {
			struct chaos_child *c = &r->child[h];

			alive = alive || c->pid;
			if (!c->pid || now < until)
				continue;
			chaos_finding(r, "hang: process %d of h%u does not end", (int)c->pid, h);
			kill(c->pid, SIGKILL);
			until = now + chaos_judge_limit(&r->judge);
		}
	}
}

/* ---- the result -------------------------------------------------------------------- */

static json_t *
figures(const struct chaos_run *r)
{
	json_t *done = json_object(), *faults = json_object(), *codes = json_object();
	uint64_t cancelled = 0, bytes = 0;

	for (int k = 0; k < CHAOS_SESSION; k++) {
		uint64_t sum = 0;

		for (unsigned h = 0; h < r->processes; h++)
			sum += atomic_load(&r->area->host[h].done[k]);
		json_object_set_new(done, chaos_kind_names[k], json_integer((json_int_t)sum));
	}
	for (unsigned h = 0; h < r->processes; h++) {
		cancelled += atomic_load(&r->area->host[h].cancelled);
		bytes += atomic_load(&r->area->host[h].bytes);
	}
	for (int f = 0; f < CHAOS_FAULTS; f++)
		json_object_set_new(faults, chaos_fault_names[f], json_integer(r->faults[f]));
	for (unsigned i = 0; i < CHAOS_CODES && r->codes[i].count; i++)
		json_object_set_new(codes, tcpx_strerror_name(r->codes[i].code),
				    json_integer(r->codes[i].count));
	return json_pack("{s:I, s:i, s:i, s:I, s:f, s:o, s:I, s:I, s:o, s:i, s:o, s:f, s:f, s:i, s:f,"
			 " s:O}", "seed", (json_int_t)r->seed, "processes", r->processes, "nics",
			 r->nics, "stall_ms", (json_int_t)r->stall_ms, "seconds",
			 (double)(tcpx_clock_now(&tcpx_clock_system) - r->start_ns) / 1e9,
			 "done", done, "bytes", (json_int_t)bytes, "cancelled",
			 (json_int_t)cancelled, "faults", faults, "faults_skipped", r->skipped,
			 "codes", codes, "no_session_longest_s", (double)r->longest_ns / 1e9,
			 "no_session_after_fault_s", (double)r->calm_longest_ns / 1e9,
			 "not_scheduled", r->gap_count, "not_scheduled_longest_s",
			 (double)r->gap_longest_ns / 1e9, "findings", r->findings);
}

static void
print_members(const char *what, const json_t *object)
{
	const char *key, *comma = "";
	json_t *value;

	printf("%-22s", what);
	json_object_foreach((json_t *)object, key, value) {
		printf("%s%s %lld", comma, key, (long long)json_integer_value(value));
		comma = ", ";
	}
	puts("");
}

static void
print_figures(const struct chaos_run *r, const json_t *f)
{
	printf("seed %" PRIu64 ", %u processes, %u NICs each, stall deadline %.3g s\n", r->seed,
	       r->processes, r->nics, (double)r->stall_ms / 1e3);
	print_members("done and right", json_object_get(f, "done"));
	printf("%-22s%.3f GB\n", "bytes compared",
	       (double)json_integer_value(json_object_get(f, "bytes")) / 1e9);
	print_members("ended with a code", json_object_get(f, "codes"));
	print_members("faults", json_object_get(f, "faults"));
	printf("%-22s%.1f s, after the last fault of the two %.1f s\n", "longest no session",
	       (double)r->longest_ns / 1e9, (double)r->calm_longest_ns / 1e9);
	printf("%-22s%u times, at most %.1f s\n", "a process got no CPU", r->gap_count,
	       (double)r->gap_longest_ns / 1e9);
	printf("%-22s%zu\n", "findings", json_array_size(r->findings));
}

static int
report(struct chaos_run *r)
{
	json_t *f = figures(r);
	int rc = json_array_size(r->findings) ? TOOL_FINDING : TOOL_OK;

	tool_progress_clear();
	if (!r->json || strcmp(r->json, "-"))
		print_figures(r, f);
	if (r->json && tool_json_write("chaos", f, r->json))
		rc = TOOL_FINDING;
	json_decref(f);
	return rc;
}

int
chaos_run(struct chaos_run *r)
{
	sigset_t before;
	int rc, down;

	hold(&before);
	rc = lab_up(&r->lab);
	if (rc)
		goto restore;
	r->findings = json_array();
	chaos_judge_init(&r->judge, r->processes, r->nics, r->stall_ms * TCPX_MS,
			 r->stall_ms * TCPX_MS);
	r->start_ns = tcpx_clock_now(&tcpx_clock_system);
	chaos_plan_init(&r->plan, r->seed, r->processes, r->nics, r->stall_ms * TCPX_MS,
			r->rate_bps);
	rc = make_area(r);
	rc = rc ? rc : start_all(r);
	if (!rc) {
		join_all(r);
		run_plan(r);
		settle(r);
	}
	end_all(r);
	if (!rc)
		rc = report(r);
	for (unsigned h = 0; h < r->processes; h++)
		if (r->child[h].netlink > 0)
			close(r->child[h].netlink);
	if (r->area)
		munmap(r->area, r->area_bytes);
	chaos_judge_fini(&r->judge);
	json_decref(r->findings);
	down = lab_down(r->lab.name);
	rc = rc ? rc : down;
restore:
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}
