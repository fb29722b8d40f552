/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending connections: bounded in number and time. Each begins with START; with a secret the
 * proof follows. Any that goes on otherwise is refused, without a trace elsewhere: no name, no
 * session, no connection to its addresses.
 */
#include "core/session/accept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/greet.h"
#include "core/session/listen.h"
#include "core/session/pending.h"
#include "core/session/resume.h"

#define AT_ONCE     64                /* taken from a listener in one turn            */
#define REST_NS     (100 * TCPX_MS) /* without descriptors                          */
#define SOON_NS     (10 * TCPX_MS)  /* until one may have done so                   */

/* Starts the handshake that START asks for. */
static int
seal(struct pending_conn *g)
{
	const struct tcpx_secret *secret = g->loop->engine->secret;
	struct tcpx_seal_psk own;
	int rc;

	if (!secret)
		return 0;
	if (g->start.kind != TCPX_START_RESUME)
		return tcpx_line_seal(&g->line, secret, false, secret->psk, secret->count);
	rc = tcpx_resume_key(g->loop->engine, g->start.session, &own);
	if (rc == 0)
		rc = tcpx_line_seal(&g->line, secret, false, &own, 1);
	explicit_bzero(&own, sizeof(own));
	return rc;
}

/* START has come. */
static void
started(struct pending_conn *g)
{
	const struct tcpx_engine *e = g->loop->engine;
	struct tcpx_buf b;
	char why[160];

	tcpx_buf_init_const(&b, g->first + TCPX_FRAME_HEAD, g->first_len - TCPX_FRAME_HEAD);
	if (tcpx_start_read(&b, &g->start) != 0) {
		tcpx_pending_turn_away(g, TCPX_EPROTO, "it does not speak this protocol");
	} else if (g->start.version_min > TCPX_PROTO_VERSION ||
		   g->start.version_max < TCPX_PROTO_VERSION) {
		/* for the log here and for the peer's */
		snprintf(why, sizeof(why), "the connecting side speaks protocol versions %u to %u, the listening "
			 "side %u: use one release on both", g->start.version_min, g->start.version_max,
			 TCPX_PROTO_VERSION);
		tcpx_pending_turn_away(g, TCPX_EVERSION, why);
	} else if (g->start.sealed != (e->secret != NULL)) {
		tcpx_pending_turn_away(g, TCPX_EAUTH, e->secret ? "it has no secret, this side has one" :
						     "it wants a secret, this side has none");
	} else if (seal(g) != 0) {
		tcpx_pending_turn_away(g, TCPX_ELIMIT, "its proof cannot be checked now");
	} else {
		g->started = true;
		g->known = e->secret && g->start.kind == TCPX_START_RESUME;
	}
}

/* START alone is read here: behind it bytes of TLS may follow. */
static void
read_start(struct pending_conn *g)
{
	struct tcpx_frame_head h;
	size_t want = TCPX_FRAME_HEAD;
	ssize_t n;

	do {
		if (g->first_len >= TCPX_FRAME_HEAD) {
			if (tcpx_frame_head_read(g->first, g->first_len, &h) != 0 ||
			    h.type != TCPX_FR_START || h.len > START_MAX) {
				tcpx_pending_turn_away(g, TCPX_EPROTO, "it does not speak this protocol");
				return;
			}
			want = h.len;
		}
		if (g->first_len == want) {
			started(g);
			return;
		}
		n = g->loop->engine->ops->stream_recv(g->line.stream, g->first + g->first_len,
						      want - g->first_len);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			tcpx_pending_close(g);
			return;
		}
		g->first_len += (size_t)n;
	} while (1);
}

/* What the handshake has to say. False: the connection is broken. */
static bool
answer(struct pending_conn *g)
{
	const struct tcpx_net_ops *net = g->loop->engine->ops;
	ssize_t n = tcpx_line_send(&g->line, net, NULL, 0);
	unsigned interest = TCPX_READABLE | (tcpx_line_owes(&g->line) ? TCPX_WRITABLE : 0);

	if (n < 0 && n != -EAGAIN)
		return false;
	return net->stream_watch(g->line.stream, g->loop->poller, &g->source, interest) == 0;
}

static void
pending_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct pending_conn *g = tcpx_container(src, struct pending_conn, source);
	const struct tcpx_net_ops *net = g->loop->engine->ops;
	struct tcpx_frame_head head;
	const uint8_t *payload;
	uint8_t *room;
	size_t cap;
	ssize_t n;
	int rc;

	if (g->hello) {
		if (ready & TCPX_BROKEN)
			tcpx_pending_close(g);
		return;
	}
	if (!g->started)
		read_start(g);
	if (!g->source.on_ready || !g->started)
		return;
	cap = tcpx_ctrl_room(g->ctrl, &room);
	n = tcpx_line_recv(&g->line, net, false, room, cap);
	if (n == -EAGAIN && (!g->line.seal || answer(g)))
		return;
	if (n == TCPX_EAUTH || n == TCPX_EPROTO) {
		tcpx_pending_turn_away(g, (int)n, n == TCPX_EAUTH ? "it does not know the secret" :
						       "it does not speak this protocol");
		return;
	}
	if (n <= 0) {
		tcpx_pending_close(g);
		return;
	}
	tcpx_ctrl_arrived(g->ctrl, (size_t)n);
	rc = tcpx_ctrl_next(g->ctrl, &head, &payload);
	if (rc < 0)
		tcpx_pending_turn_away(g, TCPX_EPROTO, "it does not speak this protocol");
	else if (rc == 1)
		tcpx_greet_first(g, &head, payload, now_ns);
}

static void
add_pending(struct tcpx_engine *e, struct tcpx_stream *stream, const struct tcpx_addr *from,
	    const struct tcpx_addr *at, uint64_t now_ns)
{
	struct loop *l = &e->loop[0];
	struct pending_conn *g = NULL;

	if (!atomic_load(&e->closing))
		g = calloc(1, sizeof(*g));
	if (!g || tcpx_ctrl_new(&g->ctrl) != 0) {
		count_add(&e->count.refused, 1);
		e->ops->stream_close(stream);
		free(g);
		return;
	}
	g->source.on_ready = pending_ready;
	g->loop = l;
	g->line.stream = stream;
	g->from = *from;
	g->at = *at;
	g->since_ns = now_ns;
	g->deadline_ns = now_ns + e->limit.handshake_ns;
	tcpx_chain_add(&l->engine->listeners->pending, &g->node);
	l->engine->listeners->pending_count++;
	tcpx_loop_timer(l, g->deadline_ns);
	if (e->ops->stream_watch(stream, l->poller, &g->source, TCPX_READABLE) != 0)
		tcpx_pending_close(g);
}

static void
make_room(struct pending_conn *g, uint64_t now_ns)
{
	const struct listeners *all = g->loop->engine->listeners;
	char from[64];

	tcpx_addr_format(&g->from, from, sizeof(from));
	tcpx_warn(TCPX_SUB_BOOT, "connection from %s closed after %llu ms: %u wait to introduce "
		  "themselves, at most %u may", from,
		  (unsigned long long)((now_ns - g->since_ns) / TCPX_MS), all->pending_count,
		  all->pending_max);
	count_add(&g->loop->engine->count.refused, 1);
	tcpx_pending_close(g);
}

/* One that comes makes room for itself. So many a turn are taken when there is none, too: else a
 * loop that is busy with payload would be slower than those that come. */
void
tcpx_accept_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct listening *at = tcpx_container(src, struct listening, source);
	const struct listeners *all = at->engine->listeners;
	struct pending_conn *victim = NULL;
	struct tcpx_stream *stream;
	struct tcpx_addr from, here;
	uint32_t i;
	int rc = 0;

	(void)ready;
	for (i = 0; i < AT_ONCE && rc == 0; i++) {
		if (all->pending_count >= all->pending_max) {
			victim = tcpx_pending_victim(at->engine, now_ns);
			if (!victim) {
				tcpx_listen_rest(at, SOON_NS, now_ns);
				return;
			}
		}
		rc = at->engine->ops->accept(at->listener, &stream, &from, &here);
		if (rc == 0 && all->pending_count >= all->pending_max)
			make_room(victim, now_ns);
		if (rc == 0)
			add_pending(at->engine, stream, &from, &here, now_ns);
	}
	if (rc == -EMFILE)
		tcpx_listen_rest(at, REST_NS, now_ns);
}

void
tcpx_accept_timer(struct loop *l, uint64_t now_ns)
{
	tcpx_listen_rested(l->engine, now_ns);
	tcpx_chain_each(n, after, &l->engine->listeners->pending) {
		struct pending_conn *g = tcpx_container(n, struct pending_conn, node);

		if (g->hello) /* decided before the deadline */
			tcpx_greet_hello(g, g->hello, now_ns);
		else if (now_ns >= g->deadline_ns)
			tcpx_pending_turn_away(g, TCPX_ETIMEDOUT, "it said nothing in time");
		else
			tcpx_loop_timer(l, g->deadline_ns);
	}
}

void
tcpx_accept_late(struct loop *l, const struct pause *p)
{
	tcpx_chain_each(n, after, &l->engine->listeners->pending) {
		struct pending_conn *g = tcpx_container(n, struct pending_conn, node);

		g->deadline_ns += p->ns;
		g->rival.until_ns += p->ns;
		g->turn_until_ns += g->turn_until_ns ? p->ns : 0;
		if (g->twin_until_ns)
			g->twin_until_ns += p->ns;
	}
}

void
tcpx_accept_close_all(struct loop *l)
{
	tcpx_chain_each(n, after, &l->engine->listeners->pending)
		tcpx_pending_close(tcpx_container(n, struct pending_conn, node));
}
