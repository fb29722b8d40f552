/* SPDX-License-Identifier: Apache-2.0 */
/* Rings that are compared one after the other, or the last of a run that does not stop. */
#include "measure/perf/load_measure.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "measure/perf/load_check.h"
#include "tool/tool.h"

enum {
	TAIL = 10,                  /* a run that does not stop: its last tenth is compared */
	RUN_NS = 500 * 1000 * 1000  /* of one of many: a rate that changes is seen soon */
};

int
load_get_ready(struct load *l)
{
	return load_is_one_of_many(l) && load_compares(l) ? load_arm_ring(l, l->ring, &l->seed) : 0;
}

uint64_t
load_iters_for(uint64_t ns, uint64_t one_ns)
{
	uint64_t n = ns / (one_ns ? one_ns : 1);

	return n ? n : 1;
}

/* At most a ring, all of it compared. */
static int
checked_run(struct load *l, uint64_t iters, struct load_stats *stats)
{
	uint64_t seed;
	int rc = load_arm_ring(l, iters, &seed);

	if (!rc)
		rc = load_run(l, iters, stats, NULL);
	return rc ? rc : load_compare_ring(l, 0, iters, seed, stats);
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
	if (!load_compares(l))
		return load_run(l, iters, stats, NULL);
	if (load_is_one_of_many(l)) { /* at the end each slot has the last transfer that used it */
		rc = load_run(l, iters, stats, NULL);
		return rc ? rc : load_compare_ring(l, 0, tool_min(iters, l->ring), l->seed, stats);
	}
	if (l->perf->args->lat)
		before = iters - tool_min(iters, tool_max(l->ring, iters / TAIL));
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
	rc = load_arm_ring(l, l->ring, &t->seed);
	t->armed = !rc;
	t->until += tcpx_clock_now(&tcpx_clock_system) - now;
	return rc;
}

static int
end_ring(struct timed *t)
{
	struct load *l = t->load;
	uint64_t now = tcpx_clock_now(&tcpx_clock_system), slots = tool_min(t->used, l->ring);
	int rc = t->armed && slots ? load_compare_ring(l, 0, slots, t->seed, t->stats) : 0;

	l->at = t->used = 0;
	t->armed = false;
	t->until += tcpx_clock_now(&tcpx_clock_system) - now;
	return rc;
}

static int
run_some(struct timed *t, uint64_t left)
{
	struct load *l = t->load;
	uint64_t iters = load_iters_for(tool_min(left, RUN_NS), t->one_ns), took_ns;
	bool bounded = t->armed && !load_is_one_of_many(l);
	int rc;

	if (bounded)
		iters = tool_min(iters, l->ring - t->used);
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
	bool many = load_is_one_of_many(l) && load_compares(l);
	struct timed t = { l, stats, now + ns, one_ns, ns / TAIL, 0, many, l->seed };
	int rc = 0;

	l->at = l->before = 0;
	for (; !rc && (now = tcpx_clock_now(&tcpx_clock_system)) + t.one_ns / 2 < t.until;) {
		uint64_t left = t.until - now, tail = tool_max(t.tail_ns, l->ring * t.one_ns);

		if (load_compares(l) && !t.armed && left <= tail)
			rc = begin_ring(&t, now);
		else if (load_compares(l) && !t.armed)
			left -= tail;
		if (!rc)
			rc = run_some(&t, left);
	}
	if (!rc)
		rc = end_ring(&t);
	if (!rc && load_compares(l) && !stats->compared) /* it took longer than was to be expected */
		rc = checked_run(l, tool_min(l->ring, load_iters_for(t.tail_ns, t.one_ns)), stats);
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

		if (load_compares(l))
			rc = load_arm_ring(l, 1, &seed);
		if (!rc)
			rc = load_run(l, 1, timed ? stats : NULL, NULL);
		if (!rc && load_compares(l))
			rc = load_compare_ring(l, 0, 1, seed, timed ? stats : warm);
	}
	if (warm)
		stats->wrong += warm->wrong;
	free(warm);
	return rc;
}
