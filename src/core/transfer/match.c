/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two-sided matching: the first posted receive of its tag from that peer matches a SEND.
 * Both queues belong to the peer, not to a session, because a receive is posted before the
 * session of its send is known. An application may hold several handles of one incarnation: all
 * use the queues of one, the home.
 */
#include "core/transfer/match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slab.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/peer_session.h"
#include "core/session/session.h"
#include "core/transfer/answer.h"
#include "core/transfer/end.h"
#include "core/transfer/transfer.h"
#include "core/transfer/watch.h"

static void
add_recv(struct tcpx_peer *p, struct tcpx_xfer *x)
{
	tcpx_chain_add(&p->recvs, &x->queue);
	tcpx_tags_add(&p->recvs_by_tag, &x->tagged, x->post.tag);
}

void
tcpx_match_remove(struct tcpx_peer *home, struct tcpx_xfer *x)
{
	tcpx_chain_remove(&x->queue);
	tcpx_tags_remove(&home->recvs_by_tag, &x->tagged);
}

static struct tcpx_xfer *
take_recv(struct tcpx_peer *p, uint64_t tag)
{
	struct tcpx_tagged *found = tcpx_tags_find(&p->recvs_by_tag, tag);
	struct tcpx_xfer *x = found ? tcpx_container(found, struct tcpx_xfer, tagged) : NULL;

	if (x)
		tcpx_match_remove(p, x);
	return x;
}

/* The receive that the session's SEND meets; NULL: none waits. */
static struct tcpx_xfer *
meet(struct tcpx_peer *home, struct session *s, uint64_t tag)
{
	struct tcpx_xfer *x = take_recv(home, tag);

	if (x) {
		tcpx_session_get(s);
		x->session = s;
	}
	return x;
}

static void
remove_unexpected(struct tcpx_peer *p, struct unexpected *u)
{
	tcpx_chain_remove(&u->node);
	tcpx_tags_remove(&p->unexpected_by_tag, &u->tagged);
	u->session->credit.unmatched--;
}

static struct unexpected *
take_unexpected(struct tcpx_peer *p, uint64_t tag)
{
	struct tcpx_tagged *found = tcpx_tags_find(&p->unexpected_by_tag, tag);
	struct unexpected *u = found ? tcpx_container(found, struct unexpected, tagged) : NULL;

	if (u)
		remove_unexpected(p, u);
	return u;
}

static uint64_t
bytes_of(const struct unexpected *u)
{
	return sizeof(*u) + (u->payload ? u->total : 0);
}

static void
forget(struct unexpected *u)
{
	if (u)
		tcpx_slab_free(u->payload);
	free(u);
}

/* One that was in the queue. */
static void
drop_unexpected(struct unexpected *u)
{
	tcpx_kept_give(u->session->peer, KEPT_SENDS, bytes_of(u));
	tcpx_session_put(u->session);
	forget(u);
}

static struct unexpected *
keep(struct session *s, const struct tcpx_open *o)
{
	bool inlined = o->flags & TCPX_OPEN_INLINE;
	struct unexpected *u = calloc(1, sizeof(*u));

	if (u && inlined)
		u->payload = tcpx_slab_take(&s->credit.slab, o->total);
	if (!u || (inlined && !u->payload)) {
		forget(u);
		return NULL;
	}
	u->session = s;
	u->id = o->id;
	u->total = o->total;
	u->chunk = o->chunk;
	if (inlined && o->total)
		memcpy(u->payload, o->payload, o->total);
	return u;
}

/* May it wait for its receive, as @others do? Then that is charged. */
static bool
may_wait(struct session *s, const struct unexpected *u, uint32_t others, char why[TCPX_TEXT_MAX])
{
	uint32_t most = s->engine->limit.sends;

	if (others >= most) {
		snprintf(why, TCPX_TEXT_MAX, "the target keeps %u sends without a receive in this session, "
			 "of at most %u (TCPX_SEND_LIMIT there)", others, most);
		return false;
	}
	if (tcpx_kept_charge(s->peer, KEPT_SENDS, bytes_of(u)))
		return true;
	tcpx_kept_why(s->peer, bytes_of(u), "target's", why, TCPX_TEXT_MAX);
	return false;
}

/* Queues a send whose memory is charged. *x: a receive that has come meanwhile. TCPX_EPROTO: the sender ignores
 * its credit. */
static int
wait_for_receive(struct session *s, struct unexpected *u, uint64_t tag, struct tcpx_xfer **x)
{
	struct tcpx_peer *home;
	bool over;

	home = tcpx_peer_lock_queues(s->peer);
	*x = meet(home, s, tag);
	if (!*x) {
		tcpx_session_get(s);
		tcpx_chain_add(&home->unexpected, &u->node);
		tcpx_tags_add(&home->unexpected_by_tag, &u->tagged, tag);
	}
	over = !*x && ++s->credit.unmatched > 2 * s->engine->limit.credit_xfers;
	tcpx_peer_unlock_queues(s->peer);
	if (*x)
		tcpx_kept_give(s->peer, KEPT_SENDS, bytes_of(u));
	return over ? TCPX_EPROTO : 0;
}

int
tcpx_match_send(struct session *s, const struct tcpx_open *o)
{
	struct unexpected *u = keep(s, o);
	char why[TCPX_TEXT_MAX];
	struct tcpx_xfer *x;
	uint32_t others;
	int rc = 0;

	if (!u)
		return -ENOMEM;
	x = meet(tcpx_peer_lock_queues(s->peer), s, o->tag);
	others = s->credit.unmatched;
	tcpx_peer_unlock_queues(s->peer);
	if (!x && !may_wait(s, u, others, why)) {
		forget(u);
		count_add(&s->engine->count.refused, 1);
		tcpx_answer_done(s, o->id, TCPX_ELIMIT, 0, why, NULL, 0);
		return 0;
	}
	if (!x)
		rc = wait_for_receive(s, u, o->tag, &x);
	if (!x)
		return rc;
	tcpx_answer_match(s, x, o->id, o->total, o->chunk, u->payload);
	forget(u);
	tcpx_xfer_put(x);
	return 0;
}

/* The newest of @p that has its payload here leaves the queue. NULL: there is none. */
static struct unexpected *
take_newest(struct tcpx_peer *p)
{
	struct tcpx_peer *home = tcpx_peer_lock_queues(p);
	struct unexpected *found = NULL;

	for (struct tcpx_node *n = home->unexpected.prev; n != &home->unexpected && !found; n = n->prev) {
		struct unexpected *u = tcpx_container(n, struct unexpected, node);

		if (u->session->peer == p && u->payload)
			found = u;
	}
	if (found)
		remove_unexpected(home, found);
	tcpx_peer_unlock_queues(p);
	return found;
}

bool
tcpx_match_evict(struct tcpx_engine *e, uint64_t more)
{
	struct tcpx_peer *p = tcpx_kept_largest(e, more);
	struct unexpected *u = p ? take_newest(p) : NULL;

	if (!u) {
		if (p)
			tcpx_peer_put(p);
		return false;
	}
	tcpx_kept_give(p, KEPT_SENDS, bytes_of(u));
	tcpx_peer_put(p); /* the session has one, too */
	tcpx_slab_free(u->payload);
	u->payload = NULL;
	pthread_mutex_lock(&e->pot->lock);
	tcpx_chain_add(&e->pot->evicted, &u->node);
	pthread_mutex_unlock(&e->pot->lock);
	tcpx_loop_post(&e->loop[0], &e->pot->tell);
	return true;
}

static struct unexpected *
next_evicted(struct tcpx_engine *e)
{
	struct tcpx_node *n;

	pthread_mutex_lock(&e->pot->lock);
	n = tcpx_chain_first(&e->pot->evicted);
	if (n)
		tcpx_chain_remove(n);
	pthread_mutex_unlock(&e->pot->lock);
	return n ? tcpx_container(n, struct unexpected, node) : NULL;
}

void
tcpx_match_evicted(struct tcpx_engine *e)
{
	struct unexpected *u;
	char why[TCPX_TEXT_MAX];

	while ((u = next_evicted(e))) {
		struct session *s = u->session;

		tcpx_kept_why(s->peer, 0, "target's", why, sizeof(why));
		if (!atomic_exchange(&e->pot->told, true))
			tcpx_warn(TCPX_SUB_XFER, "a send of %s that waits for its receive is refused, since it "
				  "has most of these: %s (once)", s->peer->name, why);
		count_add(&e->count.refused, 1);
		pthread_mutex_lock(&s->lock);
		if (s->state == SESS_OPEN) {
			tcpx_answer_done(s, u->id, TCPX_ELIMIT, 0, why, NULL, 0);
			tcpx_control_flush(s);
		}
		pthread_mutex_unlock(&s->lock);
		tcpx_session_put(s);
		free(u);
	}
}

/* A receive is in the queue of a peer that has no session: without one nobody would notice that
 * it goes away. */
static void
call(struct tcpx_peer *p)
{
	struct session *s;
	int rc = tcpx_peer_session(p, &s);

	if (rc == 0)
		tcpx_session_put(s);
	else
		tcpx_match_fail(p, rc, "no session for a receive");
}

/* The receive takes an unexpected send. No lock held. */
static void
answer(struct tcpx_xfer *x, struct unexpected *u)
{
	struct session *s = u->session;

	pthread_mutex_lock(&s->lock);
	if (s->state == SESS_FAILED)
		tcpx_xfer_end(x, s->cause, s->cause_text);
	else if (atomic_load(&x->status) == -EAGAIN)
		tcpx_answer_match(s, x, u->id, u->total, u->chunk, u->payload);
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
	drop_unexpected(u);
}

/* The lock of the queues held. */
static void
pair(struct tcpx_xfer *x, struct unexpected *u)
{
	tcpx_session_get(u->session);
	x->session = u->session;
	x->id = u->id; /* a cancel may come before the answer */
}

int
tcpx_match_recv(struct tcpx_peer *p, struct tcpx_xfer *x)
{
	struct unexpected *u = NULL;
	struct tcpx_peer *home;
	bool alone;
	int rc;

	x->times.post_ns = engine_now(x->engine);
	tcpx_watch_posted(x);
	home = tcpx_peer_lock_queues(p);
	rc = p->gone;
	if (rc == 0)
		u = take_unexpected(home, x->post.tag);
	if (rc == 0 && !u) {
		tcpx_xfer_get(x);
		add_recv(home, x);
	}
	alone = !p->out && tcpx_chain_empty(&p->inbound) && p->addr_count;
	if (u)
		pair(x, u);
	tcpx_peer_unlock_queues(p);
	if (rc)
		return rc;
	count_add(&x->engine->count.xfers_posted, 1);
	if (!u && alone)
		call(p);
	if (u)
		answer(x, u);
	return 0;
}

/* The receives of @p go behind those of its home; *paired: those for which a send waits there, each with
 * that send in the same place of *sends. Both locks held. */
static void
move_receives(struct tcpx_peer *p, struct tcpx_peer *home, struct tcpx_node *paired,
	      struct tcpx_node *sends)
{
	tcpx_chain_each(n, after, &p->recvs) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);
		struct unexpected *u = take_unexpected(home, x->post.tag);

		tcpx_match_remove(p, x);
		if (u) {
			pair(x, u);
			tcpx_chain_add(paired, n);
			tcpx_chain_add(sends, &u->node);
		} else {
			add_recv(home, x);
		}
	}
}

void
tcpx_match_merge(struct tcpx_peer *p)
{
	struct tcpx_peer *home = atomic_exchange(&p->found, NULL);
	struct tcpx_node paired, sends;

	tcpx_node_init(&paired);
	tcpx_node_init(&sends);
	if (!home)
		return;
	pthread_mutex_lock(&p->lock);
	pthread_mutex_lock(&home->lock);
	move_receives(p, home, &paired, &sends);
	/* its own session opens after this: it has had no sends */
	p->home = home;
	tcpx_peer_unlock_queues(p);
	tcpx_chain_each(n, after, &paired) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);
		struct tcpx_node *u = tcpx_chain_first(&sends);

		tcpx_chain_remove(n);
		tcpx_chain_remove(u);
		answer(x, tcpx_container(u, struct unexpected, node));
		tcpx_xfer_put(x);
	}
}

void
tcpx_match_forget(struct tcpx_peer *p, struct session *s, uint64_t id)
{
	struct tcpx_peer *home;
	struct tcpx_node gone;

	tcpx_node_init(&gone);
	home = tcpx_peer_lock_queues(p);
	tcpx_chain_each(n, after, &home->unexpected) {
		struct unexpected *u = tcpx_container(n, struct unexpected, node);

		if (u->session == s && (id == 0 || u->id == id)) {
			remove_unexpected(home, u);
			tcpx_chain_add(&gone, n);
		}
	}
	tcpx_peer_unlock_queues(p);
	tcpx_chain_each(m, after2, &gone)
		drop_unexpected(tcpx_container(m, struct unexpected, node));
}

/* A waiting receive of that peer (NULL: of any) that uses the region (0: any), or NULL.
 * home->lock held. */
static struct tcpx_xfer *
first(struct tcpx_peer *home, const struct tcpx_peer *of, uint64_t region_id)
{
	tcpx_chain_each(n, after, &home->recvs) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		if ((!of || x->peer == of) &&
		    (region_id == 0 || tcpx_list_names(x->payload.list, region_id)))
			return x;
	}
	return NULL;
}

bool
tcpx_match_waits(struct tcpx_peer *p)
{
	bool waits = first(tcpx_peer_lock_queues(p), p, 0) != NULL;

	tcpx_peer_unlock_queues(p);
	return waits;
}

/* The thread that takes a receive out of the queue ends it: a cancel may run
 * at the same time. */
static void
end_recvs(struct tcpx_peer *p, uint64_t region_id, int code, const char *text)
{
	struct tcpx_peer *home;
	struct tcpx_xfer *x;

	do {
		home = tcpx_peer_lock_queues(p);
		x = first(home, p, region_id);
		if (x)
			tcpx_match_remove(home, x);
		tcpx_peer_unlock_queues(p);
		if (x) {
			tcpx_xfer_end(x, code, text);
			tcpx_xfer_put(x);
		}
	} while (x);
}

void
tcpx_match_fail(struct tcpx_peer *p, int code, const char *text)
{
	end_recvs(p, 0, code, text);
}

void
tcpx_match_region_gone(struct tcpx_engine *e, uint64_t region_id)
{
	struct tcpx_peer *all[64];
	uint32_t count;
	struct tcpx_node *peers = &e->registry.peers, *last;

	/* peers are few; several at a time, so that no lock is held while ending */
	do {
		count = 0;
		pthread_mutex_lock(&e->registry.lock);
		for (last = peers->next; last != peers && count < 64; last = last->next) {
			struct tcpx_peer *p = tcpx_container(last, struct tcpx_peer, in_engine);

			/* a waiting receive holds its peer, so this cannot be its last
			 * reference; peers without such a receive are skipped */
			if (first(tcpx_peer_lock_queues(p), p, region_id)) {
				tcpx_peer_get(p);
				all[count++] = p;
			}
			tcpx_peer_unlock_queues(p);
		}
		pthread_mutex_unlock(&e->registry.lock);
		for (uint32_t i = 0; i < count; i++) {
			end_recvs(all[i], region_id, TCPX_EREGION, "region deregistered");
			tcpx_peer_put(all[i]);
		}
	} while (count == 64);
}
