/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/greet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/breach.h"
#include "core/session/control.h"
#include "core/session/half_open.h"
#include "core/session/handshake.h"
#include "core/session/note.h"
#include "core/session/peer.h"
#include "core/session/resume.h"
#include "core/session/rival.h"
#include "core/session/session.h"
#include "core/session/twins.h"

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
	rc = tcpx_peer_find_or_make(e, h->name, h->incarnation, &g->from, tcpx_rival_leaver(&g->rival),
				    &s->peer);
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
		rc = tcpx_handshake_accept(s, h, !g->answered, now_ns);
		tcpx_control_flush(s);
	}
	if (rc)
		tcpx_session_fail(s, rc, "%s", "cannot be set up here");
	*refused = rc || s->state == SESS_FAILED || s->control.lost;
	pthread_mutex_unlock(&s->lock);
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
	struct pending_conn *other = tcpx_pending_waiter(g);

	if (!other)
		return;
	g->rival.answers = other->rival.answers;
	g->rival.until_ns = other->rival.until_ns;
	tcpx_pending_turn_away(other, TCPX_ELIMIT, "a newer connection of this incarnation has come");
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
		tcpx_pending_turn_away(g, rc, "it cannot wait here");
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
turn_is_later(struct pending_conn *g, uint32_t wait_ms)
{
	char why[TCPX_TEXT_MAX];

	g->wait_ms = wait_ms;
	snprintf(why, sizeof(why), "sessions from there broke the protocol, and others from there come first: "
		 "again in %u ms", wait_ms);
	tcpx_pending_turn_away(g, TCPX_ELIMIT, why);
}

/* Openers of an address from which the protocol was broken again and again come one by one, in order: any of
 * them may be the one that breaks it. */
static bool
waits_for_turn(struct pending_conn *g, const struct tcpx_hello *h, uint64_t now_ns)
{
	struct tcpx_engine *e = g->loop->engine;
	uint64_t at_ns;

	if (g->let_in)
		return false;
	if (!g->turn_until_ns)
		g->turn_until_ns = now_ns + e->limit.handshake_ns / 2;
	at_ns = tcpx_breach_turn_of(e, &g->from, now_ns);
	if (at_ns <= now_ns && tcpx_pending_is_first(g)) {
		tcpx_breach_let_in(e, &g->from, now_ns);
		g->let_in = true;
		return false;
	}
	at_ns = at_ns > now_ns ? at_ns : now_ns + TCPX_MS;
	if (now_ns >= g->turn_until_ns)
		turn_is_later(g, (uint32_t)((at_ns - now_ns) / TCPX_MS + 1));
	else
		keep(g, h, at_ns < g->turn_until_ns ? at_ns : g->turn_until_ns);
	return true;
}

/* An older session of this incarnation is there. By our HELLO an engine that has that session learns whom it
 * has dialled, and hangs up; any other waits for what the older one answers. */
static void
keep_rival(struct pending_conn *g, const struct tcpx_hello *h)
{
	struct tcpx_engine *e = g->loop->engine;
	int rc = 0;

	if (!g->answered) {
		take_over(g);
		rc = tcpx_handshake_answer(e, h, g->ctrl);
	}
	g->answered = true;
	if (rc == 0 && tcpx_line_flush(&g->line, e->ops, g->ctrl) == 0)
		keep(g, h, g->rival.until_ns);
	else /* a new connection takes so few bytes, unless it is broken */
		tcpx_pending_close(g);
}

/* Is there nothing more to do with it now, as it waits, or has gone? Else *verdict is of its rival. */
static bool
waits(struct pending_conn *g, const struct tcpx_hello *h, uint64_t now_ns, enum rival_verdict *verdict)
{
	*verdict = tcpx_rival_look(g->loop->engine, &g->rival, h->incarnation, now_ns);
	if (*verdict == RIVAL_REFUSE)
		tcpx_pending_turn_away(g, TCPX_EAUTH, "this incarnation has a session, which is alive");
	else if (*verdict == RIVAL_LATER)
		tcpx_pending_turn_away(g, TCPX_ELIMIT, "this incarnation has a session, whose process hangs");
	else if (*verdict == RIVAL_WAIT && tcpx_pending_is_given_up(g))
		tcpx_pending_close(g);
	else if (*verdict == RIVAL_WAIT)
		keep_rival(g, h);
	else if (waits_for_twin(g, h, now_ns))
		keep(g, h, g->twin_until_ns);
	else
		return false;
	return true;
}

void
tcpx_greet_hello(struct pending_conn *g, const struct tcpx_hello *h, uint64_t now_ns)
{
	struct tcpx_engine *e = g->loop->engine;
	enum rival_verdict verdict = RIVAL_ADMIT;
	struct tcpx_refusal no = { .wait_ms = 0 };
	bool refused;
	int rc;

	if (g->hello && tcpx_pending_is_given_up(g)) {
		tcpx_pending_close(g);
		return;
	}
	rc = tcpx_handshake_check(e, h, &g->at, &no);
	if (rc == 0)
		rc = tcpx_breach_check(e, h->incarnation, now_ns, &no);
	if (rc) {
		g->wait_ms = no.wait_ms;
		tcpx_pending_refuse(g, rc, no.why, no.answer);
		return;
	}
	if (waits_for_turn(g, h, now_ns) || waits(g, h, now_ns, &verdict))
		return;
	rc = welcome(g, h, now_ns, &refused);
	if (rc) {
		tcpx_pending_turn_away(g, rc, "it cannot be served");
		return;
	}
	if (verdict == RIVAL_REPLACE && !refused)
		tcpx_rival_replace(&g->rival);
	tcpx_pending_close(g);
}

void
tcpx_greet_first(struct pending_conn *g, const struct tcpx_frame_head *head, const uint8_t *payload,
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
		tcpx_greet_hello(g, &hello, now_ns);
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
		tcpx_pending_turn_away(g, rc, "its session was with an earlier incarnation");
	else if (rc == TCPX_ESTALLED)
		tcpx_pending_turn_away(g, rc, "this session has ended here");
	else if (rc)
		tcpx_pending_turn_away(g, rc, "its first frame is not acceptable");
	else
		tcpx_pending_close(g);
}
