/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HELLO, HANDLES, READY: what two engines agree on before the first byte. With a secret both
 * have proved it by now, and all of this is sealed. It is one secret of many engines: so names,
 * incarnations, roles and the peer that was dialled are compared here (RFC 9257, section 4).
 */
#include "core/session/handshake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/context/context.h"
#include "core/memory/payload.h"
#include "core/session/accept.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"

/* The port of a listener that answers at @addr; 0: none, because only another
 * address was requested. */
static uint16_t
port_at(const struct tcpx_engine *e, const struct tcpx_addr *addr)
{
	static const uint8_t any[16];

	for (uint32_t i = 0; i < e->listeners->count; i++) {
		const struct tcpx_addr *bound = &e->listeners->at[i].bound;
		bool wild = !memcmp(bound->ip, any, sizeof(any));

		if (bound->family == addr->family ?
		    wild || !memcmp(bound->ip, addr->ip, sizeof(any)) : wild && bound->family == 6)
			return bound->port;
	}
	return 0;
}

/* The address that the opener has connected to. */
static struct tcpx_addr
dialled(const struct session *s)
{
	struct tcpx_peer *p = s->peer;
	struct tcpx_addr at = { 0 };

	pthread_mutex_lock(&p->lock);
	if (p->addr_count)
		at = p->addr[(s->control.target_addr - 1) % p->addr_count];
	pthread_mutex_unlock(&p->lock);
	return at;
}

static void
our_hello(const struct session *s, struct tcpx_hello *h)
{
	const struct tcpx_engine *e = s->engine;
	uint32_t i;

	memset(h, 0, sizeof(*h));
	h->session = s->id;
	h->role = s->opener ? TCPX_ROLE_OPENER : TCPX_ROLE_ACCEPTOR;
	h->incarnation = e->incarnation;
	h->expect = s->peer->incarnation;
	if (h->expect || s->peer->named)
		memcpy(h->expect_name, s->peer->name, sizeof(h->expect_name));
	if (s->opener)
		h->dialled = dialled(s);
	h->host = e->host_id;
	memcpy(h->name, e->name, sizeof(h->name));
	snprintf(h->provider, sizeof(h->provider), "%s", e->ops->name);
	snprintf(h->terms, sizeof(h->terms), "%s", e->facts.terms);
	h->channels = (uint16_t)s->chan.count;
	h->window = (uint16_t)s->chan.window;
	h->chunk_max = s->chan.chunk_max;
	h->credit_xfers = e->limit.credit_xfers;
	h->credit_list_bytes = e->limit.credit_list;
	h->nic_count = (uint16_t)e->nics.count;
	for (i = 0; i < e->nics.count; i++) {
		h->nic[i].addr = e->nics.at[i].addr;
		h->nic[i].addr.port = port_at(e, &e->nics.at[i].addr);
		h->nic[i].offer = e->nics.offer[i];
		memcpy(h->nic[i].offer.name, e->nics.at[i].name, sizeof(h->nic[i].offer.name));
	}
}

static int
put_hello(struct session *s)
{
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	struct tcpx_hello h;
	struct tcpx_buf b;

	our_hello(s, &h);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_hello_write(&b, &h);
	return tcpx_control_put_raw(s, TCPX_FR_HELLO, &b);
}

static uint32_t
smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Combines both sides' wishes; symmetric, so both compute the same. */
static int
settle(struct session *s, const struct tcpx_hello *h)
{
	s->chan.count = smaller(s->chan.count, h->channels);
	s->chan.window = smaller(s->chan.window, h->window);
	s->chan.chunk_max = smaller(s->chan.chunk_max, h->chunk_max);
	s->credit.xfers = smaller(s->engine->limit.credit_xfers, h->credit_xfers);
	s->credit.list = h->credit_list_bytes;
	s->chan.peer_nic = malloc(h->nic_count * sizeof(h->nic[0]));
	if (!s->chan.peer_nic)
		return -ENOMEM;
	memcpy(s->chan.peer_nic, h->nic, h->nic_count * sizeof(h->nic[0]));
	s->chan.peer_nic_count = h->nic_count;
	return 0;
}

/* The reason @why in the words of this side, or of the one that reads our REFUSE. */
static int
check_hello(const struct session *s, const struct tcpx_hello *h, bool for_peer, char *why,
	    size_t cap)
{
	const char *us = for_peer ? "the peer" : "this side";
	const char *them = for_peer ? "this side" : "the peer";
	const struct tcpx_engine *e = s->engine;
	const char *terms = e->facts.terms;

	if (strcmp(h->provider, e->ops->name) != 0) {
		snprintf(why, cap, "%s uses provider %.15s, %s %s", them, h->provider, us,
			 e->ops->name);
		return TCPX_EVERSION;
	}
	if (strcmp(h->terms, terms) != 0) {
		snprintf(why, cap, "%s's %s has %s, that of %s %s; they must be alike", them,
			 e->ops->name, h->terms, us, terms);
		return TCPX_EVERSION;
	}
	if (h->channels == 0 || h->channels > TCPX_CHANNELS_MAX || h->window == 0 ||
	    h->chunk_max < 4096 || h->credit_xfers == 0 || h->nic_count == 0) {
		snprintf(why, cap, "%s offers %u channels, window %u, chunk %u, %u NICs", them,
			 h->channels, h->window, h->chunk_max, h->nic_count);
		return TCPX_EPROTO;
	}
	return 0;
}

static bool
same_place(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	return a->family == b->family && a->port == b->port && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

/*
 * With one secret for many engines, knowing it does not say who knows it: a connection meant
 * for one of them could be led to another, or back to its sender. @at: acceptor: the address
 * at which it was reached. A peer dialled by incarnation or by name is compared by these, one
 * dialled by address alone by that address.
 */
static int
check_identity(const struct session *s, const struct tcpx_hello *h, const struct tcpx_addr *at,
	       char *why, size_t cap)
{
	const struct tcpx_engine *e = s->engine;
	bool named = h->expect || h->expect_name[0];
	char to[64], here[64];

	if (h->expect && h->expect != e->incarnation) {
		snprintf(why, cap, "%s is another incarnation now", e->name);
		return TCPX_EPEERGONE;
	}
	if (h->expect_name[0] && strcmp(h->expect_name, e->name) != 0) {
		snprintf(why, cap, "meant for %s, reached %s", h->expect_name, e->name);
		return TCPX_EAUTH;
	}
	if (!e->secret)
		return 0;
	if (h->incarnation == e->incarnation && (s->opener ? s->peer->incarnation : h->expect) == 0) {
		snprintf(why, cap, "the connection came back to its sender, %s", e->name);
		return TCPX_EAUTH;
	}
	if (at && at->family && h->dialled.family && !named && !same_place(&h->dialled, at)) {
		tcpx_addr_format(&h->dialled, to, sizeof(to));
		tcpx_addr_format(at, here, sizeof(here));
		snprintf(why, cap, "meant for %s, reached %s: behind an address translator, "
			 "connect to NAME@HOST:PORT", to, here);
		return TCPX_EAUTH;
	}
	return 0;
}

/* With a secret: what resuming stands on is of this connection, and of no other holder of it. */
static int
own_keys(struct session *s)
{
	struct tcpx_seal_psk *key = &s->resume.key;
	struct tcpx_buf b;

	if (!s->engine->secret)
		return 0;
	tcpx_buf_init(&b, key->id, sizeof(key->id));
	tcpx_buf_put_u64(&b, s->id);
	key->id_len = (uint8_t)b.pos;
	return tcpx_line_key(&s->control.line, "EXPERIMENTAL tcpx-p2p resume", NULL, 0, key->key,
			     sizeof(key->key));
}

/* Opener: the peer's name and incarnation are known now. */
static int
recognise(struct session *s, const struct tcpx_hello *h)
{
	struct tcpx_peer *p = s->peer;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	if (p->incarnation && p->incarnation != h->incarnation) {
		rc = TCPX_EPEERGONE;
	} else if (p->named && strcmp(p->name, h->name) != 0) {
		rc = TCPX_EAUTH;
	} else if (p->incarnation == 0) { /* after that others read these without a lock */
		p->incarnation = h->incarnation;
		memcpy(p->name, h->name, sizeof(p->name));
	}
	if (rc == 0)
		tcpx_peer_learn(p, h); /* the stream may be resumed there */
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int
on_hello(struct session *s, const uint8_t *payload, size_t len, uint64_t now_ns)
{
	struct tcpx_hello h;
	struct tcpx_buf b;
	char why[320];
	int rc;

	tcpx_buf_init_const(&b, payload, len);
	if (!s->opener || s->state != SESS_HELLO || tcpx_hello_read(&b, &h) != 0 ||
	    h.session != s->id || h.role != TCPX_ROLE_ACCEPTOR)
		return TCPX_EPROTO;
	rc = check_identity(s, &h, NULL, why, sizeof(why));
	if (rc == 0)
		rc = check_hello(s, &h, false, why, sizeof(why));
	if (rc) {
		tcpx_session_fail(s, rc, "%s", why);
		return 0;
	}
	rc = recognise(s, &h);
	if (rc == TCPX_EAUTH) {
		tcpx_session_fail(s, rc, "%s answers, not %s", h.name, s->peer->name);
		return 0;
	}
	if (rc) {
		tcpx_session_fail(s, rc, "%s has restarted: another incarnation answers", h.name);
		return 0;
	}
	if (settle(s, &h) != 0)
		return -ENOMEM;
	s->hs->deadline_ns = now_ns + s->engine->limit.handshake_ns;
	s->state = SESS_HANDLES;
	return own_keys(s);
}

static int
on_handles(struct session *s, const uint8_t *payload, size_t len)
{
	const struct session_calls *up = s->engine->up.session;
	struct tcpx_handles h;
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, payload, len);
	if (tcpx_handles_read(&b, &h) != 0 || h.count != 2 * s->chan.count)
		return TCPX_EPROTO;
	if (s->opener)
		return s->state == SESS_HANDLES ? up->handles(s, &h) : TCPX_EPROTO;
	if (s->state != SESS_WIRING)
		return TCPX_EPROTO;
	return up->handles(s, &h);
}

static int
on_ready(struct session *s, const uint8_t *payload, size_t len, uint64_t now_ns)
{
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, payload, len);
	if ((s->state != SESS_WIRING && s->state != SESS_READY) || s->hs->ready_came ||
	    (s->opener && s->state != SESS_READY) || tcpx_ready_read(&b, &s->hs->ready) != 0)
		return TCPX_EPROTO;
	s->hs->ready_came = true;
	s->engine->up.session->wire(s, now_ns);
	return 0;
}

int
tcpx_handshake_start(struct session *s)
{
	const struct limits *l = &s->engine->limit;

	s->chan.count = l->channels;
	s->chan.window = l->window;
	s->chan.chunk_max = l->chunk_max;
	s->state = SESS_HELLO;
	s->hs->deadline_ns = engine_now(s->engine) + l->handshake_ns;
	tcpx_session_add_timer(s, s->hs->deadline_ns);
	return put_hello(s);
}

int
tcpx_handshake_accept(struct session *s, const struct tcpx_hello *h, const struct tcpx_addr *at,
		      uint64_t now_ns)
{
	const struct limits *l = &s->engine->limit;
	char why[320];
	int rc;

	s->id = h->session;
	s->chan.count = l->channels;
	s->chan.window = l->window;
	s->chan.chunk_max = l->chunk_max;
	s->hs->deadline_ns = now_ns + l->handshake_ns;
	tcpx_session_add_timer(s, s->hs->deadline_ns);
	s->state = SESS_HELLO;
	rc = check_hello(s, h, false, why, sizeof(why));
	if (rc)
		(void)check_hello(s, h, true, s->hs->refusal, sizeof(s->hs->refusal));
	else
		rc = check_identity(s, h, at, why, sizeof(why));
	if (rc) {
		count_add(&s->engine->count.refused, 1);
		tcpx_session_fail(s, rc, "%s", why);
		return 0;
	}
	rc = settle(s, h);
	if (rc == 0)
		rc = tcpx_random_bytes(s->resume.token, sizeof(s->resume.token));
	if (rc == 0)
		rc = tcpx_random_bytes(s->hs->seed, sizeof(s->hs->seed));
	if (rc == 0)
		rc = own_keys(s);
	if (rc == 0)
		rc = put_hello(s);
	if (rc)
		return rc;
	return s->engine->up.session->listen(s);
}

int
tcpx_handshake_frame(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload,
		     uint64_t now_ns)
{
	size_t len = h->len - TCPX_FRAME_HEAD;

	switch (h->type) {
	case TCPX_FR_HELLO:
		return on_hello(s, payload, len, now_ns);
	case TCPX_FR_HANDLES:
		return on_handles(s, payload, len);
	case TCPX_FR_READY:
		return on_ready(s, payload, len, now_ns);
	default:
		return TCPX_EPROTO;
	}
}

void
tcpx_handshake_stranger(struct session *s, int code, const char *why)
{
	struct tcpx_addr at = dialled(s);
	char text[64];

	tcpx_addr_format(&at, text, sizeof(text));
	tcpx_session_fail(s, code, "something listens at %s that is no tcpx engine%s", text, why);
}

uint64_t
tcpx_wiring_patience(const struct tcpx_engine *e)
{
	return e->limit.handshake_ns + e->facts.setup_ns;
}
