/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that one side gives up, as a deadline of its own does, and applications that then add the peer
 * again: its session may be one that the peer has opened meanwhile. An application hears of the end of a
 * session that serves it, and of what it has sent there the last is lost, never some in between.
 */
#include "sim/sim.h"

#include <errno.h>
#include <stdio.h>

#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/session/twins.h"

#define WITHIN_NS (80 * TCPX_MS)

void
sim_plan_again(struct sim_world *w)
{
	w->again = tcpx_rng_seed(w->seed ^ 0xa6a1);
	w->adds_again = tcpx_rng_below(&w->again, 2);
	for (int i = 0; i < SIM_GIVE_UPS; i++)
		w->give_up_ns[i] = w->adds_again && w->weather == SIM_WILD ?
				   w->begun_ns + tcpx_rng_below(&w->again, WITHIN_NS) : SIM_NEVER;
}

uint64_t
sim_again_next_ns(const struct sim_world *w)
{
	uint64_t next = SIM_NEVER;

	for (int i = 0; i < SIM_GIVE_UPS; i++)
		next = w->give_up_ns[i] < next ? w->give_up_ns[i] : next;
	return next;
}

/* An open session of that engine, with a reference; NULL: none. */
static struct session *
any_session(struct sim_world *w, tcpx_engine *e)
{
	uint64_t skip = tcpx_rng_below(&w->again, 4);
	struct session *s = NULL;

	while ((s = tcpx_session_after(e, s)))
		if (atomic_load(&s->state) == SESS_OPEN && skip-- == 0)
			return s;
	return NULL;
}

/* Half of the time the peer hears of it. */
static void
give_up(struct sim_world *w)
{
	int me = (int)tcpx_rng_below(&w->again, w->engine_count);
	bool silent = tcpx_rng_below(&w->again, 2);
	struct session *s = w->engine[me].closed ? NULL : any_session(w, w->engine[me].engine);

	if (!s)
		return;
	if (w->verbose)
		printf("  %8.3f ms e%d gives its session with %s up\n",
		       (double)(sim_now(w) - w->begun_ns) / TCPX_MS, me, s->peer->name);
	w->totals->given_up++;
	pthread_mutex_lock(&s->lock);
	if (silent)
		tcpx_control_cut(s, sim_now(w), "before it is given up");
	tcpx_session_fail(s, TCPX_ESTALLED, "%s", "given up");
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
}

static bool
is_any(const struct session *s)
{
	(void)s;
	return true;
}

/* A peer that an application holds is gone, or there is a session whose end it hears of. */
static void
look_at(struct sim_world *w, int me, struct tcpx_peer *p)
{
	struct session *s = p->gone || p->out || !p->incarnation ? NULL :
			    tcpx_twins_find(p->engine, p->incarnation, is_any);

	if (!s && !p->gone && !p->out)
		sim_fail(w, "e%d has no session with %s, and does not hear so", w->engine[me].name, p->name);
	if (s)
		tcpx_session_put(s);
}

static bool
has_failed(tcpx_peer *p)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	return tcpx_peer_query(p, &info) == 0 && info.status && info.status != -EAGAIN;
}

void
sim_again(struct sim_world *w)
{
	int n = (int)w->engine_count;

	for (int i = 0; i < SIM_GIVE_UPS; i++)
		if (w->give_up_ns[i] <= sim_now(w)) {
			w->give_up_ns[i] = SIM_NEVER;
			give_up(w);
		}
	for (int i = 0; i < 2 * n * n && !w->failed; i++) {
		int me = i / 2 / n, other = i / 2 % n;
		tcpx_peer *old = w->engine[me].peer[other][i % 2];

		if (!old || w->engine[me].closed || sim_naps(w, me))
			continue;
		look_at(w, me, old);
		if (w->adds_again && !w->engine[other].closed && has_failed(old) &&
		    sim_add(w, me, other, i % 2) == 0) {
			w->engine[me].life[other][i % 2]++;
			w->totals->added_again++;
			tcpx_peer_free(old);
		}
	}
}

uint32_t
sim_peer_life(const struct sim_world *w, int me, int other, const tcpx_peer *p)
{
	const struct sim_engine *e = &w->engine[me];
	int k = e->peer[other][0] != p;

	return 2 * e->life[other][k] + (uint32_t)k;
}

void
sim_again_judge(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->note_count; i++)
		for (uint32_t k = 0; k < w->note_count; k++) {
			const struct sim_note *a = &w->note[i], *b = &w->note[k];

			if (a->from == b->from && a->to == b->to && a->life == b->life && !a->rc && !b->rc &&
			    a->turn < b->turn && !a->seen && b->seen)
				sim_fail(w, "note %u of e%d was lost before note %u, unseen", i, a->from, k);
		}
}
