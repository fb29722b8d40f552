/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of a peer: the one that carries our operations, when it opens and
 * when it closes. */
#include "core/session/peer_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/loop/queue.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/session/twins.h"

#define LINGERERS 256 /* whose sessions end in a turn; others in the next */

/* It has carried operations, and has failed: its loop has not taken it from its peer yet. A call that opened
 * another now would hide that some of them are lost. */
static bool
just_failed(const struct session *s)
{
	return atomic_load(&s->state) == SESS_FAILED && s->health.open_ns && !s->moved && s->cause != TCPX_ECLOSED;
}

/* A session opened by the peer carries our operations, too: one that is open, else one that has just failed.
 * p->lock held. */
static struct session *
inbound_session(struct tcpx_peer *p)
{
	struct session *failed = NULL;

	tcpx_chain_each(n, after, &p->inbound) {
		struct session *s = tcpx_container(n, struct session, in_peer);

		if (atomic_load(&s->state) == SESS_OPEN)
			return s;
		failed = just_failed(s) ? s : failed;
	}
	return failed;
}

/* The one of this object, with a reference, and why it is gone in *gone. */
static struct session *
own_session(struct tcpx_peer *p, int *gone)
{
	struct session *s;

	pthread_mutex_lock(&p->lock);
	*gone = p->gone;
	s = p->out ? p->out : inbound_session(p);
	if (s)
		tcpx_session_get(s);
	pthread_mutex_unlock(&p->lock);
	return s;
}

static bool
may_serve(const struct session *s)
{
	int state = atomic_load(&s->state);

	return state == SESS_OPEN || (s->opener && state != SESS_FAILED);
}

/* A peer that was dialled and has called, too, is two objects: the session of one serves both; a
 * reference. NULL: none lives, or has served this one and just failed. */
static struct session *
sister_session(struct tcpx_peer *p)
{
	struct session *s = NULL;
	uint64_t incarnation;
	bool served;

	pthread_mutex_lock(&p->lock);
	incarnation = p->incarnation;
	served = p->served;
	pthread_mutex_unlock(&p->lock);
	if (incarnation)
		s = tcpx_twins_find(p->engine, incarnation, may_serve);
	if (incarnation && !s && served)
		s = tcpx_twins_find(p->engine, incarnation, just_failed);
	return s;
}

struct session *
tcpx_peer_usable_session(struct tcpx_peer *p, int *gone)
{
	struct session *s = own_session(p, gone);

	return s || *gone ? s : sister_session(p);
}

/* From now on @p hears of the end of @s, which another object has. False: it has failed, and none has served
 * @p before. */
static bool
follow(struct tcpx_peer *p, struct session *s)
{
	bool served;

	pthread_mutex_lock(&s->lock);
	pthread_mutex_lock(&p->lock);
	served = p->served |= s->state != SESS_FAILED;
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_unlock(&s->lock);
	return served;
}

/* The session that @p is to use; a reference. NULL: none, and why it is gone in *gone. */
static struct session *
session_for(struct tcpx_peer *p, int *gone)
{
	struct session *s = tcpx_peer_usable_session(p, gone);

	while (s && s->peer != p && !follow(p, s)) {
		tcpx_session_put(s);
		s = tcpx_peer_usable_session(p, gone);
	}
	return s;
}

int
tcpx_peer_session(struct tcpx_peer *p, struct session **out)
{
	struct session *s = NULL, *made = NULL;
	int rc = engine_check(p->engine);

	if (rc)
		return rc;
	s = session_for(p, &rc);
	if (rc == 0 && !s)
		rc = tcpx_session_new(p->engine, true, &made);
	if (rc) {
		if (s)
			tcpx_session_put(s);
		return rc == -ENOMEM ? rc : tcpx_peer_fail(p, rc);
	}
	if (made) {
		tcpx_peer_get(p);
		made->peer = p;
		tcpx_ctrl_charge(made->control.ctrl, &p->kept);
		pthread_mutex_lock(&p->lock);
		s = p->out;
		if (!s) {
			s = p->out = made;
			tcpx_session_get(made); /* the peer's */
			tcpx_notes_absent(p, false);
		}
		tcpx_session_get(s);
		pthread_mutex_unlock(&p->lock);
		if (s == made) {
			tcpx_session_wake_loop(made);
		} else { /* another thread's came first, and no loop has seen this one */
			tcpx_session_unlist(made);
			tcpx_session_put(made);
		}
		tcpx_session_put(made);
	}
	*out = s;
	return 0;
}

int
tcpx_peer_lock_session(struct tcpx_peer *p, struct session **out)
{
	struct session *s = NULL;
	bool moved;
	int rc;

	do {
		rc = tcpx_peer_session(p, &s);
		if (rc)
			return rc;
		pthread_mutex_lock(&s->lock);
		moved = s->moved;
		if (moved) {
			pthread_mutex_unlock(&s->lock);
			tcpx_session_put(s);
		}
	} while (moved);
	*out = s;
	return 0;
}

/* The peer is gone for the cause of @s, unless that is our own close: the next post connects again. */
static void
set_gone(struct tcpx_peer *p, const struct session *s)
{
	if (s->cause == TCPX_ECLOSED || p->gone)
		return;
	p->gone = s->cause;
	snprintf(p->gone_text, sizeof(p->gone_text), "%s", s->cause_text);
}

/* The first behind that number that has no session, since this one served it, too; a reference. */
static struct tcpx_peer *
follower(struct session *s, uint64_t number)
{
	struct registry *r = &s->engine->registry;
	struct tcpx_peer *found = NULL;

	pthread_mutex_lock(&r->lock);
	tcpx_chain_each(n, after, peer_bucket(r, s->peer->incarnation)) {
		struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_bucket);

		pthread_mutex_lock(&p->lock);
		if (p != s->peer && p->number > number && (!found || p->number < found->number) &&
		    p->incarnation == s->peer->incarnation && !p->gone && peer_follows(p))
			found = p;
		pthread_mutex_unlock(&p->lock);
	}
	if (found && !tcpx_peer_try_get(found))
		found = NULL; /* its last reference is being given back: nobody waits with it */
	pthread_mutex_unlock(&r->lock);
	return found;
}

static void
lose_followers(struct session *s)
{
	struct tcpx_engine *e = s->engine;
	uint64_t number = 0;
	struct tcpx_peer *p;

	while ((p = follower(s, number))) {
		number = p->number;
		pthread_mutex_lock(&p->lock);
		set_gone(p, s);
		pthread_mutex_unlock(&p->lock);
		tcpx_queue_peer(e, &p->news, p->name, p->incarnation, s->cause);
		e->up.session->lost(s, p, true);
		tcpx_peer_put(p);
	}
}

void
tcpx_peer_session_lost(struct session *s)
{
	struct tcpx_peer *p = s->peer;
	/* it has carried nothing, and will not: another serves */
	bool idle = s->moved || (!s->opener && s->health.open_ns == 0 && tcpx_twins_live(s, true));
	bool ours = false, last, down, carried = s->health.open_ns && !s->moved;

	pthread_mutex_lock(&p->lock);
	if (p->out == s) {
		p->out = NULL;
		ours = true;
	}
	tcpx_chain_remove(&s->in_peer);
	p->served |= idle;
	last = !p->out && tcpx_chain_empty(&p->inbound) && !idle;
	if (ours || last)
		set_gone(p, s);
	down = last || p->gone;
	tcpx_notes_absent(p, last);
	pthread_mutex_unlock(&p->lock);
	if (down)
		tcpx_queue_peer(p->engine, &p->news, p->name, p->incarnation, s->cause);
	p->engine->up.session->lost(s, p, down);
	/* what they have said on it may be lost, also where another serves them next */
	if (down && p->incarnation && (carried || !tcpx_twins_live(s, false)))
		lose_followers(s);
	if (ours)
		tcpx_session_put(s);
	tcpx_event_session(p->engine);
}

/* Sets when a dropped peer may be due. Any thread. */
static void
linger_at(struct tcpx_engine *e, uint64_t at_ns)
{
	uint64_t old_ns = atomic_load(&e->registry.linger_ns);

	while ((old_ns == 0 || at_ns < old_ns) &&
	       !atomic_compare_exchange_weak(&e->registry.linger_ns, &old_ns, at_ns))
		;
}

/* registry.lock */
static void
put_off(struct tcpx_peer *p, uint64_t at_ns)
{
	tcpx_heap_remove(&p->engine->registry.dropped, &p->by_drop);
	tcpx_heap_add(&p->engine->registry.dropped, &p->by_drop, at_ns);
	linger_at(p->engine, at_ns);
}

void
tcpx_peer_linger_until(struct tcpx_peer *p, uint64_t at_ns)
{
	struct registry *r = &p->engine->registry;

	pthread_mutex_lock(&r->lock);
	put_off(p, at_ns);
	tcpx_chain_each(n, after, peer_bucket(r, p->incarnation)) {
		struct tcpx_peer *other = tcpx_container(n, struct tcpx_peer, in_bucket);

		if (!p->incarnation)
			break;
		if (other->incarnation == p->incarnation && other->dropped_ns && !other->by_drop.linked)
			put_off(other, at_ns);
	}
	pthread_mutex_unlock(&r->lock);
}

/* Does the application hold the peer under another name? registry.lock. */
static bool
serves_others(const struct tcpx_peer *p)
{
	if (!p->incarnation)
		return false;
	tcpx_chain_each(n, after, peer_bucket(&p->engine->registry, p->incarnation)) {
		const struct tcpx_peer *other = tcpx_container(n, struct tcpx_peer, in_bucket);

		if (other != p && other->incarnation == p->incarnation && atomic_load(&other->handles) > 0)
			return true;
	}
	return false;
}

/* Our session to a peer dropped long enough ago, with a reference; else NULL. registry.lock */
static struct session *
lingered(struct tcpx_peer *p, uint64_t now_ns)
{
	struct tcpx_engine *e = p->engine;
	struct tcpx_peer *home = tcpx_peer_lock_queues(p);
	struct session *s = NULL;
	uint64_t at_ns;

	if (p->dropped_ns && p->out && atomic_load(&p->handles) == 0 && !serves_others(p)) {
		at_ns = p->dropped_ns + e->limit.linger_ns;
		if (now_ns >= at_ns && tcpx_chain_empty(&home->recvs)) {
			s = p->out;
			tcpx_session_get(s);
		} else {
			put_off(p, now_ns < at_ns ? at_ns : now_ns + TCPX_SEC);
		}
	}
	tcpx_peer_unlock_queues(p);
	return s;
}

/* Sessions of peers that were dropped long enough ago, each with a reference; no other peer
 * is looked at. */
static uint32_t
due(struct tcpx_engine *e, uint64_t now_ns, struct session *of[LINGERERS])
{
	struct registry *r = &e->registry;
	struct tcpx_heap_node *n;
	uint32_t count = 0;

	pthread_mutex_lock(&r->lock);
	while (count < LINGERERS && (n = r->dropped.first) && n->key <= now_ns) {
		tcpx_heap_remove(&r->dropped, n);
		of[count] = lingered(tcpx_container(n, struct tcpx_peer, by_drop), now_ns);
		count += of[count] != NULL;
	}
	if (r->dropped.first)
		linger_at(e, r->dropped.first->key);
	pthread_mutex_unlock(&r->lock);
	return count;
}

void
tcpx_peer_linger(struct tcpx_engine *e, uint64_t now_ns)
{
	uint64_t at_ns = atomic_load(&e->registry.linger_ns);
	struct session *of[LINGERERS];
	uint32_t i, count = 0;

	if (at_ns && now_ns >= at_ns) {
		atomic_store(&e->registry.linger_ns, 0);
		count = due(e, now_ns, of);
	}
	for (i = 0; i < count; i++) {
		pthread_mutex_lock(&of[i]->lock);
		if (!session_busy(of[i]))
			tcpx_session_fail(of[i], TCPX_ECLOSED, "no longer used");
		else /* its transfers go on */
			tcpx_peer_linger_until(of[i]->peer, now_ns + TCPX_SEC);
		pthread_mutex_unlock(&of[i]->lock);
		tcpx_session_put(of[i]);
	}
	at_ns = atomic_load(&e->registry.linger_ns);
	if (at_ns)
		tcpx_loop_timer(&e->loop[0], at_ns);
}
