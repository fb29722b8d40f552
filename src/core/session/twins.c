/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/twins.h"

#include <string.h>

#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/loop.h"
#include "core/loop/queue.h"
#include "core/session/control.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "proto/twin.h"

#define REST_NS TCPX_SEC /* for a handshake that the peer has begun; a stranger may have */

/* Visits the sessions with peers of that incarnation until one visit is true. 0: of peers that are not
 * known yet. registry.lock and the peer's are held in a visit. */
static void
walk(struct tcpx_engine *e, uint64_t incarnation, bool (*visit)(struct session *, void *), void *arg)
{
	bool done = false;

	pthread_mutex_lock(&e->registry.lock);
	tcpx_chain_each(n, after, peer_bucket(&e->registry, incarnation)) {
		struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_bucket);

		pthread_mutex_lock(&p->lock);
		if (p->incarnation == incarnation) {
			done = done || (p->out && visit(p->out, arg));
			tcpx_chain_each(k, after2, &p->inbound)
				done = done || visit(tcpx_container(k, struct session, in_peer), arg);
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&e->registry.lock);
}

static uint64_t
incarnation_of(const struct session *s)
{
	return s->peer ? s->peer->incarnation : 0;
}

/* Both ends of a session of an engine with itself are of one incarnation, and no twins. */
static bool
has_twins(const struct session *s)
{
	uint64_t incarnation = incarnation_of(s);

	return incarnation && incarnation != s->engine->incarnation;
}

static bool
is_smaller(const struct tcpx_engine *e, uint64_t incarnation)
{
	return e->incarnation < incarnation;
}

static bool
in_handshake(const struct session *s)
{
	return atomic_load(&s->state) < SESS_OPEN;
}

static enum tcpx_stage
stage_of(const struct session *s)
{
	int state = atomic_load(&s->state);

	switch (state) {
	case SESS_FAILED:
		return TCPX_STAGE_NONE;
	case SESS_CONNECTING:
		return TCPX_STAGE_SILENT;
	case SESS_READY:
		return TCPX_STAGE_READY;
	case SESS_OPEN:
		return TCPX_STAGE_OPEN;
	default:
		return TCPX_STAGE_TALKS;
	}
}

struct find {
	bool (*fits)(const struct session *s);
	struct session *found;
};

static bool
find_visit(struct session *s, void *arg)
{
	struct find *f = arg;

	if (!f->fits(s))
		return false;
	tcpx_session_get(s);
	f->found = s;
	return true;
}

struct session *
tcpx_twins_find(struct tcpx_engine *e, uint64_t incarnation, bool (*fits)(const struct session *s))
{
	struct find f = { fits, NULL };

	walk(e, incarnation, find_visit, &f);
	return f.found;
}

struct look {
	const struct session *not;
	const struct tcpx_hello *hello; /* of a peer that is not known by another way */
	bool ours;
	uint64_t now_ns, until_ns;
	bool any;
	enum tcpx_stage most;
	bool stands; /* the connection of that */
};

static bool
live_visit(struct session *s, void *arg)
{
	struct look *look = arg;

	look->any = s != look->not && (s->opener || !look->ours) &&
		    atomic_load(&s->state) != SESS_FAILED;
	return look->any;
}

bool
tcpx_twins_live(const struct session *s, bool ours)
{
	struct look look = { .not = s, .ours = ours };

	if (s->peer->incarnation)
		walk(s->engine, s->peer->incarnation, live_visit, &look);
	return look.any;
}

/* The furthest that stands. */
static bool
stage_visit(struct session *s, void *arg)
{
	struct look *look = arg;
	enum tcpx_stage stage = atomic_load(&s->control.up) ? stage_of(s) : TCPX_STAGE_NONE;

	if (s != look->not && s->opener == look->ours && stage > look->most)
		look->most = stage;
	return false;
}

/* Was this peer dialled by the name, or an address, in HELLO? */
static bool
may_be_of(const struct tcpx_peer *p, const struct tcpx_hello *h)
{
	if (p->named)
		return !strcmp(p->name, h->name);
	for (uint32_t i = 0; i < p->given; i++)
		for (uint32_t k = 0; k < h->nic_count; k++)
			if (p->addr[i].port == h->nic[k].addr.port &&
			    tcpx_addr_same_host(&p->addr[i], &h->nic[k].addr))
				return true;
	return false;
}

static bool
unknown_visit(struct session *s, void *arg)
{
	const struct look *look = arg;

	return may_be_of(s->peer, look->hello) && stage_visit(s, arg);
}

bool
tcpx_twins_keep_hello(struct tcpx_engine *e, const struct tcpx_hello *h)
{
	struct look look = { .hello = h, .ours = true };
	bool smaller = is_smaller(e, h->incarnation);

	if (!smaller) /* another answer would not be used */
		return false;
	walk(e, h->incarnation, stage_visit, &look);
	walk(e, 0, unknown_visit, &look);
	return tcpx_twin_keeps_hello(smaller, look.most, h->expect == e->incarnation);
}

bool
tcpx_twins_let_ready(const struct session *s)
{
	struct look look = { .not = s, .ours = !s->opener };

	if (!has_twins(s))
		return true;
	walk(s->engine, s->peer->incarnation, stage_visit, &look);
	return s->opener ? tcpx_twin_may_ask(look.most) :
			   tcpx_twin_may_answer(is_smaller(s->engine, s->peer->incarnation), look.most);
}

/* The furthest of ours that the peer serves: of two that are dialled at once it welcomes one first. */
static bool
sister_visit(struct session *s, void *arg)
{
	struct look *look = arg;
	int state = atomic_load(&s->state);

	if (s == look->not || !s->opener || state < SESS_WIRING || stage_of(s) < look->most)
		return false;
	look->most = stage_of(s);
	look->stands = atomic_load(&s->control.up);
	return false;
}

static enum tcpx_sisters
sisters(const struct session *s)
{
	struct look look = { .not = s };

	if (incarnation_of(s))
		walk(s->engine, incarnation_of(s), sister_visit, &look);
	return tcpx_sisters_judge(stage_of(s), look.most, look.stands);
}

static bool
rest_visit(struct session *s, void *arg)
{
	struct look *look = arg;

	if (!s->opener && in_handshake(s) && look->now_ns < s->health.start_ns + REST_NS)
		look->until_ns = s->health.start_ns + REST_NS;
	return look->until_ns != 0;
}

uint64_t
tcpx_twins_rest(const struct session *s, uint64_t now_ns)
{
	struct look look = { .now_ns = now_ns };

	if (has_twins(s))
		walk(s->engine, s->peer->incarnation, rest_visit, &look);
	return look.until_ns || sisters(s) == TCPX_SISTERS_PART ? look.until_ns : now_ns + REST_NS;
}

static bool
serves(const struct session *s)
{
	return !s->opener && atomic_load(&s->control.up) && atomic_load(&s->state) == SESS_OPEN;
}

/* Both locks held: that of the older stage first. */
static void
move(struct session *s, struct session *to)
{
	struct tcpx_peer *p = s->peer;

	tcpx_notes_move(s, to);
	s->engine->up.session->move(s, to);
	pthread_mutex_lock(&p->lock);
	p->out = NULL; /* from here on posts find the other */
	p->served = true;
	pthread_mutex_unlock(&p->lock);
	s->moved = true;
	tcpx_session_fail(s, TCPX_ECLOSED, "%s", "another session with the peer serves both");
	if (to->peer != p)
		tcpx_queue_peer(s->engine, &p->news, p->name, p->incarnation, 0);
	tcpx_session_put(s); /* the peer's */
}

static bool
is_sister(const struct session *s)
{
	return s->opener && atomic_load(&s->control.up) && atomic_load(&s->state) == SESS_OPEN;
}

/* A session to which @s gives way, with a reference; NULL: none. */
static struct session *
heir(const struct session *s, enum tcpx_sisters sisters)
{
	struct tcpx_engine *e = s->engine;
	uint64_t incarnation = incarnation_of(s);

	if (sisters == TCPX_SISTERS_JOIN)
		return tcpx_twins_find(e, incarnation, is_sister);
	if (has_twins(s) && tcpx_twin_gives_way(is_smaller(e, incarnation), stage_of(s), TCPX_STAGE_OPEN))
		return tcpx_twins_find(e, incarnation, serves);
	return NULL;
}

void
tcpx_twins_give_way(struct session *s, uint64_t now_ns)
{
	enum tcpx_sisters beside;
	struct session *to;

	if (!s->opener || !in_handshake(s) || atomic_load(&s->engine->closing))
		return;
	beside = sisters(s);
	to = heir(s, beside);
	if (to) {
		pthread_mutex_lock(&to->lock);
		if (serves(to) || is_sister(to))
			move(s, to);
		pthread_mutex_unlock(&to->lock);
		tcpx_session_put(to);
	}
	if (in_handshake(s) && beside != TCPX_SISTERS_PART && s->state != SESS_CONNECTING)
		tcpx_control_stand_back(s, now_ns, "another session with the peer is there");
}

static bool
stir_visit(struct session *s, void *arg)
{
	struct session *by = arg;

	if (s == by || atomic_load(&s->state) == SESS_FAILED)
		return false;
	if (has_twins(by) && s->opener != by->opener && atomic_load(&by->state) != SESS_FAILED)
		atomic_store(s->opener ? &by->spare : &s->spare, true);
	if (in_handshake(s))
		tcpx_loop_post(s->loop, &s->arrival);
	return false;
}

void
tcpx_twins_stir(struct session *s)
{
	if (!incarnation_of(s))
		return;
	walk(s->engine, s->peer->incarnation, stir_visit, s);
	tcpx_loop_timer(s->loop, 0); /* a HELLO may wait */
}
