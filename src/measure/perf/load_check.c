/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements whose bytes are compared. Each transfer has a slot of the ring, its own pattern in
 * it, and poison where it is to arrive; both sides fill and compare while the clock stands.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/perf/load.h"
#include "measure/perf/perf_events.h"
#include "measure/perf/perf_stop.h"
#include "tool/tool.h"

enum {
	LAP_NS = 5 * 1000 * 1000,    /* of a ring: small enough for caches, and compared and
				      * filled before an idle connection starts small again */
	LAP_MIN = 16,                /* but so many transfers,                     */
	LAP_WINDOWS = 8,             /* and so many times what is in flight, or    */
	LAP_WINDOWS_SMALL = 64,      /* of small ones, whose way up and down takes its time, */
	LAP_BYTES = 16 << 20,        /* within these                               */
	LAT_SLOTS = 256,
	TAIL = 10,                   /* a run that does not stop: its last tenth is compared */
	RUN_NS = 500 * 1000 * 1000   /* of one of many: a rate that changes is seen soon */
};

static uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool
compares(const struct load *l)
{
	return l->perf->args->check && !l->perf->unchecked;
}

/* Others run beside it, and are not to gain from its rests. */
static bool
is_one_of_many(const struct load *l)
{
	return l->perf->args->gate_fd >= 0 && !l->perf->args->baseline;
}

/* Compares the data that arrived here. */
static int
verify_here(struct perf *p, const struct load_side *here, struct job_slots s, uint64_t seed,
	    uint64_t chunk, bool spoil, struct layout_verdict *total)
{
	int rc = spoil ? mem_spoil(here->in, here->in_layout, s.slot) : 0;

	for (uint64_t d = s.slot; !rc && d < s.slot + s.slots; d++) {
		struct layout_verdict v = { 0 };

		rc = mem_verify(here->in, here->in_layout, d, seed + 1, s.slot + s.slots, seed + 2,
				chunk, &v);
		layout_verdict_add(total, &v);
	}
	return rc;
}

/* Fills this side's source, and poisons its destination. */
static int
arm_here(struct perf *p, const struct load_side *here, struct job_slots s, uint64_t seed)
{
	int rc = 0;

	for (uint64_t d = s.slot; !rc && d < s.slot + s.slots; d++) {
		if (here->out)
			rc = mem_fill(here->out, here->out_layout, d, pattern_of(seed, d));
		if (!rc && here->out && p->args->text)
			rc = mem_put(here->out, here->out_layout, d, p->args->text,
				     strlen(p->args->text) + 1);
		if (!rc && here->in)
			rc = mem_poison(here->in, here->in_layout, d, seed + 2);
	}
	return rc;
}

int
load_arm(struct perf *p, const struct load_side *here, struct job_slots s, uint64_t *seed)
{
	json_t *msg = job_slots_format(s);
	int rc;

	*seed = (tcpx_clock_now(&tcpx_clock_system) & INT32_MAX) + 1;
	json_object_set_new(msg, "seed", json_integer((json_int_t)*seed));
	rc = arm_here(p, here, s, *seed);
	if (!rc)
		return perf_tell(p, "arm", msg, "armed");
	json_decref(msg);
	return rc;
}

int
load_compare(struct perf *p, const struct load_side *here, struct job_slots s, uint64_t seed,
	     const struct tcpx_xfer_info *moved, uint64_t *wrong)
{
	bool spoil = p->args->spoil && !s.raw && (p->args->each || !p->spoiled);
	const char *what = s.raw ? " of plain sockets" : "";
	struct layout_verdict at_home = { 0 };
	json_t *verdict = NULL, *msg = job_slots_format(s);
	uint64_t there = 0;
	int rc;

	json_object_update_new(msg, json_pack("{s:I, s:I, s:b}", "chunk",
					      (json_int_t)moved->chunk_bytes, "transfer",
					      (json_int_t)moved->id, "spoil",
					      spoil));
	p->spoiled |= spoil;
	rc = perf_ask(p, "verify", msg, "verdict", &verdict);
	if (rc)
		return rc;
	if (here->in)
		rc = verify_here(p, here, s, seed, moved->chunk_bytes, spoil, &at_home);
	if (!rc)
		rc = job_number(verdict, "wrong", 0, INT64_MAX, &there);
	if (there)
		tool_fail(TOOL_FINDING, "tcpx perf", "%" PRIu64 " wrong bytes%s at the server: %s",
			  there, what, job_text(verdict, "text"));
	if (at_home.wrong)
		tool_fail(TOOL_FINDING, "tcpx perf", "%" PRIu64 " wrong bytes%s here: %s",
			  at_home.wrong, what, at_home.text);
	if (!s.raw)
		events_put(p->events, "verdict", json_pack(
			"{s:I, s:I, s:I, s:s}", "transfer", (json_int_t)moved->id, "wrong",
			(json_int_t)(there + at_home.wrong), "first",
			there ? json_integer_value(json_object_get(verdict, "first"))
			      : (json_int_t)at_home.first,
			"text", there ? job_text(verdict, "text") : at_home.text));
	json_decref(verdict);
	*wrong += there + at_home.wrong;
	return rc;
}

static struct load_side
ours(struct perf *p)
{
	return (struct load_side){ p->out.len ? &p->out : NULL, p->in.len ? &p->in : NULL,
				   &p->lay.client_out, &p->lay.client_in };
}

/* What the library knows of a transfer; zeros where it knows nothing. */
static struct tcpx_xfer_info
look_at(const struct load_slot *slot)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };
	tcpx_xfer *x = slot->out ? slot->out : slot->in;

	if (!x || tcpx_xfer_query(x, &info))
		info = (struct tcpx_xfer_info){ .struct_size = sizeof(info) };
	return info;
}

/* Slots from l->at on get patterns and poison. */
static int
arm(struct load *l, uint64_t slots, uint64_t *seed)
{
	const struct load_side here = ours(l->perf);
	int rc = load_prepare(l, l->at + slots);

	if (!rc)
		rc = load_arm(l->perf, &here, (struct job_slots){ l->at, slots, false }, seed);
	if (!rc && l->filled < l->at + slots)
		l->filled = l->at + slots;
	return rc;
}

/* Compares slots from @slot on. */
static int
compare(struct load *l, uint64_t slot, uint64_t slots, uint64_t seed, struct load_stats *stats)
{
	const struct load_side here = ours(l->perf);
	const struct tcpx_xfer_info moved = look_at(&l->slot[slot]);
	int rc;

	if (perf_stop_asked())
		return -EINTR;
	rc = load_compare(l->perf, &here, (struct job_slots){ slot, slots, false }, seed, &moved,
			  &stats->wrong);
	if (!rc)
		stats->compared += slots;
	return rc;
}

int
load_fill(struct load *l, uint64_t slots)
{
	uint64_t at = l->at, seed;
	int rc;

	if (slots <= l->filled)
		return 0;
	l->at = l->filled;
	rc = arm(l, slots - l->filled, &seed);
	l->at = at;
	return rc;
}

void
load_set_ring(struct load *l, uint64_t one_ns, uint64_t iters)
{
	uint64_t slots = min_u64(l->most, iters ? iters : l->most);
	uint64_t lap = max_u64(max_u64(LAP_MIN, LAP_WINDOWS * l->window),
			       min_u64(LAP_WINDOWS_SMALL * l->window,
				       LAP_BYTES / l->perf->lay.span));

	if (one_ns)
		lap = max_u64(lap, LAP_NS / one_ns);
	if (l->perf->args->lat)
		lap = LAT_SLOTS;
	if (!is_one_of_many(l) && (one_ns || l->perf->args->lat))
		slots = min_u64(slots, lap);
	l->ring = slots > l->window ? slots : l->window;
	l->at = l->before = l->whole = 0;
}

int
load_get_ready(struct load *l)
{
	return is_one_of_many(l) && compares(l) ? arm(l, l->ring, &l->seed) : 0;
}

/* At most a ring, all of it compared. */
static int
checked_run(struct load *l, uint64_t iters, struct load_stats *stats)
{
	uint64_t seed;
	int rc = arm(l, iters, &seed);

	if (!rc)
		rc = load_run(l, iters, stats, NULL);
	return rc ? rc : compare(l, 0, iters, seed, stats);
}

/* Rings of about the same length, so that none is a short one. */
static int
run_laps(struct load *l, uint64_t iters, struct load_stats *stats)
{
	int rc = 0;

	for (uint64_t laps = (iters + l->ring - 1) / l->ring, n; !rc && laps; laps--, iters -= n) {
		n = (iters + laps - 1) / laps;
		rc = checked_run(l, n, stats);
	}
	return rc;
}

int
load_measure(struct load *l, uint64_t iters, struct load_stats *stats)
{
	uint64_t before = 0;
	int rc = 0;

	l->at = l->before = 0;
	l->whole = iters;
	if (!compares(l))
		return load_run(l, iters, stats, NULL);
	if (is_one_of_many(l)) { /* at the end each slot has the last transfer that used it */
		rc = load_run(l, iters, stats, NULL);
		return rc ? rc : compare(l, 0, min_u64(iters, l->ring), l->seed, stats);
	}
	if (l->perf->args->lat)
		before = iters - min_u64(iters, max_u64(l->ring, iters / TAIL));
	if (before)
		rc = load_run(l, before, stats, NULL);
	return rc ? rc : run_laps(l, iters - before, stats);
}

/* A measurement by the clock. */
struct timed {
	struct load *load;
	struct load_stats *stats;
	uint64_t until, one_ns;
	uint64_t tail_ns;       /* before the end, to be compared                  */
	uint64_t used;          /* transfers since l->at was 0                     */
	bool armed;             /* in a ring that will be compared                 */
	uint64_t seed;          /* of it                                           */
};

static int
begin_ring(struct timed *t, uint64_t now)
{
	struct load *l = t->load;
	int rc;

	l->at = t->used = 0;
	rc = arm(l, l->ring, &t->seed);
	t->armed = !rc;
	t->until += tcpx_clock_now(&tcpx_clock_system) - now;
	return rc;
}

static int
end_ring(struct timed *t)
{
	struct load *l = t->load;
	uint64_t now = tcpx_clock_now(&tcpx_clock_system), slots = min_u64(t->used, l->ring);
	int rc = t->armed && slots ? compare(l, 0, slots, t->seed, t->stats) : 0;

	l->at = t->used = 0;
	t->armed = false;
	t->until += tcpx_clock_now(&tcpx_clock_system) - now;
	return rc;
}

static int
run_some(struct timed *t, uint64_t left)
{
	struct load *l = t->load;
	uint64_t iters = load_iters_for(min_u64(left, RUN_NS), t->one_ns), took_ns;
	bool bounded = t->armed && !is_one_of_many(l);
	int rc;

	if (bounded)
		iters = min_u64(iters, l->ring - t->used);
	rc = load_run(l, iters, t->stats, &took_ns);
	if (rc)
		return rc;
	t->one_ns = took_ns / iters;
	t->used += iters;
	l->at = t->used % l->ring;
	return bounded && t->used == l->ring ? end_ring(t) : 0;
}

int
load_measure_for(struct load *l, uint64_t ns, uint64_t one_ns, struct load_stats *stats)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);
	bool many = is_one_of_many(l) && compares(l);
	struct timed t = { l, stats, now + ns, one_ns, ns / TAIL, 0, many, l->seed };
	int rc = 0;

	l->at = l->before = 0;
	for (; !rc && (now = tcpx_clock_now(&tcpx_clock_system)) + t.one_ns / 2 < t.until;) {
		uint64_t left = t.until - now, tail = max_u64(t.tail_ns, l->ring * t.one_ns);

		if (compares(l) && !t.armed && left <= tail)
			rc = begin_ring(&t, now);
		else if (compares(l) && !t.armed)
			left -= tail;
		if (!rc)
			rc = run_some(&t, left);
	}
	if (!rc)
		rc = end_ring(&t);
	if (!rc && compares(l) && !stats->compared) /* it took longer than was to be expected */
		rc = checked_run(l, min_u64(l->ring, load_iters_for(t.tail_ns, t.one_ns)), stats);
	return rc;
}

int
load_each(struct load *l, struct load_stats *stats)
{
	const struct perf_args *a = l->perf->args;
	struct load_stats *warm = calloc(1, sizeof(*warm));
	uint64_t seed;
	int rc = warm ? 0 : -ENOMEM;

	for (uint64_t i = 0; !rc && i < a->warmup + a->iters; i++) {
		bool timed = i >= a->warmup;

		if (compares(l))
			rc = arm(l, 1, &seed);
		if (!rc)
			rc = load_run(l, 1, timed ? stats : NULL, NULL);
		if (!rc && compares(l))
			rc = compare(l, 0, 1, seed, timed ? stats : warm);
	}
	if (warm)
		stats->wrong += warm->wrong;
	free(warm);
	return rc;
}
