/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose bytes are compared: both sides fill and poison memory before, and check after. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "measure/perf/load.h"
#include "measure/perf/perf_events.h"
#include "tool/tool.h"

/* Compares the data that arrived here. */
static int
verify_here(struct perf *p, uint64_t seed, uint64_t chunk, struct layout_verdict *total)
{
	int rc = p->args->spoil ? mem_spoil(&p->in, &p->lay.client_in, 0) : 0;

	for (uint64_t d = 0; !rc && d < p->job.depth; d++) {
		struct layout_verdict v = { 0 };

		rc = mem_verify(&p->in, &p->lay.client_in, d, seed + 1, p->job.depth, seed + 2,
				chunk, &v);
		layout_verdict_add(total, &v);
	}
	return rc;
}

/* Fills this side's source, and poisons its destination. */
static int
arm_here(struct perf *p, uint64_t seed)
{
	int rc = 0;

	for (uint64_t d = 0; !rc && d < p->job.depth; d++) {
		if (p->out.len)
			rc = mem_fill(&p->out, &p->lay.client_out, d, pattern_of(seed, d));
		if (!rc && p->out.len && p->args->text)
			rc = mem_put(&p->out, &p->lay.client_out, d, p->args->text,
				     strlen(p->args->text) + 1);
		if (!rc && p->in.len)
			rc = mem_poison(&p->in, &p->lay.client_in, d, seed + 2);
	}
	return rc;
}

/* What the library knows of the first transfer of a run; zeros where it knows nothing. */
static struct tcpx_xfer_info
first_transfer(const struct load *l)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };
	tcpx_xfer *x = l->slot[0].out ? l->slot[0].out : l->slot[0].in;

	if (!x || tcpx_xfer_query(x, &info))
		info = (struct tcpx_xfer_info){ .struct_size = sizeof(info) };
	return info;
}

/* A run of as many transfers as are in flight, with memory of its own. */
static int
checked_run(struct load *l, struct load_stats *stats, uint64_t *wrong)
{
	struct perf *p = l->perf;
	uint64_t seed = (tcpx_clock_now(&tcpx_clock_system) & INT32_MAX) + 1, there = 0;
	struct tcpx_xfer_info moved;
	struct layout_verdict here = { 0 };
	json_t *verdict = NULL;
	int rc = arm_here(p, seed);

	if (!rc)
		rc = perf_tell(p, "arm", json_pack("{s:I}", "seed", (json_int_t)seed), "armed");
	if (!rc)
		rc = load_run(l, p->job.depth, stats, NULL);
	if (rc)
		return rc;
	moved = first_transfer(l);
	rc = perf_ask(p, "verify", json_pack("{s:I, s:I, s:b}", "chunk",
					     (json_int_t)moved.chunk_bytes, "transfer",
					     (json_int_t)moved.id, "spoil", p->args->spoil),
		      "verdict", &verdict);
	if (rc)
		return rc;
	if (p->in.len)
		rc = verify_here(p, seed, moved.chunk_bytes, &here);
	if (!rc)
		rc = job_number(verdict, "wrong", 0, INT64_MAX, &there);
	if (there)
		tool_fail(TOOL_FINDING, "tcpx perf", "%" PRIu64 " wrong bytes at the server: %s",
			  there, job_text(verdict, "text"));
	if (here.wrong)
		tool_fail(TOOL_FINDING, "tcpx perf", "%" PRIu64 " wrong bytes here: %s", here.wrong,
			  here.text);
	events_put(p->events, "verdict", json_pack(
		"{s:I, s:I, s:I, s:s}", "transfer", (json_int_t)moved.id, "wrong",
		(json_int_t)(there + here.wrong), "first",
		there ? json_integer_value(json_object_get(verdict, "first"))
		      : (json_int_t)here.first,
		"text", there ? job_text(verdict, "text") : here.text));
	json_decref(verdict);
	*wrong = there + here.wrong;
	return rc;
}

int
load_check(struct load *l, uint64_t *wrong)
{
	return checked_run(l, NULL, wrong);
}

int
load_each(struct load *l, struct load_stats *stats, uint64_t *wrong)
{
	const struct perf_args *a = l->perf->args;
	bool check = a->check && !l->perf->unchecked;
	uint64_t bad;
	int rc = 0;

	for (uint64_t i = 0; !rc && i < a->warmup + a->iters; i++) {
		struct load_stats *kept = i < a->warmup ? NULL : stats;

		bad = 0;
		rc = check ? checked_run(l, kept, &bad) : load_run(l, 1, kept, NULL);
		*wrong += bad;
	}
	return rc;
}
