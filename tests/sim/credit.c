/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The credit of early messages at the end of a world: what a sender has used is what has come at its
 * receiver, and what that counts as kept is kept there.
 */
#include "core/context/context.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/lane_state.h"
#include "proto/eager.h"
#include "sim/sim.h"

/* The other side of a session that stands; NULL: it does not, or not there. */
static struct session *
other_side(struct sim_world *w, const struct session *s)
{
	for (uint32_t i = 0; i < w->engine_count; i++) {
		struct tcpx_engine *e = w->engine[i].closed ? NULL : w->engine[i].engine;

		if (!e)
			continue;
		tcpx_chain_each(n, after, &e->registry.sessions) {
			struct session *t = tcpx_container(n, struct session, in_engine);

			if (t != s && t->id == s->id && t->opener != s->opener && t->state == SESS_OPEN)
				return t;
		}
	}
	return NULL;
}

/* Nothing is on its way from one to the other. */
static bool
is_quiet(const struct session *from, const struct session *to)
{
	return !from->sched.queued_bytes && !from->sched.outstanding_bytes && from->control.line.stream &&
	       to->control.line.stream && !from->control.resuming && !to->control.resuming;
}

/* The costs of what lanes keep that a session still knows. */
static uint64_t
kept_by(const struct session *s)
{
	uint64_t sum = 0;

	tcpx_chain_each(n, after, &s->lanes.all) {
		const struct tcpx_lane *l = tcpx_container(n, struct tcpx_lane, in_session);

		for (int i = 0; !l->sends && i < (int)TCPX_LANE_SLOTS; i++)
			sum += l->kept[i] && !l->kept[i]->comes ? tcpx_eager_cost(l->kept[i]->len) : 0;
	}
	return sum;
}

static void
compare(struct sim_world *w, const struct session *from, const struct session *to)
{
	const struct tcpx_eager_tx *t = &from->lanes.credit;
	const struct tcpx_eager_rx *r = &to->lanes.kept;

	if (!is_quiet(from, to))
		return;
	w->totals->credits++;
	if (t->used != r->used || t->granted > r->granted || r->coming || r->taken > r->used ||
	    r->used - r->taken < kept_by(to))
		sim_fail(w, "credit to %s: used %llu of %llu; there %llu of %llu came, %llu come, %llu of them "
			 "taken, %llu kept", from->peer->name, (unsigned long long)t->used,
			 (unsigned long long)t->granted, (unsigned long long)r->used,
			 (unsigned long long)r->granted, (unsigned long long)r->coming,
			 (unsigned long long)r->taken, (unsigned long long)kept_by(to));
}

void
sim_credit_check(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->engine_count && !w->failed; i++) {
		struct tcpx_engine *e = w->engine[i].closed ? NULL : w->engine[i].engine;

		if (!e)
			continue;
		tcpx_chain_each(n, after, &e->registry.sessions) {
			struct session *s = tcpx_container(n, struct session, in_engine);
			struct session *t = s->state == SESS_OPEN ? other_side(w, s) : NULL;

			if (t)
				compare(w, s, t);
		}
	}
}
