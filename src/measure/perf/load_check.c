/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides fill and compare while the clock stands. */
#include "measure/perf/load_check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "measure/perf/events.h"
#include "measure/job/stop.h"
#include "tool/tool.h"

bool
load_compares(const struct load *l)
{
	return l->perf->args->check && !l->perf->unchecked;
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

int
load_arm_ring(struct load *l, uint64_t slots, uint64_t *seed)
{
	const struct load_side here = ours(l->perf);
	int rc = load_prepare(l, l->at + slots);

	if (!rc)
		rc = load_arm(l->perf, &here, (struct job_slots){ l->at, slots, false }, seed);
	if (!rc && l->filled < l->at + slots)
		l->filled = l->at + slots;
	return rc;
}

int
load_compare_ring(struct load *l, uint64_t slot, uint64_t slots, uint64_t seed, struct load_stats *stats)
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
	rc = load_arm_ring(l, slots - l->filled, &seed);
	l->at = at;
	return rc;
}
