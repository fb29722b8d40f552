/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that get no CPU for a while, shorter than any deadline for a process: one, several at
 * once, one after another. Drawn apart, so that the rest of a seed's world does not depend on it.
 */
#include "sim/sim.h"

#define FIRST_NS   (60 * TCPX_MS) /* while there is work */
#define LONGEST_NS (9 * TCPX_SEC) /* of TCPX_STALL_MS = 10 s */
#define AWAKE_NS   (3 * TCPX_SEC)

/* In turn, and between the rounds all are awake for long enough to answer each other. */
static void
plan_in_turn(struct sim_world *w, struct tcpx_rng *rng, uint32_t first, uint64_t longest)
{
	uint64_t from = w->begun_ns + tcpx_rng_below(rng, FIRST_NS);

	for (uint32_t i = first; i < SIM_NAPS; i++) {
		struct sim_nap *n = &w->nap[i];

		if (i > first && (i - first) % w->engine_count == 0)
			from += AWAKE_NS;
		n->engine = (int)(i % w->engine_count);
		n->from_ns = from;
		n->to_ns = from + 1 + tcpx_rng_below(rng, longest);
		from = n->to_ns + tcpx_rng_below(rng, 5 * TCPX_MS);
	}
}

void
sim_plan_naps(struct sim_world *w)
{
	struct tcpx_rng rng = tcpx_rng_seed(w->seed ^ 0x9a95);
	uint64_t longest = tcpx_rng_below(&rng, 3) ? LONGEST_NS : 3 * TCPX_SEC;
	uint32_t first = (uint32_t)tcpx_rng_below(&rng, SIM_NAPS);

	for (uint32_t i = 0; i < SIM_NAPS; i++)
		w->nap[i].from_ns = w->nap[i].to_ns = SIM_NEVER;
	if (w->babble || tcpx_rng_below(&rng, 3))
		return;
	/* the handshake's deadlines are those of a peer that may be none: they are no part of this */
	sim_setting(w, "TCPX_HANDSHAKE_MS", 60000);
	sim_setting(w, "TCPX_CONNECT_MS", 60000);
	w->totals->naps += SIM_NAPS - first;
	if (tcpx_rng_below(&rng, 2)) {
		plan_in_turn(w, &rng, first, longest);
		return;
	}
	for (uint32_t i = first; i < SIM_NAPS; i++) {
		struct sim_nap *n = &w->nap[i];

		n->engine = (int)tcpx_rng_below(&rng, w->engine_count);
		n->from_ns = w->begun_ns + tcpx_rng_below(&rng, FIRST_NS);
		n->to_ns = n->from_ns + 1 + tcpx_rng_below(&rng, longest);
	}
}

/* Who sleeps posts nothing: its application does that first of all, once it is awake. */
static void
delay(const struct sim_world *w, int engine, uint64_t *at_ns)
{
	for (uint32_t i = 0; i < SIM_NAPS; i++)
		for (uint32_t k = 0; k < SIM_NAPS; k++) /* naps of one may meet */
			if (w->nap[k].engine == engine && w->nap[k].from_ns <= *at_ns &&
			    *at_ns < w->nap[k].to_ns)
				*at_ns = w->nap[k].to_ns;
}

void
sim_naps_delay(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < 2; h++) {
			struct sim_xfer *x = &w->xfer[i];
			int engine = h || x->op == TCPX_OP_READ ? x->dst.engine : x->src.engine;

			delay(w, engine, &x->handle[h].post_ns);
			delay(w, engine, &x->handle[h].kill_ns);
		}
	for (uint32_t i = 0; i < w->note_count; i++)
		delay(w, w->note[i].from, &w->note[i].post_ns);
	delay(w, w->deregister_engine, &w->deregister_ns);
	delay(w, w->close_engine, &w->close_ns);
}

bool
sim_naps(const struct sim_world *w, int engine)
{
	uint64_t now = sim_now(w);

	for (uint32_t i = 0; i < SIM_NAPS; i++)
		if (w->nap[i].engine == engine && w->nap[i].from_ns <= now && now < w->nap[i].to_ns)
			return true;
	return false;
}

uint64_t
sim_naps_next_ns(const struct sim_world *w)
{
	uint64_t now = sim_now(w), next = SIM_NEVER;

	for (uint32_t i = 0; i < SIM_NAPS; i++) {
		const struct sim_nap *n = &w->nap[i];
		uint64_t t = n->from_ns > now ? n->from_ns : n->to_ns;

		if (t > now && t < next)
			next = t;
	}
	return next;
}
