/* SPDX-License-Identifier: Apache-2.0 */
/* The ring's slots are waited for in the order in which they were posted. */
#include "measure/perf/load_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/perf/bound.h"
#include "measure/job/stop.h"
#include "tool/tool.h"

enum {
	SPIN_LOOK = 4096,
	WAIT_MS = 100,               /* between two looks whether an end was asked for */
	LAP_NS = 5 * 1000 * 1000,    /* of a ring: small enough for caches, and compared and
				      * filled before an idle connection starts small again */
	LAP_MIN = 16,                /* but so many transfers,                     */
	LAP_WINDOWS = 8,             /* and so many times what is in flight, or    */
	LAP_WINDOWS_SMALL = 64,      /* of small ones, whose way up and down takes its time, */
	LAP_BYTES = 16 << 20,        /* within these                               */
	LAT_SLOTS = 256
};

uint64_t
load_bytes(const struct load *l)
{
	return l->perf->at.size * (l->perf->job.bi ? 2 : 1);
}

/* A prepared list over one layout. */
static int
add_list(struct load *l, const struct layout *layout, const struct regions *regions,
	 uint64_t slot, tcpx_list **list)
{
	struct tcpx_desc *desc = calloc(layout->count, sizeof(*desc));
	int rc;

	if (!desc)
		return -ENOMEM;
	regions_descs(regions, layout, slot, desc);
	rc = tcpx_list_prepare(l->perf->engine, desc, layout->count, list);
	free(desc);
	return rc;
}

/* @list[2] gets both lists of the transfer. */
static int
prepare(struct load *l, enum tcpx_op op, const struct layout *near,
	const struct regions *near_regions, const struct layout *far,
	const struct regions *far_regions, uint64_t slot, tcpx_list **list, tcpx_xfer **xfer)
{
	int rc = add_list(l, near, near_regions, slot, &list[0]);

	if (!rc)
		rc = add_list(l, far, far_regions, slot, &list[1]);
	if (!rc)
		rc = tcpx_xfer_prepare(l->perf->peer, op, list[0], list[1], xfer);
	return rc;
}

int
load_prepare(struct load *l, uint64_t slots)
{
	struct perf *p = l->perf;
	const struct job *job = &p->job;
	int rc = 0;

	for (; !rc && !job_is_met(job) && l->ready < slots; l->ready += !rc) {
		struct load_slot *slot = &l->slot[l->ready];

		if (job_has_out(job))
			rc = prepare(l, TCPX_OP_WRITE, &p->lay.client_out, &p->out.regions,
				     &p->lay.server_out, &p->far_out, l->ready, slot->list,
				     &slot->out);
		if (!rc && job_has_in(job) && !(job->lat && job->op == JOB_WRITE))
			rc = prepare(l, TCPX_OP_READ, &p->lay.client_in, &p->in.regions,
				     &p->lay.server_in, &p->far_in, l->ready, slot->list + 2,
				     &slot->in);
	}
	return rc;
}

bool
load_is_one_of_many(const struct load *l)
{
	return l->perf->args->gate_fd >= 0 && !l->perf->args->baseline;
}

void
load_set_ring(struct load *l, uint64_t one_ns, uint64_t iters)
{
	uint64_t slots = tool_min(l->most, iters ? iters : l->most);
	uint64_t lap = tool_max(tool_max(LAP_MIN, LAP_WINDOWS * l->window),
			       tool_min(LAP_WINDOWS_SMALL * l->window,
				       LAP_BYTES / l->perf->lay.span));

	if (one_ns)
		lap = tool_max(lap, LAP_NS / one_ns);
	if (l->perf->args->lat)
		lap = LAT_SLOTS;
	if (!load_is_one_of_many(l) && (one_ns || l->perf->args->lat))
		slots = tool_min(slots, lap);
	l->ring = slots > l->window ? slots : l->window;
	l->at = l->before = l->whole = 0;
}

int
load_open(struct load *l, struct perf *p)
{
	uint64_t most = p->slots;

	if (p->out.parts && mem_slots(&p->out, p->lay.span) < most)
		most = mem_slots(&p->out, p->lay.span);
	if (p->in.parts && mem_slots(&p->in, p->lay.span) < most)
		most = mem_slots(&p->in, p->lay.span);
	*l = (struct load){ .perf = p, .most = most, .window = job_slots_least(&p->job),
			    .slot = calloc(most, sizeof(*l->slot)) };
	if (!l->slot)
		return -ENOMEM;
	load_set_ring(l, 0, l->window);
	return 0;
}

void
load_close(struct load *l)
{
	for (uint64_t d = 0; d < l->most; d++) {
		struct load_slot *slot = &l->slot[d];

		tcpx_xfer_free(slot->out);
		tcpx_xfer_free(slot->in);
		for (int i = 0; i < 4; i++)
			if (slot->list[i])
				tcpx_list_free(slot->list[i]);
	}
	free(l->slot);
	*l = (struct load){ 0 };
}

struct load_slot *
load_slot_at(struct load *l, uint64_t i)
{
	return &l->slot[(l->at + i) % l->ring];
}

/* SEND and RECV are matched by tag: the slot's number. */
static int
post_sendrecv(struct load *l, struct load_slot *slot)
{
	struct perf *p = l->perf;
	uint64_t d = (uint64_t)(slot - l->slot);
	const struct layout *in = &p->lay.client_in, *out = &p->lay.client_out;
	struct tcpx_desc *desc = calloc(p->at.descs, sizeof(*desc));
	int rc = 0;

	if (!desc)
		return -ENOMEM;
	if (job_has_in(&p->job)) {
		regions_descs(&p->in.regions, in, d, desc);
		rc = tcpx_recv(p->peer, desc, in->count, d, &slot->in);
	}
	if (!rc) {
		regions_descs(&p->out.regions, out, d, desc);
		rc = tcpx_send(p->peer, desc, out->count, d, &slot->out);
	}
	free(desc);
	return rc;
}

/* The n-th send of a lane meets its n-th receive. */
static int
post_lane(struct load *l, struct load_slot *slot)
{
	struct perf *p = l->perf;
	uint64_t d = (uint64_t)(slot - l->slot);
	int rc = 0;

	if (p->lanes_in.count)
		rc = lanes_post(&p->lanes_in, &p->in.regions, &p->lay.client_in, d, &slot->in);
	return rc ? rc : lanes_post(&p->lanes_out, &p->out.regions, &p->lay.client_out, d,
				    &slot->out);
}

int
load_post(struct load *l, struct load_slot *slot, const char *note)
{
	size_t len = note ? strlen(note) : 0;
	int rc = 0;

	slot->post_ns = tool_now_ns();
	slot->busy = true;
	if (l->perf->job.op == JOB_SENDRECV)
		return post_sendrecv(l, slot);
	if (l->perf->job.op == JOB_LANE)
		return post_lane(l, slot);
	if (slot->out)
		rc = tcpx_xfer_post(slot->out, note, len);
	if (!rc && slot->in)
		rc = tcpx_xfer_post(slot->in, note, len);
	return rc;
}

static uint64_t
bytes_done(tcpx_xfer *xfer)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };

	return xfer && !tcpx_xfer_query(xfer, &info) ? info.bytes_done : 0;
}

void
load_look(struct load *l, uint64_t now_ns)
{
	struct perf *p = l->perf;
	uint64_t bytes;

	if (!l->timed || !p->pace || !pace_due(p->pace, now_ns))
		return;
	bytes = l->done * load_bytes(l);
	for (uint64_t i = 0; i < l->window && !p->job.lat; i++) { /* what is under way */
		const struct load_slot *slot = load_slot_at(l, l->done + i);

		if (slot->busy)
			bytes += bytes_done(slot->out) + bytes_done(slot->in);
	}
	pace_look(p->pace, now_ns, bytes, (double)(l->before + l->done) / (double)l->whole);
}

static int
wait_one(struct load *l, tcpx_xfer *xfer)
{
	bool spin = l->perf->job.spin;
	uint64_t until;
	int rc;

	if (!xfer)
		return 0;
	rc = spin ? tcpx_test(xfer) : tcpx_wait(xfer, WAIT_MS);
	until = tool_now_ns() + l->perf->args->timeout_s * TCPX_SEC;
	for (uint64_t i = 1; rc == -EAGAIN; i++) {
		if (i % SPIN_LOOK == 0 || !spin) {
			uint64_t now = tool_now_ns();

			if (now > perf_stop_limit(until))
				break;
			load_look(l, now);
		}
		rc = spin ? tcpx_test(xfer) : tcpx_wait(xfer, WAIT_MS);
	}
	if (rc == -EAGAIN && perf_stop_asked())
		return -EINTR;
	if (rc)
		perf_explain(l->perf, xfer, rc);
	return rc == -EAGAIN ? TCPX_ESTALLED : rc;
}

int
load_wait(struct load *l, struct load_slot *slot)
{
	int rc;

	if (!slot->busy)
		return 0;
	rc = wait_one(l, slot->out);
	if (!rc)
		rc = wait_one(l, slot->in);
	slot->busy = false;
	if (job_is_met(&l->perf->job)) {
		tcpx_xfer_free(slot->out);
		tcpx_xfer_free(slot->in);
		slot->out = slot->in = NULL;
	}
	return rc;
}

void
load_add_time(struct load_stats *stats, uint64_t ns)
{
	double us = (double)ns / 1000;

	tcpx_hist_add(&stats->hist, ns);
	stats->sum_us += us;
	stats->square_us += us * us;
}

bool
load_is_over(const struct load *l)
{
	return perf_stop_asked() && !job_is_met(&l->perf->job);
}
