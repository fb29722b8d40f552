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
#include "core/session/control.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "net/resolve.h"
#include "proto/blob.h"

#define LINGERERS 16
#define MORE_NS   (10 * TCPX_MS) /* until others than these are looked at */

/* A session opened by the peer carries our operations, too. p->lock held. */
static struct session *
open_inbound(struct tcpx_peer *p)
{
	tcpx_chain_each(n, after, &p->inbound) {
		struct session *s = tcpx_container(n, struct session, in_peer);

		if (atomic_load(&s->state) == SESS_OPEN)
			return s;
	}
	return NULL;
}

/* The one of this object, with a reference, and why it is gone in *gone. */
static struct session *
own_session(struct tcpx_peer *p, int *gone)
{
	struct session *s;

	pthread_mutex_lock(&p->lock);
	*gone = p->gone;
	s = p->out ? p->out : open_inbound(p);
	if (s)
		tcpx_session_get(s);
	pthread_mutex_unlock(&p->lock);
	return s;
}

/* A peer that was dialled and has called, too, is two objects. The acceptor takes one session of an
 * incarnation, so that of the other serves; a reference. NULL: none lives. */
static struct session *
sister_session(struct tcpx_peer *p)
{
	struct registry *r = &p->engine->registry;
	struct session *s = NULL;
	uint64_t incarnation;

	pthread_mutex_lock(&p->lock);
	incarnation = p->incarnation;
	pthread_mutex_unlock(&p->lock);
	if (!incarnation)
		return NULL;
	pthread_mutex_lock(&r->lock);
	tcpx_chain_each(n, after, peer_bucket(r, incarnation)) {
		struct tcpx_peer *q = tcpx_container(n, struct tcpx_peer, in_bucket);

		if (s || q == p)
			continue;
		pthread_mutex_lock(&q->lock);
		if (q->incarnation == incarnation && !q->gone) {
			s = q->out && atomic_load(&q->out->state) != SESS_FAILED ? q->out :
										 open_inbound(q);
			if (s)
				tcpx_session_get(s);
		}
		pthread_mutex_unlock(&q->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return s;
}

/* The session that carries what is posted with @p, with a reference; NULL: none yet. */
static struct session *
usable_session(struct tcpx_peer *p, int *gone)
{
	struct session *s = own_session(p, gone);

	return s || *gone ? s : sister_session(p);
}

int
tcpx_peer_session(struct tcpx_peer *p, struct session **out)
{
	struct session *s = NULL, *made = NULL;
	int rc = engine_check(p->engine);

	if (rc)
		return rc;
	s = usable_session(p, &rc);
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
		if (s == made)
			tcpx_session_wake_loop(made);
		tcpx_session_put(made);
	}
	*out = s;
	return 0;
}

void
tcpx_peer_session_lost(struct session *s)
{
	struct tcpx_peer *p = s->peer;
	bool ours = false, last, down;

	pthread_mutex_lock(&p->lock);
	if (p->out == s) {
		p->out = NULL;
		ours = true;
	}
	tcpx_chain_remove(&s->in_peer);
	last = !p->out && tcpx_chain_empty(&p->inbound);
	/* our own close does not change the peer: the next post connects again */
	if ((ours || last) && s->cause != TCPX_ECLOSED && !p->gone) {
		p->gone = s->cause;
		memcpy(p->gone_text, s->cause_text, sizeof(p->gone_text));
	}
	down = last || p->gone;
	tcpx_notes_absent(p, last);
	pthread_mutex_unlock(&p->lock);
	if (down)
		tcpx_queue_peer(p->engine, &p->news, p->name, p->incarnation, s->cause);
	p->engine->up.session->lost(s, down);
	if (ours)
		tcpx_session_put(s);
	tcpx_event_session(p->engine);
}

/* Some dropped peer may be due then. */
static void
look_at(struct tcpx_engine *e, uint64_t at_ns)
{
	uint64_t old_ns = atomic_load(&e->registry.linger_ns);

	while ((old_ns == 0 || at_ns < old_ns) &&
	       !atomic_compare_exchange_weak(&e->registry.linger_ns, &old_ns, at_ns))
		;
}

/* Our session to a peer dropped long enough ago, with a reference; else NULL. registry.lock */
static struct session *
lingered(struct tcpx_peer *p, uint64_t now_ns)
{
	struct tcpx_engine *e = p->engine;
	struct tcpx_peer *home = tcpx_peer_lock_queues(p);
	struct session *s = NULL;
	uint64_t at_ns;

	if (p->dropped_ns && p->out && atomic_load(&p->handles) == 0) {
		at_ns = p->dropped_ns + e->limit.linger_ns;
		if (now_ns >= at_ns && tcpx_chain_empty(&home->recvs)) {
			s = p->out;
			tcpx_session_get(s);
		} else {
			look_at(e, now_ns < at_ns ? at_ns : now_ns + TCPX_SEC);
		}
	}
	tcpx_peer_unlock_queues(p);
	return s;
}

void
tcpx_peer_linger(struct tcpx_engine *e, uint64_t now_ns)
{
	uint64_t at_ns = atomic_load(&e->registry.linger_ns);
	struct session *of[LINGERERS];
	uint32_t i, count = 0;

	if (at_ns && now_ns >= at_ns) {
		atomic_store(&e->registry.linger_ns, 0);
		pthread_mutex_lock(&e->registry.lock);
		tcpx_chain_each(n, after, &e->registry.peers) {
			struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_engine);

			if (count < LINGERERS && p->dropped_ns && (of[count] = lingered(p, now_ns)))
				count++;
		}
		pthread_mutex_unlock(&e->registry.lock);
		if (count == LINGERERS)
			look_at(e, now_ns + MORE_NS);
	}
	for (i = 0; i < count; i++) {
		pthread_mutex_lock(&of[i]->lock);
		if (!session_busy(of[i]))
			tcpx_session_fail(of[i], TCPX_ECLOSED, "no longer used");
		else /* its transfers go on */
			look_at(e, now_ns + TCPX_SEC);
		pthread_mutex_unlock(&of[i]->lock);
		tcpx_session_put(of[i]);
	}
	at_ns = atomic_load(&e->registry.linger_ns);
	if (at_ns)
		tcpx_loop_timer(&e->loop[0], at_ns);
}

/* Gives the peer to the application and starts its session. Takes over the reference. */
static int
hand_out(struct tcpx_peer *p, tcpx_peer **peer)
{
	struct session *s;
	int rc;

	atomic_fetch_add(&p->handles, 1);
	p->dropped_ns = 0;
	rc = tcpx_peer_session(p, &s);
	if (rc) {
		atomic_fetch_sub(&p->handles, 1);
		tcpx_peer_put(p);
		return rc;
	}
	tcpx_session_put(s);
	*peer = p;
	return 0;
}

/* Does the application's own address lead there? p->lock held. */
static bool
is_at(const struct tcpx_peer *p, const struct tcpx_addr *addr, uint32_t count)
{
	for (uint32_t i = 0; i < p->given; i++)
		for (uint32_t k = 0; k < count; k++)
			if (p->addr[i].family == addr[k].family && p->addr[i].port == addr[k].port &&
			    p->addr[i].scope == addr[k].scope &&
			    !memcmp(p->addr[i].ip, addr[k].ip, sizeof(addr[k].ip)))
				return true;
	return false;
}

/* The peer to which we have a session by one of these addresses, of this name if it is not NULL; a
 * reference. NULL: none. A second session would be refused. */
static struct tcpx_peer *
connected_at(struct tcpx_engine *e, const struct tcpx_addr *addr, uint32_t count, const char *name)
{
	struct tcpx_peer *found = NULL;
	struct session *s = NULL;
	bool cut;

	pthread_mutex_lock(&e->registry.lock);
	tcpx_chain_each(n, after, &e->registry.peers) {
		struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_engine);

		pthread_mutex_lock(&p->lock);
		if (!found && !p->gone && p->out && is_at(p, addr, count) &&
		    (!name || !strcmp(p->name, name)) && tcpx_peer_try_get(p)) {
			found = p;
			s = p->out;
			tcpx_session_get(s);
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&e->registry.lock);
	if (!found)
		return NULL;
	pthread_mutex_lock(&s->lock); /* of a cut session the peer may have restarted */
	cut = s->state == SESS_FAILED || (s->state == SESS_OPEN && !s->control.line.stream);
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
	if (!cut)
		return found;
	tcpx_peer_put(found);
	return NULL;
}

int
tcpx_peer_add(tcpx_engine *e, const void *blob, size_t len, tcpx_peer **peer)
{
	struct tcpx_endpoint_blob ep;
	struct tcpx_peer *p;
	struct tcpx_buf b;
	uint32_t i;
	int rc;

	tcpx_buf_init_const(&b, blob, len);
	if (!blob || tcpx_endpoint_blob_read(&b, &ep) != 0)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EBLOB, "engine blob of %zu bytes", len);
	rc = tcpx_peer_find_or_make(e, ep.name, ep.incarnation, NULL, &p);
	if (rc)
		return rc;
	pthread_mutex_lock(&p->lock);
	for (i = 0; i < ep.nic_count; i++)
		p->addr[i] = ep.nic[i].addr;
	p->addr_count = p->given = ep.nic_count;
	pthread_mutex_unlock(&p->lock);
	return hand_out(p, peer);
}

int
tcpx_peer_connect(tcpx_engine *e, const char *host_port, tcpx_peer **peer)
{
	char name[TCPX_NAME_MAX];
	struct tcpx_addr addr[8];
	struct tcpx_peer *p;
	const char *at;
	uint32_t count;
	int rc;

	if (!host_port)
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "no HOST:PORT given");
	at = strrchr(host_port, '@');
	if (at && (at == host_port || (size_t)(at - host_port) >= sizeof(name)))
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "\"%s\": a name of 1 to %zu bytes is allowed "
				 "before the @", host_port, sizeof(name) - 1);
	snprintf(name, sizeof(name), "%.*s", at ? (int)(at - host_port) : (int)strlen(host_port),
		 host_port);
	rc = tcpx_addr_resolve(at ? at + 1 : host_port, addr, 8, &count);
	p = rc ? NULL : connected_at(e, addr, count, at ? name : NULL);
	if (p)
		return hand_out(p, peer);
	if (rc == 0)
		rc = tcpx_peer_new(e, name, 0, &p);
	if (rc)
		return rc;
	p->named = at != NULL;
	memcpy(p->addr, addr, count * sizeof(addr[0]));
	p->addr_count = p->given = count;
	return hand_out(p, peer);
}

void
tcpx_peer_free(tcpx_peer *p)
{
	if (!p || !engine_is_here(p->engine))
		return;
	if (atomic_fetch_sub(&p->handles, 1) == 1) {
		p->dropped_ns = engine_now(p->engine);
		look_at(p->engine, p->dropped_ns + p->engine->limit.linger_ns);
		pthread_mutex_lock(&p->lock);
		if (p->out)
			tcpx_session_wake_loop(p->out);
		pthread_mutex_unlock(&p->lock);
	}
	tcpx_peer_put(p);
}

/* 0 open, -EAGAIN not yet, or the reason. */
static int
status_of(struct tcpx_peer *p)
{
	int rc;
	struct session *s = usable_session(p, &rc);

	pthread_mutex_lock(&p->lock);
	if (!s && !tcpx_chain_empty(&p->inbound)) {
		s = tcpx_container(p->inbound.next, struct session, in_peer);
		tcpx_session_get(s);
	}
	pthread_mutex_unlock(&p->lock);
	if (rc == 0 && (!s || atomic_load(&s->state) != SESS_OPEN))
		rc = -EAGAIN;
	/* its loop may not have taken it out yet */
	if (rc == -EAGAIN && s && atomic_load(&s->state) == SESS_FAILED && s->cause != TCPX_ECLOSED)
		rc = s->cause;
	if (s)
		tcpx_session_put(s);
	return rc;
}

static bool
decided(void *arg)
{
	return status_of(arg) != -EAGAIN;
}

int
tcpx_peer_wait(tcpx_peer *p, int timeout_ms)
{
	struct tcpx_engine *e = p->engine;
	struct session *s;
	int rc;

	rc = tcpx_peer_session(p, &s); /* a session closed meanwhile is opened again */
	if (rc)
		return rc;
	tcpx_session_put(s);
	rc = tcpx_lease_wait(&e->loop[0], decided, p, &e->changes.count, &e->changes.sleepers,
			     timeout_ms);
	if (rc)
		return rc;
	rc = status_of(p);
	return rc && rc != -EAGAIN ? tcpx_peer_fail(p, rc) : rc;
}

int
tcpx_peer_query(tcpx_peer *p, struct tcpx_peer_info *info)
{
	struct tcpx_peer_info full = { .struct_size = info->struct_size };
	struct session *s;

	if (info->struct_size < sizeof(full.struct_size) || info->struct_size > sizeof(full))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL,
				 "tcpx_peer_info of %zu bytes, this library knows %zu",
				 info->struct_size, sizeof(full));
	full.status = status_of(p);
	snprintf(full.provider, sizeof(full.provider), "%s", p->engine->ops->name);
	pthread_mutex_lock(&p->lock);
	memcpy(full.name, p->name, sizeof(full.name));
	full.incarnation = p->incarnation;
	if (full.status && p->gone)
		memcpy(full.cause, p->gone_text, sizeof(full.cause));
	s = p->out;
	if (!s && !tcpx_chain_empty(&p->inbound))
		s = tcpx_container(p->inbound.next, struct session, in_peer);
	if (s)
		tcpx_session_get(s);
	pthread_mutex_unlock(&p->lock);
	if (s) {
		pthread_mutex_lock(&s->lock);
		full.channels_tx = s->chan.tx_up;
		full.channels_rx = s->chan.rx_up;
		full.channels_wanted = s->chan.count;
		full.chunk_bytes = s->chan.chunk_max;
		full.window_slots = s->chan.window;
		if (full.status && !full.cause[0])
			memcpy(full.cause, s->cause_text, sizeof(full.cause));
		full.setup_ns = s->health.open_ns ? s->health.open_ns - s->health.start_ns : 0;
		pthread_mutex_unlock(&s->lock);
		tcpx_session_put(s);
	}
	memcpy(info, &full, info->struct_size);
	return 0;
}

int
tcpx_notify(tcpx_peer *p, const void *data, size_t len)
{
	struct session *s;
	int rc;

	if (len > TCPX_NOTE_MAX || (len && !data))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "note of %zu bytes, at most %u allowed",
				 len, TCPX_NOTE_MAX);
	rc = tcpx_peer_session(p, &s);
	if (rc)
		return rc;
	pthread_mutex_lock(&s->lock);
	if (s->state == SESS_FAILED) {
		rc = tcpx_session_cause(s);
	} else {
		rc = tcpx_notes_send(s, data, len);
		tcpx_control_flush(s);
	}
	count_add(&p->engine->count.notes_tx, rc == 0);
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
	return rc;
}
