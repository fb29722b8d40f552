/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a world's lanes, and their memory. */
#include <stdlib.h>

#include "proto/eager.h"
#include "sim/babble/babble.h"

enum { TX, RX };

#define BYTES_MAX (200u << 10) /* of one lane */
#define EARLY_MAX (800u << 10) /* ... whose messages come before their receives */

/* @early: perhaps of one that a channel carries before its receive. */
static uint32_t
plan_length(struct sim_world *w, bool early)
{
	if (early && !sim_one_in(w, 4))
		return (uint32_t)sim_between(w, TCPX_EAGER_FRAME, TCPX_EAGER_MOST + 1);
	if (sim_one_in(w, 16)) /* in a frame, if the memory may be lent */
		return (uint32_t)sim_between(w, TCPX_EAGER_MOST, TCPX_LANE_DATA_MAX + 1);
	switch (sim_between(w, 0, 7)) {
	case 0:
		return (uint32_t)sim_between(w, 0, 1);
	case 1 ... 3:
		return (uint32_t)sim_between(w, 2, 300);
	case 4:
		return (uint32_t)(4096 * sim_between(w, 1, 4) + sim_between(w, 0, 2) - 1);
	case 5:
		return (uint32_t)((64 << 10) + sim_between(w, 0, 2) - 1);
	default:
		return (uint32_t)sim_between(w, 300, 40000);
	}
}

static void
plan_handle(struct sim_world *w, struct sim_handle *h, uint64_t both_ns, uint32_t one_in)
{
	h->watched = !sim_one_in(w, 4);
	h->watch_again = sim_one_in(w, 4);
	if (!sim_one_in(w, one_in) || !w->fabric)
		return;
	h->kill = sim_one_in(w, 2) ? SIM_CANCEL : SIM_FREE;
	h->kill_ns = both_ns + sim_between(w, 0, 4 * TCPX_MS); /* perhaps while it is under way */
}

static void
plan_messages(struct sim_world *w, struct sim_lane *l)
{
	uint32_t most = sim_one_in(w, 4) ? SIM_MESSAGES : 20, at[2] = { 0 };
	uint32_t count = (uint32_t)sim_between(w, 1, most), kills = sim_one_in(w, 3) ? 12 : 10000;
	bool at_once = sim_one_in(w, 3), early = sim_one_in(w, 2);
	uint64_t ns[2] = { l->end[TX].open_ns, l->end[RX].open_ns };

	if (early) { /* receives are later than their sends */
		at_once = false;
		count = count < 20 ? count : 20;
		ns[RX] = (ns[TX] > ns[RX] ? ns[TX] : ns[RX]) + sim_between(w, 0, 4 * TCPX_MS);
	}

	for (; l->count < count && at[TX] < (early ? EARLY_MAX : BYTES_MAX); l->count++) {
		struct sim_message *m = &l->message[l->count];

		m->len = plan_length(w, early);
		m->room = m->len + (sim_one_in(w, 3) ? (uint32_t)sim_between(w, 0, 5000) : 0);
		if (m->len && sim_one_in(w, 300)) {
			m->room = m->len - 1;
			l->asked = l->left = true; /* by the sender, if it knows of the receive */
		}
		for (int k = 0; k < 2; k++) {
			at[k] += (uint32_t)sim_between(w, 0, 40);
			m->at[k] = at[k];
			at[k] += k == RX ? m->room : m->len;
			ns[k] += at_once ? 0 : sim_between(w, 0, 2 * SIM_WORK_NS / count);
			m->handle[k].post_ns = ns[k];
		}
		for (int k = 0; k < 2; k++)
			plan_handle(w, &m->handle[k], ns[TX] > ns[RX] ? ns[TX] : ns[RX], kills);
	}
	for (int k = 0; k < 2; k++)
		l->end[k].bytes = at[k] + 8;
}

/* Only its device touches it. */
static void
give_to_gpu(struct sim_world *w, const struct sim_end *e)
{
	struct tcpx_slow_device *gpu = &w->engine[e->engine].gpu;

	if (gpu->range_count == SLOW_RANGES)
		return;
	gpu->range[gpu->range_count].addr = e->mem;
	gpu->range[gpu->range_count].len = e->bytes;
	gpu->range[gpu->range_count++].place = (int)sim_between(w, 3, 4);
	tcpx_fabric_forbid(w->fabric, e->mem, e->bytes);
}

static void
plan_memory(struct sim_world *w, struct sim_end *e)
{
	const struct sim_engine *owner = &w->engine[e->engine];
	int rc;

	e->mem = malloc(e->bytes);
	e->orig = malloc(e->bytes);
	if (!e->mem || !e->orig) {
		sim_fail(w, "no memory for a lane");
		return;
	}
	for (uint32_t i = 0; i < e->bytes; i++)
		e->mem[i] = e->orig[i] = (uint8_t)sim_between(w, 0, 255);
	if ((owner->gpu_src || owner->gpu_dst) && sim_one_in(w, 2))
		give_to_gpu(w, e);
	rc = tcpx_mem_register(owner->engine, e->mem, e->bytes,
			       owner->lends ? TCPX_MEM_LEND : TCPX_MEM_LOCAL, &e->region);
	if (rc)
		sim_fail(w, "the memory of a lane is not taken: %s", tcpx_strerror_name(rc));
}

static void
plan_lane(struct sim_world *w, struct sim_lane *l)
{
	for (int k = 0; k < 2; k++) {
		struct sim_end *e = &l->end[k];

		e->engine = (int)sim_between(w, 0, w->engine_count - 1);
		e->open_ns = w->begun_ns + sim_between(w, 0, w->work_ns / 2);
		e->close_ns = sim_one_in(w, 4) ? w->begun_ns + sim_between(w, 0, 4 * SIM_WORK_NS) : SIM_NEVER;
		e->hasty = sim_one_in(w, 3);
		e->deregister_ns = sim_one_in(w, 12) ? w->begun_ns + sim_between(w, 0, 2 * SIM_WORK_NS)
						     : SIM_NEVER;
	}
	l->stray = sim_one_in(w, 16);
	l->asked = l->stray || w->ops->comm;
	plan_messages(w, l);
	l->weight = (uint32_t)sim_between(w, 1, TCPX_LANE_WEIGHT_MAX);
	for (int k = 0; k < 2; k++)
		plan_memory(w, &l->end[k]);
}

/* Plans a lane between the host and a babbler, at some time of the talk. */
static void
plan_babbled(struct sim_world *w, struct sim_lane *l)
{
	int k = sim_one_in(w, 2) ? TX : RX;
	struct sim_end *e = &l->end[k];

	e->open_ns = w->begun_ns + sim_between(w, 0, w->work_ns);
	e->close_ns = e->open_ns + sim_between(w, 0, 100 * TCPX_MS);
	e->deregister_ns = SIM_NEVER;
	l->end[!k] = *e;
	l->end[!k].engine = SIM_NOBODY;
	l->end[!k].opened = l->end[!k].over = true;
	l->end[!k].close_ns = SIM_NEVER;
	l->asked = l->left = true;
	plan_messages(w, l);
	l->weight = (uint32_t)sim_between(w, 1, TCPX_LANE_WEIGHT_MAX);
	plan_memory(w, e);
}

void
sim_lanes_plan(struct sim_world *w)
{
	struct tcpx_rng rest = w->rng; /* the rest of a seed's world does not depend on lanes */

	w->rng = tcpx_rng_seed(w->seed ^ 0x1a4e5);
	w->lane_count = sim_one_in(w, 2) && w->fabric ? (uint32_t)sim_between(w, 1, SIM_LANES) : 0;
	for (uint32_t i = 0; i < w->lane_count; i++)
		plan_lane(w, &w->lane[i]);
	for (int i = 0; i < SIM_BABBLED && w->babble && w->babble->lanes; i++)
		plan_babbled(w, &w->lane[w->lane_count++]);
	w->rng = rest;
}

void
sim_lanes_free(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->lane_count; i++)
		for (int k = 0; k < 2; k++) {
			free(w->lane[i].end[k].mem);
			free(w->lane[i].end[k].orig);
		}
}
