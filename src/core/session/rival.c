/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two connections is the peer's: asked by PING, judged in one place. */
#include "core/session/rival.h"

#include <stddef.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/session/twins.h"

#define ANSWER_NS TCPX_SEC /* or half of the handshake's time, if that is less */

enum rival_verdict
tcpx_rival_judge(const struct rival_facts *f)
{
	if (!f->stands)
		return RIVAL_ADMIT;
	if (!f->overdue)
		return RIVAL_WAIT;
	if (f->answered)
		return RIVAL_REFUSE;
	return f->acked ? RIVAL_LATER : RIVAL_REPLACE;
}

/* Has the peer opened it? */
static bool
is_older(const struct session *s)
{
	return !s->opener && atomic_load(&s->state) != SESS_FAILED;
}

uint64_t
tcpx_rival_patience(const struct tcpx_engine *e)
{
	return e->limit.handshake_ns / 2 < ANSWER_NS ? e->limit.handshake_ns / 2 : ANSWER_NS;
}

static void
ask(struct rival *r, uint64_t now_ns)
{
	struct session *s = r->older;

	r->until_ns = now_ns + tcpx_rival_patience(s->engine);
	pthread_mutex_lock(&s->lock);
	r->answers = s->health.answers;
	s->health.doubted = true;
	if (s->state != SESS_FAILED && s->control.line.stream && s->control.up &&
	    tcpx_control_put_raw(s, TCPX_FR_PING, NULL) == 0)
		tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

/* Is there a process that holds its connection? Where the provider cannot say, nobody is believed to. */
static bool
is_acked(const struct session *s)
{
	const struct tcpx_net_ops *ops = s->engine->ops;

	return s->control.up && ops->stream_acked && ops->stream_acked(s->control.line.stream) == 1;
}

enum rival_verdict
tcpx_rival_look(struct tcpx_engine *e, struct rival *r, uint64_t incarnation, uint64_t now_ns)
{
	struct rival_facts f = { .overdue = false };

	if (r->older && atomic_load(&r->older->state) == SESS_FAILED)
		tcpx_rival_forget(r);
	if (!r->older) {
		r->older = tcpx_twins_find(e, incarnation, is_older);
		if (r->older)
			ask(r, now_ns);
	}
	if (r->older) {
		pthread_mutex_lock(&r->older->lock);
		f.stands = r->older->state != SESS_FAILED;
		f.overdue = now_ns >= r->until_ns;
		f.answered = r->older->health.answers != r->answers;
		f.acked = f.overdue && !f.answered && is_acked(r->older);
		pthread_mutex_unlock(&r->older->lock);
	}
	return tcpx_rival_judge(&f);
}

void
tcpx_rival_replace(struct rival *r)
{
	if (!r->older)
		return;
	pthread_mutex_lock(&r->older->lock);
	tcpx_session_fail(r->older, TCPX_ESTALLED, "%s", "the peer has connected anew");
	pthread_mutex_unlock(&r->older->lock);
	tcpx_rival_forget(r);
}

const struct tcpx_peer *
tcpx_rival_leaver(const struct rival *r)
{
	struct tcpx_peer *p = r->older ? r->older->peer : NULL;
	bool ours = false;

	if (p) {
		pthread_mutex_lock(&p->lock);
		ours = p->out != NULL;
		pthread_mutex_unlock(&p->lock);
	}
	return ours ? NULL : p;
}

void
tcpx_rival_forget(struct rival *r)
{
	if (r->older)
		tcpx_session_put(r->older);
	r->older = NULL;
}

void
tcpx_rival_ended(struct session *s)
{
	if (s->health.doubted)
		tcpx_loop_timer(s->loop, 0);
}
