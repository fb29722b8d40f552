/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How engines come to know each other: by blob, by address, or both, so that two dial each other at one
 * time and sessions stand beside sessions; and a process that ends and starts again under its name.
 * Drawn apart, so that the rest of a seed's world does not depend on it.
 */
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "core/session/peer.h"
#include "core/session/session.h"

#define RESTART_NS  (40 * TCPX_MS) /* while there is work */

enum way { BY_BLOB, BY_ADDRESS, BY_BOTH };

void
sim_plan_meeting(struct sim_world *w)
{
	w->meeting = tcpx_rng_seed(w->seed ^ 0x3ee7);
	w->dials = tcpx_rng_below(&w->meeting, 2);
	w->restart_ns = SIM_NEVER;
	if (tcpx_rng_below(&w->meeting, 4))
		return;
	w->restart_ns = w->begun_ns + tcpx_rng_below(&w->meeting, RESTART_NS);
	w->restart_engine = (int)tcpx_rng_below(&w->meeting, w->engine_count);
	if (w->babble && w->restart_engine == 0)
		w->restart_ns = SIM_NEVER;
}

static int
dial(struct sim_world *w, int me, int other)
{
	const struct sim_engine *o = &w->engine[other];
	const struct tcpx_nic *nic = &o->nic[tcpx_rng_below(&w->meeting, o->nic_count)];
	struct tcpx_addr at = nic->addr;
	char text[64];

	w->totals->dials++;
	at.port = tcpx_port(o->engine);
	tcpx_addr_format(&at, text, sizeof(text));
	return tcpx_peer_connect(w->engine[me].engine, text, &w->engine[me].peer[other][1]);
}

static int
add(struct sim_world *w, int me, int other)
{
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	int rc = tcpx_metadata(w->engine[other].engine, blob, &len);

	return rc ? rc : tcpx_peer_add(w->engine[me].engine, blob, len, &w->engine[me].peer[other][0]);
}

int
sim_add(struct sim_world *w, int me, int other, bool dials)
{
	return dials ? dial(w, me, other) : add(w, me, other);
}

/* Adds a peer by address and by blob. The caller does not know yet that they are one: two sessions open at once. */
static int
introduce(struct sim_world *w, int me, int other)
{
	enum way way = w->dials && me != other ? tcpx_rng_below(&w->meeting, 3) : BY_BLOB;
	bool address_first = (w->seed >> (me + other)) % 2;
	struct sim_engine *e = &w->engine[me], *o = &w->engine[other];
	uint8_t blob[4096];
	int rc = 0;

	if (way == BY_ADDRESS || (way == BY_BOTH && address_first))
		rc = dial(w, me, other);
	if (rc == 0 && way != BY_ADDRESS)
		rc = add(w, me, other);
	if (rc == 0 && way == BY_BOTH && !address_first)
		rc = dial(w, me, other);
	for (int i = 0; i < SIM_REGIONS && rc == 0; i++) {
		size_t len = sizeof(blob);

		if (o->region[i].frozen) /* deregistered: transfers with it fail */
			continue;
		rc = tcpx_mem_export(o->engine, o->region[i].id, blob, &len);
		if (rc == 0)
			rc = tcpx_mem_import(e->engine, blob, len, &o->region[i].imported[me]);
	}
	return rc;
}

tcpx_peer *
sim_peer(struct sim_world *w, int me, int other)
{
	tcpx_peer **peer = w->engine[me].peer[other];

	if (peer[0] && peer[1])
		return peer[tcpx_rng_below(&w->meeting, 2)];
	return peer[0] ? peer[0] : peer[1];
}

int
sim_meet(struct sim_world *w, int first)
{
	int n = (int)w->engine_count, rc = 0;

	for (int i = 0; i < n * n && rc == 0; i++)
		if ((i / n >= first || i % n >= first) && !w->engine[i / n].closed &&
		    !w->engine[i % n].closed)
			rc = introduce(w, i / n, i % n);
	return rc;
}

/* One that is being resumed may have ended there, as after a long silence of this process: it asks for that. */
static bool
stands(const struct session *s)
{
	return s->state == SESS_OPEN && s->control.up && !s->control.resuming && !s->control.proving;
}

/* Is another session between the same two open, whichever side has opened it? */
static bool
has_twin(struct tcpx_engine *e, const struct session *s)
{
	bool found = false;

	if (!stands(s) || s->peer->incarnation == e->incarnation)
		return false;
	tcpx_chain_each(n, after, &e->registry.sessions) {
		const struct session *t = tcpx_container(n, struct session, in_engine);

		found |= stands(t) && t != s && t->peer->incarnation == s->peer->incarnation;
	}
	return found;
}

bool
sim_is_engine(const struct sim_world *w, uint64_t incarnation)
{
	for (uint32_t i = 0; i < w->engine_count; i++)
		if (w->engine[i].incarnation == incarnation)
			return true;
	return false;
}

/* Whatever the order in which two engines dial each other, one session is between them. Where control
 * streams break in the handshake there may be two, each used by its opener. */
void
sim_twins_look(struct sim_world *w)
{
	for (uint32_t i = 0; i < w->engine_count && !w->failed; i++) {
		struct tcpx_engine *e = w->engine[i].closed ? NULL : w->engine[i].engine;

		if (!e)
			continue;
		tcpx_chain_each(n, after, &e->registry.sessions) {
			struct session *s = tcpx_container(n, struct session, in_engine);

			if (!sim_is_broken(w) && s->opener && sim_is_engine(w, s->peer->incarnation) &&
			    has_twin(e, s))
				sim_fail(w, "e%d has two sessions with %s", w->engine[i].name,
					 s->peer->name);
		}
	}
}

/* In order, or as kill -9 does it: its connections are reset, and no word of its end goes out. */
void
sim_restart(struct sim_world *w)
{
	int old = w->restart_engine, successor = (int)w->engine_count, rc;

	if (w->restart_ns > sim_now(w))
		return;
	w->restart_ns = SIM_NEVER;
	if (w->engine[old].closed)
		return;
	if (sim_is_broken(w) && tcpx_rng_below(&w->meeting, 2))
		tcpx_fabric_break_all(w->fabric, tcpx_rng_below(&w->meeting, 2));
	if (w->verbose)
		printf("  %8.3f ms e%d starts again\n",
		       (double)(sim_now(w) - w->begun_ns) / TCPX_MS, old);
	sim_work_close_engine(w, old);
	w->engine_count++;
	w->totals->restarts++;
	rc = sim_open_engine(w, successor, old);
	if (rc == 0)
		rc = sim_memory_open(w, successor);
	if (rc == 0)
		rc = sim_meet(w, successor);
	if (rc)
		sim_fail(w, "e%d cannot start again: %s", old, tcpx_strerror_name(rc));
	else
		sim_plan_more(w, successor);
}
