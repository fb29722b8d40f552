/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending connections: bounded in number and time. Each begins with START; with a secret the
 * proof follows. Then HELLO makes a new session of it, or RESUME resumes an old one. Any other is
 * refused, without a trace elsewhere: no name, no session, no connection to its addresses.
 */
#include "core/session/accept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/half_open.h"
#include "core/session/handshake.h"
#include "core/session/listen.h"
#include "core/session/peer.h"
#include "core/session/pending.h"
#include "core/session/resume.h"
#include "core/session/rival.h"
#include "core/session/session.h"
#include "core/session/twins.h"

#define AT_ONCE     64                /* taken from a listener in one turn            */
#define REST_NS     (100 * TCPX_MS) /* without descriptors                          */
#define SOON_NS     (10 * TCPX_MS)  /* until one may have done so                   */

static void
free_pending(struct deferred *deferred)
{
	free(tcpx_container(deferred, struct pending_conn, deferred));
}

static void
pending_close(struct pending_conn *g)
{
	struct loop *l = g->loop;

	tcpx_line_close(&g->line, l->engine->ops);
	tcpx_rival_forget(&g->rival);
	free(g->hello);
	tcpx_ctrl_free(g->ctrl);
	g->source.on_ready = NULL;
	tcpx_chain_remove(&g->node);
	l->engine->listeners->pending_count--;
	tcpx_loop_defer_free(l, &g->deferred, free_pending);
}

/* @why is for the log here. The other side reads @words, unless a secret is wanted and it has not
 * proved that it knows it: then it gets the code alone. */
static void
refuse(struct pending_conn *g, int code, const char *why, const char *words)
{
	const struct tcpx_engine *e = g->loop->engine;
	bool known = !e->secret || (g->line.seal && tcpx_line_proven(&g->line));
	uint8_t room[256];
	const uint8_t *data;
	struct tcpx_buf b;
	char from[64];
	size_t len;

	tcpx_addr_format(&g->from, from, sizeof(from));
	if (g->started && g->start.kind == TCPX_START_ASK) { /* the code is the answer */
		tcpx_debug(TCPX_SUB_BOOT, "connection from %s is answered: %s", from, why);
	} else {
		(void)tcpx_fail(TCPX_SUB_BOOT, code, "connection from %s turned away: %s", from, why);
		count_add(&g->loop->engine->count.refused, 1);
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_refuse_write(&b, code, known ? words : "");
	if (g->line.seal && !known)
		(void)tcpx_line_send(&g->line, e->ops, NULL, 0); /* TLS says it */
	else if (!b.bad && tcpx_ctrl_put_raw(g->ctrl, TCPX_FR_REFUSE, room, b.pos) == 0 &&
		 (len = tcpx_ctrl_pending(g->ctrl, &data)) > 0)
		(void)tcpx_line_send(&g->line, e->ops, data, len);
	pending_close(g);
}

static void
turn_away(struct pending_conn *g, int code, const char *why)
{
	refuse(g, code, why, why);
}

static int
welcome(struct pending_conn *g, const struct tcpx_hello *h, uint64_t now_ns, bool *refused)
{
	struct tcpx_engine *e = g->loop->engine;
	struct session *s;
	int rc;

	tcpx_half_open_room(e, now_ns);
	rc = tcpx_session_new(e, false, &s);
	if (rc)
		return rc;
	pthread_mutex_lock(&s->lock);
	rc = tcpx_peer_find_or_make(e, h->name, h->incarnation, tcpx_rival_leaver(&g->rival), &s->peer);
	if (rc == 0)
		tcpx_ctrl_charge(s->control.ctrl, &s->peer->kept);
	if (rc == 0)
		rc = e->ops->stream_watch(g->line.stream, s->loop->poller, &s->source,
					  TCPX_READABLE);
	if (rc == 0) {
		s->control.line = g->line;
		g->line = (struct line){ .stream = NULL };
		s->control.up = true;
		s->control.interest = TCPX_READABLE;
		s->health.heard_ns = now_ns;
		tcpx_chain_add(&e->registry.served, &s->in_loop);
		tcpx_half_open_add(s, &g->from);
		pthread_mutex_lock(&s->peer->lock);
		tcpx_chain_add(&s->peer->inbound, &s->in_peer);
		tcpx_notes_absent(s->peer, false);
		pthread_mutex_unlock(&s->peer->lock);
		rc = tcpx_handshake_accept(s, h, now_ns);
		tcpx_control_flush(s);
	}
	if (rc)
		tcpx_session_fail(s, rc, "%s", "cannot be set up here");
	pthread_mutex_unlock(&s->lock);
	*refused = rc || s->state == SESS_FAILED;
	if (*refused)
		tcpx_session_wake_loop(s);
	else
		tcpx_twins_stir(s);
	tcpx_session_put(s);
	return 0;
}

/* One alone waits for a session's answer: the newest. What was asked first is not asked again. */
static void
take_over(struct pending_conn *g)
{
	struct pending_conn *other = tcpx_pending_waiter(g->loop->engine, g->rival.older);

	if (!other)
		return;
	g->rival.answers = other->rival.answers;
	g->rival.until_ns = other->rival.until_ns;
	turn_away(other, TCPX_EAUTH, "a newer connection of this incarnation has come");
}

/* Keeps the HELLO until it is judged again. Nothing else is read meanwhile. */
static void
keep(struct pending_conn *g, const struct tcpx_hello *h, uint64_t until_ns)
{
	struct loop *l = g->loop;
	int rc = 0;

	tcpx_loop_timer(l, until_ns);
	if (!g->hello) {
		g->hello = malloc(sizeof(*g->hello));
		if (g->hello)
			*g->hello = *h;
		rc = g->hello ? l->engine->ops->stream_watch(g->line.stream, l->poller, &g->source, 0) :
				-ENOMEM;
	}
	if (rc)
		turn_away(g, rc, "it cannot wait here");
}

/* Must it wait for what becomes of our own session, as it may for a while? */
static bool
waits_for_twin(struct pending_conn *g, const struct tcpx_hello *h, uint64_t now_ns)
{
	if (!g->twin_until_ns)
		g->twin_until_ns = now_ns + tcpx_rival_patience(g->loop->engine);
	return now_ns < g->twin_until_ns && tcpx_twins_keep_hello(g->loop->engine, h);
}

static void
greet(struct pending_conn *g, const struct tcpx_hello *h, uint64_t now_ns)
{
	struct tcpx_engine *e = g->loop->engine;
	bool proven = e->secret != NULL, refused;
	struct tcpx_refusal no;
	enum rival_verdict verdict;
	int rc;

	rc = tcpx_handshake_check(e, h, &g->at, &no);
	if (rc == 0)
		rc = tcpx_breach_check(e, &g->from, h->incarnation, now_ns, &no);
	if (rc) {
		refuse(g, rc, no.why, no.answer);
		return;
	}
	verdict = tcpx_rival_look(e, &g->rival, h->incarnation, proven, now_ns);
	if (verdict == RIVAL_REFUSE) {
		turn_away(g, TCPX_EAUTH, "this incarnation has a session, which is alive");
		return;
	}
	if ((verdict == RIVAL_WAIT || g->hello) && tcpx_pending_is_given_up(g)) {
		pending_close(g);
		return;
	}
	if (verdict == RIVAL_WAIT) {
		if (!g->hello)
			take_over(g);
		keep(g, h, g->rival.until_ns);
		return;
	}
	if (waits_for_twin(g, h, now_ns)) {
		keep(g, h, g->twin_until_ns);
		return;
	}
	rc = welcome(g, h, now_ns, &refused);
	if (rc) {
		turn_away(g, rc, "it cannot be served");
		return;
	}
	if (verdict == RIVAL_REPLACE && !refused)
		tcpx_rival_replace(&g->rival);
	pending_close(g);
}

/* HELLO or RESUME, of a peer that has proved the secret if there is one. */
static void
introduce(struct pending_conn *g, const struct tcpx_frame_head *head, const uint8_t *payload,
	  uint64_t now_ns)
{
	struct tcpx_engine *e = g->loop->engine;
	uint8_t kind = g->start.kind;
	struct tcpx_resume resume;
	struct tcpx_hello hello;
	struct tcpx_buf b;
	int rc = TCPX_EPROTO;

	tcpx_buf_init_const(&b, payload, head->len - TCPX_FRAME_HEAD);
	if (kind == TCPX_START_NEW && head->type == TCPX_FR_HELLO &&
	    tcpx_hello_read(&b, &hello) == 0 && hello.role == TCPX_ROLE_OPENER) {
		greet(g, &hello, now_ns);
		return;
	}
	if (kind != TCPX_START_NEW && head->type == TCPX_FR_RESUME &&
	    tcpx_resume_read(&b, &resume) == 0) {
		if (kind == TCPX_START_ASK)
			rc = tcpx_resume_known(e, &resume, &g->at, now_ns);
		else if (resume.session == g->start.session)
			rc = tcpx_resume_accept(e, &resume, &g->line, now_ns);
	}
	if (rc == TCPX_EPEERGONE)
		turn_away(g, rc, "its session was with an earlier incarnation");
	else if (rc == TCPX_ESTALLED)
		turn_away(g, rc, "this session has ended here");
	else if (rc)
		turn_away(g, rc, "its first frame is not acceptable");
	else
		pending_close(g);
}

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
		turn_away(g, TCPX_EPROTO, "it does not speak this protocol");
	} else if (g->start.version_min > TCPX_PROTO_VERSION ||
		   g->start.version_max < TCPX_PROTO_VERSION) {
		snprintf(why, sizeof(why), "it speaks protocol versions %u to %u, this side %u",
			 g->start.version_min, g->start.version_max, TCPX_PROTO_VERSION);
		turn_away(g, TCPX_EVERSION, why);
	} else if (g->start.sealed != (e->secret != NULL)) {
		turn_away(g, TCPX_EAUTH, e->secret ? "it has no secret, this side has one" :
						     "it wants a secret, this side has none");
	} else if (seal(g) != 0) {
		turn_away(g, TCPX_ELIMIT, "its proof cannot be checked now");
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
				turn_away(g, TCPX_EPROTO, "it does not speak this protocol");
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
			pending_close(g);
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
			pending_close(g);
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
		turn_away(g, (int)n, n == TCPX_EAUTH ? "it does not know the secret" :
						       "it does not speak this protocol");
		return;
	}
	if (n <= 0) {
		pending_close(g);
		return;
	}
	tcpx_ctrl_arrived(g->ctrl, (size_t)n);
	rc = tcpx_ctrl_next(g->ctrl, &head, &payload);
	if (rc < 0)
		turn_away(g, TCPX_EPROTO, "it does not speak this protocol");
	else if (rc == 1)
		introduce(g, &head, payload, now_ns);
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
		pending_close(g);
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
	pending_close(g);
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
			greet(g, g->hello, now_ns);
		else if (now_ns >= g->deadline_ns)
			turn_away(g, TCPX_ETIMEDOUT, "it said nothing in time");
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
		if (g->twin_until_ns)
			g->twin_until_ns += p->ns;
	}
}

void
tcpx_accept_close_all(struct loop *l)
{
	tcpx_chain_each(n, after, &l->engine->listeners->pending)
		pending_close(tcpx_container(n, struct pending_conn, node));
}
