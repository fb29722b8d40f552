/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HELLO, HANDLES, READY: what two engines agree on before the first byte. With a secret both
 * have proved it by now, and all of this is sealed.
 */
#include "core/session/handshake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/random.h"
#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/queue.h"
#include "core/memory/payload.h"
#include "core/memory/touch.h"
#include "core/session/accept.h"
#include "core/session/control.h"
#include "core/session/half_open.h"
#include "core/session/identity.h"
#include "core/session/listen.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/session/twins.h"

/* The port of a listener that answers at @addr; 0: none, because only another
 * address was requested. */
static uint16_t
port_at(const struct tcpx_engine *e, const struct tcpx_addr *addr)
{
	static const uint8_t any[16];

	if (tcpx_addr_is_wild(addr))
		return 0;
	for (uint32_t i = 0; i < e->listeners->count; i++) {
		const struct tcpx_addr *bound = &e->listeners->at[i].bound;
		bool wild = !memcmp(bound->ip, any, sizeof(any));

		if (bound->family == addr->family ?
		    wild || !memcmp(bound->ip, addr->ip, sizeof(any)) : wild && bound->family == 6)
			return bound->port;
	}
	return 0;
}

/* HELLO with the wishes of this side. */
static void
our_hello(const struct tcpx_engine *e, uint64_t session, enum tcpx_role role, struct tcpx_hello *h)
{
	uint32_t i;

	memset(h, 0, sizeof(*h));
	h->session = session;
	h->role = role;
	h->incarnation = e->incarnation;
	h->host = e->host_id;
	memcpy(h->name, e->name, sizeof(h->name));
	snprintf(h->provider, sizeof(h->provider), "%s", e->ops->name);
	snprintf(h->terms, sizeof(h->terms), "%s", e->facts.terms);
	h->sums = e->limit.checksum;
	h->narrow = e->limit.narrow;
	h->channels = (uint16_t)e->limit.channels;
	h->window = (uint16_t)e->limit.window;
	h->chunk_max = e->limit.chunk_max;
	h->credit_xfers = e->limit.credit_xfers;
	h->credit_list_bytes = e->limit.credit_list;
	h->nic_count = (uint16_t)e->nics.count;
	for (i = 0; i < e->nics.count; i++) {
		h->nic[i].addr = tcpx_nic_advertised(&e->nics.at[i]);
		h->nic[i].addr.port = port_at(e, &e->nics.at[i].addr);
		h->nic[i].offer = e->nics.offer[i];
		memcpy(h->nic[i].offer.name, e->nics.at[i].name, sizeof(h->nic[i].offer.name));
		if (!e->ops->comm)
			h->nic[i].offer.rank = e->nics.at[i].place;
	}
}

static uint32_t
smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int
put_hello(struct session *s)
{
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	struct tcpx_hello h;
	struct tcpx_buf b;

	our_hello(s->engine, s->id, TCPX_ROLE_OPENER, &h);
	h.expect = s->peer->incarnation;
	if (h.expect || s->peer->named)
		memcpy(h.expect_name, s->peer->name, sizeof(h.expect_name));
	h.dialled = tcpx_control_dialled(s);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_hello_write(&b, &h);
	return tcpx_control_put_raw(s, TCPX_FR_HELLO, &b);
}

int
tcpx_handshake_answer(struct tcpx_engine *e, const struct tcpx_hello *theirs, struct tcpx_ctrl *ctrl)
{
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	struct tcpx_hello h;
	struct tcpx_buf b;

	our_hello(e, theirs->session, TCPX_ROLE_ACCEPTOR, &h);
	h.expect = theirs->incarnation;
	memcpy(h.expect_name, theirs->name, sizeof(h.expect_name));
	h.channels = (uint16_t)smaller(h.channels, theirs->channels);
	h.window = (uint16_t)smaller(h.window, theirs->window);
	h.chunk_max = smaller(h.chunk_max, theirs->chunk_max);
	h.sums |= theirs->sums;
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_hello_write(&b, &h);
	count_add(&e->count.ctrl_frames_tx, 1);
	return b.bad ? TCPX_ELIMIT : tcpx_ctrl_put_raw(ctrl, TCPX_FR_HELLO, room, b.pos);
}

/* Combines both sides' wishes; symmetric, so both compute the same. */
static int
settle(struct session *s, const struct tcpx_hello *h)
{
	struct tcpx_addr far = s->opener ? tcpx_control_dialled(s) : s->from;

	s->same_host = h->host && h->host == s->engine->host_id;
	s->chan.count = smaller(s->chan.count, h->channels);
	s->chan.window = smaller(s->chan.window, h->window);
	s->chan.chunk_max = smaller(s->chan.chunk_max, h->chunk_max);
	s->chan.narrows = s->engine->limit.narrow && h->narrow;
	s->credit.xfers = smaller(s->engine->limit.credit_xfers, h->credit_xfers);
	s->credit.list = h->credit_list_bytes;
	s->chan.peer_nic = malloc(h->nic_count * sizeof(h->nic[0]));
	if (!s->chan.peer_nic)
		return -ENOMEM;
	memcpy(s->chan.peer_nic, h->nic, h->nic_count * sizeof(h->nic[0]));
	s->chan.peer_nic_count = h->nic_count;
	tcpx_peer_meet(s, &far);
	s->sums = h->sums || s->engine->limit.checksum;
	if (!s->sums)
		return 0;
	tcpx_ctrl_sum(s->control.ctrl);
	return tcpx_touch_rooms_open(s->engine);
}

/* A loopback is of one host, and of one network namespace there: alone it leads to no other. */
static int
check_host(const struct tcpx_engine *e, const struct tcpx_hello *h, bool for_peer, char *why,
	   size_t cap)
{
	bool ours = true, theirs = true;
	uint32_t i;

	if (!e->host_id || !h->host || e->host_id == h->host)
		return 0;
	for (i = 0; i < e->nics.count; i++)
		ours &= tcpx_addr_is_loopback(&e->nics.at[i].addr);
	for (i = 0; i < h->nic_count; i++)
		theirs &= tcpx_addr_is_loopback(&h->nic[i].addr);
	if (!ours && !theirs)
		return 0;
	if (ours && theirs)
		snprintf(why, cap, "both sides offer only loopback addresses, and are on two hosts (or "
			 "in two network namespaces): name a NIC on each (nics=, --nics)");
	else
		snprintf(why, cap, "%s offers only loopback addresses, those of another host (or "
			 "network namespace): name a NIC %s (nics=, --nics)",
			 theirs != for_peer ? "the peer" : "this side",
			 theirs != for_peer ? "there" : "here");
	return -ENONET;
}

/* The reason @why in the words of this side, or of the one that reads our REFUSE. */
static int
check_hello(const struct tcpx_engine *e, const struct tcpx_hello *h, bool for_peer, char *why,
	    size_t cap)
{
	const char *us = for_peer ? "the peer" : "this side";
	const char *them = for_peer ? "this side" : "the peer";
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
	if ((h->sums || e->limit.checksum) && e->limit.unpack != TCPX_UNPACK_KERNEL) {
		for (uint32_t i = 0; e->ops->comm && i < e->nics.count; i++) {
			if (e->nics.at[i].gpu < 0)
				continue;
			snprintf(why, cap, "TCPX_CHECKSUM is set, and %s receives over %s into memory of "
				 "GPU %d, which only TCPX_UNPACK_IMPL=kernel sums", us,
				 e->nics.at[i].name, e->nics.at[i].gpu);
			return TCPX_EVERSION;
		}
	}
	return check_host(e, h, for_peer, why, cap);
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

/* Opener: the peer's name and incarnation are known now. Its next frame may be behind this one, and is of no
 * interest to a session that gives way. */
static int
recognise(struct session *s, const struct tcpx_hello *h, uint64_t now_ns)
{
	int rc;

	tcpx_peer_recognise(s->peer, h->incarnation, h->name);
	tcpx_session_wake_loop(s);
	tcpx_twins_stir(s);
	rc = settle(s, h);
	if (rc == 0)
		rc = own_keys(s);
	if (rc)
		return rc;
	s->hs->answer_ns = now_ns + s->engine->limit.handshake_ns - s->hs->deadline_ns;
	s->hs->deadline_ns = now_ns + s->engine->limit.handshake_ns;
	s->state = SESS_HANDLES;
	tcpx_twins_give_way(s, now_ns);
	return 0;
}

static int
on_hello(struct session *s, const uint8_t *payload, size_t len, uint64_t now_ns)
{
	struct tcpx_identity us = tcpx_control_identity(s);
	struct tcpx_hello h;
	struct tcpx_buf b;
	char why[320];
	int rc;

	tcpx_buf_init_const(&b, payload, len);
	if (!s->opener || s->state != SESS_HELLO || tcpx_hello_read(&b, &h) != 0 ||
	    h.session != s->id || h.role != TCPX_ROLE_ACCEPTOR)
		return TCPX_EPROTO;
	rc = tcpx_identity_hello(&us, &h, NULL, why, sizeof(why));
	if (rc == 0)
		rc = check_hello(s->engine, &h, false, why, sizeof(why));
	if (rc) {
		tcpx_session_fail(s, rc, "%s", why);
		return 0;
	}
	return recognise(s, &h, now_ns);
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
	if (s->opener) {
		if (s->state != SESS_HANDLES)
			return TCPX_EPROTO;
		tcpx_twins_stir(s);
		return up->handles(s, &h);
	}
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
tcpx_handshake_forget(struct session *s)
{
	struct handshake was = *s->hs;
	struct tcpx_ctrl *fresh;
	int rc;

	for (uint32_t k = 0; k < TCPX_CHANNELS_MAX; k++)
		if (s->chan.tx[k] || s->chan.rx[k])
			return -EAGAIN;
	if (!s->chan.peer_nic) /* it had no HELLO */
		return 0;
	/* the peer may still take the old number for a session that stands */
	rc = tcpx_random_bytes(&s->id, sizeof(s->id));
	if (rc == 0)
		rc = tcpx_ctrl_new(&fresh);
	if (rc)
		return rc;
	tcpx_ctrl_free(s->control.ctrl);
	tcpx_ctrl_charge(fresh, &s->peer->kept);
	s->control.ctrl = fresh;
	s->sums = false;
	free(s->chan.peer_nic);
	free(s->chan.search);
	s->chan = (struct channel_set){ .count = 0 };
	*s->hs = (struct handshake){ .deadline_ns = was.deadline_ns,
				     .connect_until_ns = was.connect_until_ns,
				     .retry_pause_ns = was.retry_pause_ns };
	tcpx_node_init(&s->hs->half_open);
	return 0;
}

int
tcpx_handshake_check(const struct tcpx_engine *e, const struct tcpx_hello *h,
		     const struct tcpx_addr *at, struct tcpx_refusal *no)
{
	struct tcpx_identity us = { .name = e->name, .incarnation = e->incarnation,
				    .secret = e->secret != NULL, .peer_name = "" };
	int rc = check_hello(e, h, false, no->why, sizeof(no->why));

	if (rc) {
		(void)check_hello(e, h, true, no->answer, sizeof(no->answer));
		return rc;
	}
	if (tcpx_listen_is_advertised(e, &h->dialled))
		at = &h->dialled;
	rc = tcpx_identity_hello(&us, h, at, no->why, sizeof(no->why));
	snprintf(no->answer, sizeof(no->answer), "%.*s", TCPX_TEXT_MAX - 1, no->why);
	return rc;
}

int
tcpx_handshake_accept(struct session *s, const struct tcpx_hello *h, bool answer, uint64_t now_ns)
{
	const struct limits *l = &s->engine->limit;
	int rc;

	s->id = h->session;
	s->chan.count = l->channels;
	s->chan.window = l->window;
	s->chan.chunk_max = l->chunk_max;
	s->hs->deadline_ns = now_ns + l->handshake_ns;
	tcpx_session_add_timer(s, s->hs->deadline_ns);
	s->state = SESS_HELLO;
	rc = settle(s, h);
	if (rc == 0)
		rc = tcpx_random_bytes(s->resume.token, sizeof(s->resume.token));
	if (rc == 0)
		rc = tcpx_random_bytes(s->hs->seed, sizeof(s->hs->seed));
	if (rc == 0)
		rc = own_keys(s);
	if (rc == 0 && answer)
		rc = tcpx_handshake_answer(s->engine, h, s->control.ctrl);
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
tcpx_handshake_done(struct session *s, uint64_t now_ns)
{
	s->state = SESS_OPEN;
	s->health.open_ns = s->health.heard_ns = s->control.toll.paid_ns = now_ns;
	s->sched.drr.quantum = s->chan.chunk_max;
	tcpx_info(TCPX_SUB_BOOT, "session %016llx with %s: %u + %u channels, chunk at most %u, "
		  "window %u, open in %.1f ms", (unsigned long long)s->id, s->peer->name,
		  s->chan.tx_up, s->chan.rx_up, s->chan.chunk_max, s->chan.window,
		  (double)(now_ns - s->health.start_ns) / 1e6);
	tcpx_half_open_remove(s);
	tcpx_notes_flush(s);
	free(s->hs);
	s->hs = NULL;
	s->engine->up.session->opened(s, now_ns);
	tcpx_control_flush(s);
	tcpx_queue_peer(s->engine, &s->peer->news, s->peer->name, s->peer->incarnation, 0);
	tcpx_event_session(s->engine);
}

uint64_t
tcpx_wiring_patience(const struct session *s)
{
	const struct tcpx_engine *e = s->engine;

	return e->limit.handshake_ns + e->facts.setup_ns - (s->opener ? e->limit.handshake_ns / 8 : 0);
}
