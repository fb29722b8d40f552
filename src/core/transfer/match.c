/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two-sided matching: the first posted receive of its tag from that peer matches a SEND.
 * Both queues belong to the peer, not to a session, because a receive is posted before the
 * session of its send is known.
 */
#include "core/transfer/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
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

static struct tcpx_xfer *
take_recv(struct tcpx_peer *p, uint64_t tag)
{
	tcpx_chain_each(n, after, &p->recvs) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		if (x->post.tag == tag) {
			tcpx_chain_remove(n);
			return x;
		}
	}
	return NULL;
}

static struct unexpected *
take_unexpected(struct tcpx_peer *p, uint64_t tag)
{
	tcpx_chain_each(n, after, &p->unexpected) {
		struct unexpected *u = tcpx_container(n, struct unexpected, node);

		if (u->tag == tag) {
			tcpx_chain_remove(n);
			u->session->credit.unmatched--;
			return u;
		}
	}
	return NULL;
}

static uint64_t
bytes_of(const struct unexpected *u)
{
	return sizeof(*u) + (u->inlined ? u->total : 0);
}

/* One that was in the queue. */
static void
drop_unexpected(struct unexpected *u)
{
	tcpx_quota_give(&u->session->peer->kept, bytes_of(u));
	tcpx_session_put(u->session);
	free(u);
}

static struct unexpected *
keep(struct session *s, const struct tcpx_open *o)
{
	bool inlined = o->flags & TCPX_OPEN_INLINE;
	struct unexpected *u = malloc(sizeof(*u) + (inlined ? o->total : 0));

	if (!u)
		return NULL;
	u->session = s;
	u->id = o->id;
	u->total = o->total;
	u->tag = o->tag;
	u->chunk = o->chunk;
	u->inlined = inlined;
	if (inlined && o->total)
		memcpy(u->payload, o->payload, o->total);
	return u;
}

int
tcpx_match_send(struct session *s, const struct tcpx_open *o)
{
	struct tcpx_peer *p = s->peer;
	struct unexpected *u = keep(s, o);
	struct tcpx_xfer *x;
	bool over, kept = true;
	int rc;

	if (!u)
		return -ENOMEM;
	tcpx_session_get(s);
	pthread_mutex_lock(&p->lock);
	x = take_recv(p, o->tag);
	if (x)
		x->session = s;
	else if ((kept = tcpx_quota_charge(&p->kept, bytes_of(u))))
		tcpx_chain_add(&p->unexpected, &u->node);
	over = !x && kept && ++s->credit.unmatched > 2 * s->engine->limit.credit_xfers;
	pthread_mutex_unlock(&p->lock);
	if (!kept) {
		free(u);
		tcpx_session_put(s);
		count_add(&s->engine->count.refused, 1);
		tcpx_answer_done(s, o->id, TCPX_ELIMIT, 0, TCPX_NO_ROOM_FOR_PEER, NULL, 0);
		return 0;
	}
	if (!x)
		return over ? TCPX_EPROTO : 0; /* the sender ignores its credit */
	/* the transfer owns the reference taken above */
	rc = tcpx_answer_match(s, x, o->id, o->total, o->chunk,
			     u->inlined ? u->payload : NULL);
	free(u);
	tcpx_xfer_put(x);
	return rc;
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

int
tcpx_match_recv(struct tcpx_peer *p, struct tcpx_xfer *x)
{
	struct unexpected *u = NULL;
	struct session *s;
	bool alone;
	int rc;

	x->times.post_ns = engine_now(x->engine);
	tcpx_watch_posted(x);
	pthread_mutex_lock(&p->lock);
	rc = p->gone;
	if (rc == 0)
		u = take_unexpected(p, x->post.tag);
	if (rc == 0 && !u) {
		tcpx_xfer_get(x);
		tcpx_chain_add(&p->recvs, &x->queue);
	}
	alone = !p->out && tcpx_chain_empty(&p->inbound) && p->addr_count;
	if (u) {
		tcpx_session_get(u->session);
		x->session = u->session;
	}
	pthread_mutex_unlock(&p->lock);
	if (rc)
		return rc;
	count_add(&x->engine->count.xfers_posted, 1);
	if (!u && alone)
		call(p);
	if (!u)
		return 0;
	s = u->session;
	pthread_mutex_lock(&s->lock);
	if (s->state == SESS_FAILED)
		tcpx_xfer_end(x, s->cause, s->cause_text);
	else
		rc = tcpx_answer_match(s, x, u->id, u->total, u->chunk,
				     u->inlined ? u->payload : NULL);
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
	drop_unexpected(u);
	return rc;
}

void
tcpx_match_forget(struct tcpx_peer *p, struct session *s, uint64_t id)
{
	struct tcpx_node gone;

	tcpx_node_init(&gone);
	pthread_mutex_lock(&p->lock);
	tcpx_chain_each(n, after, &p->unexpected) {
		struct unexpected *u = tcpx_container(n, struct unexpected, node);

		if (u->session == s && (id == 0 || u->id == id)) {
			tcpx_chain_remove(n);
			u->session->credit.unmatched--;
			tcpx_chain_add(&gone, n);
		}
	}
	pthread_mutex_unlock(&p->lock);
	tcpx_chain_each(m, after2, &gone)
		drop_unexpected(tcpx_container(m, struct unexpected, node));
}

/* A waiting receive that uses the region (0: any), or NULL. p->lock held. */
static struct tcpx_xfer *
first_naming(struct tcpx_peer *p, uint64_t region_id)
{
	tcpx_chain_each(n, after, &p->recvs) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		if (region_id == 0 || tcpx_list_names(x->payload.list, region_id))
			return x;
	}
	return NULL;
}

/* The thread that takes a receive out of the queue ends it: a cancel may run
 * at the same time. */
static void
end_recvs(struct tcpx_peer *p, uint64_t region_id, int code, const char *text)
{
	struct tcpx_xfer *x;

	do {
		pthread_mutex_lock(&p->lock);
		x = first_naming(p, region_id);
		if (x)
			tcpx_chain_remove(&x->queue);
		pthread_mutex_unlock(&p->lock);
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
			pthread_mutex_lock(&p->lock);
			if (first_naming(p, region_id)) {
				tcpx_peer_get(p);
				all[count++] = p;
			}
			pthread_mutex_unlock(&p->lock);
		}
		pthread_mutex_unlock(&e->registry.lock);
		for (uint32_t i = 0; i < count; i++) {
			end_recvs(all[i], region_id, TCPX_EREGION, "region deregistered");
			tcpx_peer_put(all[i]);
		}
	} while (count == 64);
}
