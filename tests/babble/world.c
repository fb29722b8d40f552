/* SPDX-License-Identifier: Apache-2.0 */
/* One world: made, run under virtual time, left by its babblers, and taken apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "babble/babble.h"
#include "core/session/session.h"
#include "sim/accuse.h"

#define QUIET_TURNS 3
#define REST_TURNS  20000 /* in one moment */
#define PATIENT_NS  (30 * TCPX_SEC)
#define AFTER_NS    (120 * TCPX_SEC) /* all has ended so long after the babblers left */

/* ---- making ---- */

static void
plan(struct world *w)
{
	uint64_t delay = babble_between(w, 10000, 500000);
	struct tcpx_fabric_script s = {
		.delay_min_ns = { delay / 2, delay / 2 }, .delay_max_ns = { delay, delay },
		.segment_max = (uint32_t)babble_between(w, 200, 40000),
		.short_ppm = babble_one_in(w, 2) ? 0 : 200000,
	};

	w->ops = babble_one_in(w, 3) ? &tcpx_net_loop_comm :
		 babble_one_in(w, 4) ? &tcpx_net_loop_lend : &tcpx_net_loop;
	w->fabric = tcpx_fabric_new(tcpx_rng_next(&w->rng), &s);
	if (!w->fabric)
		return;
	w->clock = tcpx_fabric_clock(w->fabric);
	w->begun_ns = tcpx_clock_now(w->clock);
	if (babble_one_in(w, 2)) {
		w->secret = (struct tcpx_secret){ .ops = &tcpx_seal_plain_ops, .count = 1 };
		w->secret.lib = plain_seal_open(tcpx_rng_next(&w->rng));
		w->secret.psk[0] = (struct tcpx_seal_psk){ .id = { 1 }, .id_len = 1, .key = { 2 } };
	}
	babble_plan(w);
	w->gpu = (struct tcpx_slow_device){ .clock = w->clock, .seed = w->seed, .full_ppm = 50000,
					    .delay_max_ns = TCPX_MS, .next_ns = BABBLE_NEVER };
	if (w->lanes && w->seed % 2) {
		w->gpu_ops = &tcpx_device_slow;
		w->gpu.range_count = 1;
	}
}

static int
make(struct world *w)
{
	int rc = babble_open_engines(w);

	if (rc == 0 && w->gpu_ops) /* only its device touches it */
		rc = tcpx_fabric_forbid(w->fabric, w->gpu.range[0].addr, w->gpu.range[0].len);
	for (uint32_t i = 0; i < w->babblers && rc == 0; i++)
		rc = babbler_begin(w, (int)i);
	return rc;
}

/* ---- running ---- */

/* Host and guest speak the protocol, whatever the babblers say. */
static void
check_honest(struct world *w, tcpx_engine *e, const tcpx_peer *other)
{
	struct session *s = NULL;

	while (e && (s = tcpx_session_after(e, s)))
		if (s->peer == other && s->state == SESS_FAILED && code_accuses(s->cause))
			babble_fail(w, "an honest peer is accused: %s", s->cause_text);
}

static void
turn(struct world *w)
{
	for (uint32_t i = 0; i < w->babblers && !w->gone; i++)
		babbler_do(&w->babbler[i]);
	tcpx_engine_step(w->host);
	if (w->guest)
		tcpx_engine_step(w->guest);
	check_honest(w, w->host, w->to_guest);
	check_honest(w, w->guest, w->to_host);
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
next_ns(struct world *w)
{
	uint64_t now_ns = tcpx_fabric_now(w->fabric), next = tcpx_fabric_next_ns(w->fabric);

	next = least(next, tcpx_engine_timer(w->host));
	if (w->guest)
		next = least(next, tcpx_engine_timer(w->guest));
	next = least(next, babble_host_next_ns(w));
	next = least(next, w->gpu.next_ns);
	for (uint32_t i = 0; i < w->babblers && !w->gone; i++)
		next = least(next, w->babbler[i].next_ns > now_ns ? w->babbler[i].next_ns : BABBLE_NEVER);
	return next > now_ns ? next : now_ns + 1000;
}

/* Does all that can be done now, and moves the time to when there is more. */
static void
step(struct world *w)
{
	uint64_t seen;
	uint32_t quiet, turns = 0;

	babble_host_do(w);
	for (quiet = 0; quiet < QUIET_TURNS && !w->failed; quiet++) {
		seen = tcpx_fabric_activity(w->fabric);
		turn(w);
		if (tcpx_fabric_activity(w->fabric) != seen)
			quiet = 0;
		if (++turns > REST_TURNS)
			babble_fail(w, "no rest after %u turns", turns);
	}
	babble_check_quotas(w);
	tcpx_fabric_advance(w->fabric, next_ns(w));
}

/* Sessions of the host with others than the guest. */
static uint32_t
strangers(struct world *w)
{
	struct session *s = NULL;
	uint32_t n = 0;

	while ((s = tcpx_session_after(w->host, s)))
		n += s->peer != w->to_guest;
	return n;
}

static void
run(struct world *w)
{
	uint64_t end_ns = tcpx_fabric_now(w->fabric) + w->talk_ns;

	while (!w->failed && tcpx_fabric_now(w->fabric) < end_ns)
		step(w);
	w->gone = true;
	for (uint32_t i = 0; i < w->babblers; i++)
		babbler_end(&w->babbler[i]);
	end_ns = tcpx_fabric_now(w->fabric) + AFTER_NS;
	while (!w->failed && (!babble_host_ended(w) || strangers(w))) {
		if (tcpx_fabric_now(w->fabric) > end_ns)
			babble_fail(w, "%u sessions and some transfers are left behind", strangers(w));
		step(w); /* to the end of time, if nothing is due */
	}
}

/* The guest leaves, too: then nothing is kept for anybody. */
static void
empty(struct world *w)
{
	uint64_t end_ns = tcpx_fabric_now(w->fabric) + AFTER_NS;

	tcpx_close(w->guest);
	w->guest = NULL;
	w->notes_taken = true;
	while (!w->failed && (tcpx_quota_used(&w->host->kept) || w->host->registry.session_count)) {
		if (tcpx_fabric_now(w->fabric) > end_ns)
			babble_fail(w, "%llu bytes, %u sessions are kept for nobody",
				    (unsigned long long)tcpx_quota_used(&w->host->kept),
				    w->host->registry.session_count);
		step(w);
	}
}

/* Those of the engines: babblers break other rules on purpose. */
static void
check_rules(struct world *w)
{
	const char *first = tcpx_fabric_violation(w->fabric);

	if (tcpx_fabric_violations(w->fabric) && !strstr(first, "on two channels") &&
	    strncmp(first, "comm: ", 6) != 0 && strncmp(first, "ack ", 4) != 0)
		babble_fail(w, "%u rules broken, first: %s", tcpx_fabric_violations(w->fabric), first);
}

static void
take_apart(struct world *w, bool made)
{
	for (uint32_t i = 0; i < w->babblers; i++)
		babbler_end(&w->babbler[i]);
	if (made) {
		babble_host_end(w);
		if (!w->failed)
			empty(w);
	}
	tcpx_close(w->guest);
	tcpx_close(w->host);
	check_rules(w);
	free(w->mem[0]);
	free(w->mem[1]);
	free(w->shared);
	free(w->lane_mem);
	tcpx_fabric_free(w->fabric);
	plain_seal_close(w->secret.lib);
}

bool
babble_world(uint64_t seed, bool verbose, struct babble_totals *totals)
{
	struct world *w = calloc(1, sizeof(*w));
	bool ok;
	int rc;

	if (!w)
		return false;
	w->seed = seed;
	w->rng = tcpx_rng_seed(seed);
	w->verbose = verbose;
	w->totals = totals;
	w->told = &w->told_here;
	w->patient_ns = PATIENT_NS;
	plan(w);
	if (!w->fabric) {
		free(w);
		return false;
	}
	rc = make(w);
	if (rc)
		babble_fail(w, "cannot begin: %s", tcpx_strerror_name(rc));
	else
		run(w);
	take_apart(w, rc == 0);
	totals->worlds++;
	ok = !w->failed;
	free(w);
	return ok;
}
