/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that have not said who they are: bounded in number and time. The first
 * frame makes one a new session or resumes an old one; anything else is shown out without
 * a trace in other sessions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "core/core.h"

#define GUESTS_MAX 256

struct guest {
	struct source source;
	struct grave grave;
	struct tcpx_node node;
	struct loop *loop;
	struct tcpx_stream *stream;
	struct tcpx_ctrl *ctrl;
	struct tcpx_addr from;
	uint64_t deadline_ns;
};

static void
bury_guest(struct grave *grave)
{
	free(tcpx_container(grave, struct guest, grave));
}

static void
guest_close(struct guest *g)
{
	struct loop *l = g->loop;

	if (g->stream)
		l->engine->ops->stream_close(g->stream);
	tcpx_ctrl_free(g->ctrl);
	g->source.on_ready = NULL;
	tcpx_chain_remove(&g->node);
	l->guest_count--;
	tcpx_loop_bury(l, &g->grave, bury_guest);
}

static void
turn_away(struct guest *g, int code, const char *why)
{
	uint8_t room[256];
	const uint8_t *data;
	struct tcpx_buf b;
	char from[64];
	size_t len;

	tcpx_addr_format(&g->from, from, sizeof(from));
	(void)tcpx_fail(TCPX_SUB_BOOT, code, "connection from %s turned away: %s", from, why);
	count_add(&g->loop->engine->count.refused, 1);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_refuse_write(&b, code, why);
	if (!b.bad && tcpx_ctrl_put_raw(g->ctrl, TCPX_FR_REFUSE, room, b.pos) == 0 &&
	    (len = tcpx_ctrl_pending(g->ctrl, &data)) > 0)
		(void)g->loop->engine->ops->stream_send(g->stream, data, len);
	guest_close(g);
}

static int
welcome(struct guest *g, const struct tcpx_hello *h, uint64_t now_ns)
{
	struct tcpx_engine *e = g->loop->engine;
	struct session *s;
	int rc;

	rc = tcpx_session_new(e, false, &s);
	if (rc)
		return rc;
	pthread_mutex_lock(&s->lock);
	rc = tcpx_peer_meet(e, h->name, h->incarnation, &s->peer);
	if (rc == 0)
		rc = e->ops->stream_watch(g->stream, s->loop->poller, &s->source, TCPX_READABLE);
	if (rc == 0) {
		s->stream = g->stream;
		s->stream_up = true;
		s->stream_interest = TCPX_READABLE;
		s->heard_ns = now_ns;
		g->stream = NULL;
		tcpx_chain_add(&s->loop->sessions, &s->in_loop);
		pthread_mutex_lock(&s->peer->lock);
		tcpx_chain_add(&s->peer->inbound, &s->in_peer);
		pthread_mutex_unlock(&s->peer->lock);
		rc = tcpx_handshake_accept(s, h, now_ns);
		tcpx_control_flush(s);
	}
	if (rc)
		tcpx_session_fail(s, rc, "%s", "cannot be set up here");
	pthread_mutex_unlock(&s->lock);
	if (rc || s->state == SESS_FAILED)
		tcpx_session_kick_loop(s);
	tcpx_session_put(s);
	return 0;
}

/* The addresses that the opener listens on: where this engine may call it back. */
static void
note_addresses(struct tcpx_engine *e, const struct tcpx_hello *h)
{
	struct tcpx_peer *p;
	uint32_t i;

	if (tcpx_peer_meet(e, h->name, h->incarnation, &p) != 0)
		return;
	pthread_mutex_lock(&p->lock);
	for (i = 0; p->addr_count == 0 && i < h->nic_count; i++) {
		p->addr[i] = (struct tcpx_addr){ .family = h->nic[i].addr.family,
						 .port = h->nic[i].port, .scope = h->nic[i].scope };
		memcpy(p->addr[i].ip, h->nic[i].addr.ip, 16);
	}
	if (p->addr_count == 0)
		p->addr_count = h->nic_count;
	pthread_mutex_unlock(&p->lock);
	tcpx_peer_put(p);
}

static void
introduce(struct guest *g, const struct tcpx_frame_head *head, const uint8_t *payload,
	  uint64_t now_ns)
{
	struct tcpx_engine *e = g->loop->engine;
	struct tcpx_resume resume;
	struct tcpx_hello hello;
	struct tcpx_buf b;
	int rc = TCPX_EPROTO;

	tcpx_buf_init_const(&b, payload, head->len - TCPX_FRAME_HEAD);
	if (head->type == TCPX_FR_HELLO && tcpx_hello_read(&b, &hello) == 0) {
		rc = welcome(g, &hello, now_ns);
		if (rc == 0)
			note_addresses(e, &hello);
	} else if (head->type == TCPX_FR_RESUME && tcpx_resume_read(&b, &resume) == 0) {
		rc = tcpx_resume_accept(e, &resume, g->stream, now_ns);
		if (rc == 0)
			g->stream = NULL;
	}
	if (rc)
		turn_away(g, rc, "its first frame is not acceptable");
	else
		guest_close(g);
}

static void
guest_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct guest *g = tcpx_container(src, struct guest, source);
	struct tcpx_frame_head head;
	const uint8_t *payload;
	uint8_t *room;
	size_t cap;
	ssize_t n;
	int rc;

	(void)ready;
	cap = tcpx_ctrl_room(g->ctrl, &room);
	n = g->loop->engine->ops->stream_recv(g->stream, room, cap);
	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		guest_close(g);
		return;
	}
	tcpx_ctrl_arrived(g->ctrl, (size_t)n);
	rc = tcpx_ctrl_take(g->ctrl, &head, &payload);
	if (rc < 0)
		turn_away(g, TCPX_EPROTO, "it does not speak this protocol");
	else if (rc == 1)
		introduce(g, &head, payload, now_ns);
}

static void
receive_guest(struct tcpx_engine *e, struct tcpx_stream *stream, const struct tcpx_addr *from,
	      uint64_t now_ns)
{
	struct loop *l = &e->loop[0];
	struct guest *g = NULL;

	if (l->guest_count < GUESTS_MAX && !atomic_load(&e->closing))
		g = calloc(1, sizeof(*g));
	if (!g || tcpx_ctrl_new(&g->ctrl) != 0) {
		count_add(&e->count.refused, 1);
		e->ops->stream_close(stream);
		free(g);
		return;
	}
	g->source.on_ready = guest_ready;
	g->loop = l;
	g->stream = stream;
	g->from = *from;
	g->deadline_ns = now_ns + e->limit.handshake_ns;
	tcpx_chain_add(&l->guests, &g->node);
	l->guest_count++;
	tcpx_loop_timer(l, g->deadline_ns);
	if (e->ops->stream_watch(stream, l->poller, &g->source, TCPX_READABLE) != 0)
		guest_close(g);
}

static void
listener_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct listening *at = tcpx_container(src, struct listening, source);
	struct tcpx_stream *stream;
	struct tcpx_addr from;

	(void)ready;
	while (at->engine->ops->accept(at->listener, &stream, &from) == 0)
		receive_guest(at->engine, stream, &from, now_ns);
}

void
tcpx_guest_timer(struct loop *l, uint64_t now_ns)
{
	tcpx_chain_each(n, after, &l->guests) {
		struct guest *g = tcpx_container(n, struct guest, node);

		if (now_ns >= g->deadline_ns)
			turn_away(g, TCPX_ETIMEDOUT, "it said nothing in time");
		else
			tcpx_loop_timer(l, g->deadline_ns);
	}
}

void
tcpx_guest_close_all(struct loop *l)
{
	tcpx_chain_each(n, after, &l->guests)
		guest_close(tcpx_container(n, struct guest, node));
}

/* ---- listening ---- */

static int
listen_at(struct tcpx_engine *e, const struct tcpx_addr *addr)
{
	struct listening *at = &e->listening[e->listening_count];
	int rc;

	rc = e->ops->listen(e->net, addr, &at->bound, &at->listener);
	if (rc)
		return rc;
	at->engine = e;
	at->source.on_ready = listener_ready;
	e->listening_count++;
	return e->ops->listener_watch(at->listener, e->loop[0].poller, &at->source);
}

/* "PORT" for every NIC, or "ADDR:PORT". */
int
tcpx_guest_listen(struct tcpx_engine *e, const char *text)
{
	uint64_t port = tcpx_cfg_num(e->cfg, TCPX_SET_PORT);
	struct tcpx_addr addr;
	uint32_t i;
	int rc;

	if (text && tcpx_parse_count(text, &port) != 0)
		return tcpx_addr_parse(text, &addr) == 0 ? listen_at(e, &addr) : TCPX_ECONFIG;
	if (port > 65535)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_ECONFIG,
				 "listen \"%s\": PORT (0 to 65535) or ADDRESS:PORT expected", text);
	for (i = 0; i < e->nic_count; i++) {
		addr = e->nic[i].addr;
		addr.port = (uint16_t)port;
		rc = listen_at(e, &addr);
		if (rc == -EADDRINUSE && i > 0) {
			addr.port = 0;
			rc = listen_at(e, &addr);
		}
		if (rc)
			return rc;
		port = e->listening[0].bound.port; /* the same everywhere, if it can be had */
	}
	return 0;
}
