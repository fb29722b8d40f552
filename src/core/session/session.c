/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's life: made, opened by the handshake, failed once with the first cause. Its
 * connections are closed by the loops that own them; the last reference frees it.
 */
#include "core/session/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/random.h"
#include "base/slab.h"
#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/note.h"
#include "core/session/peer.h"
#include "core/session/receive.h"
#include "core/session/timer.h"

int
tcpx_session_new(struct tcpx_engine *e, bool opener, struct session **out)
{
	struct session *s = calloc(1, sizeof(*s));
	int i, rc;

	if (s)
		s->hs = calloc(1, sizeof(*s->hs));
	if (!s || !s->hs) {
		free(s);
		return tcpx_fail(TCPX_SUB_BOOT, -ENOMEM, "no memory for a session");
	}
	s->refs = 2; /* the caller's and the engine's */
	s->engine = e;
	s->loop = &e->loop[0];
	s->opener = opener;
	s->source.on_ready = tcpx_control_ready;
	s->dials.on_ready = tcpx_session_dialled;
	s->work.run = tcpx_session_work;
	s->arrival.run = tcpx_session_arrival;
	s->control.flush_work.run = tcpx_control_flush_work;
	s->control.read_work.run = tcpx_control_read_work;
	s->source.ahead = s->dials.ahead = s->work.ahead = s->arrival.ahead = true;
	s->health.start_ns = engine_now(e);
	s->sched.drr.quantum = 1u << 20;
	tcpx_mutex_init(&s->lock);
	tcpx_node_init(&s->in_loop);
	tcpx_node_init(&s->in_engine);
	tcpx_node_init(&s->in_peer);
	tcpx_node_init(&s->control.to_flush);
	for (i = 0; i < CREDIT_KINDS; i++)
		tcpx_node_init(&s->xfers.waiting[i]);
	tcpx_node_init(&s->xfers.after_event);
	tcpx_node_init(&s->hs->half_open);
	tcpx_node_init(&s->xfers.noting);
	tcpx_node_init(&s->lanes.all);
	tcpx_tags_init(&s->lanes.by_word);
	tcpx_node_init(&s->lanes.busy);
	tcpx_node_init(&s->lanes.waits);
	tcpx_node_init(&s->lanes.soon);
	s->lanes.pool.limit = e->eager.limit;
	s->lanes.pool.whole = &e->eager;
	tcpx_node_init(&s->notes.waiting);
	tcpx_node_init(&s->notes.held);
	for (i = 0; i < SESS_CHAINS; i++)
		tcpx_node_init(&s->xfers.bucket[i]);
	rc = tcpx_ctrl_new(&s->control.ctrl);
	if (rc == 0)
		rc = tcpx_random_bytes(&s->id, sizeof(s->id));
	if (rc) {
		tcpx_ctrl_free(s->control.ctrl);
		pthread_mutex_destroy(&s->lock);
		free(s->hs);
		free(s);
		return rc;
	}
	s->hs->deadline_ns = s->health.start_ns +
			     (opener ? e->limit.connect_ns : e->limit.handshake_ns);
	s->hs->connect_until_ns = s->hs->deadline_ns;
	pthread_mutex_lock(&e->registry.lock);
	tcpx_chain_add(&e->registry.sessions, &s->in_engine);
	e->registry.session_count++;
	pthread_mutex_unlock(&e->registry.lock);
	*out = s;
	return 0;
}

void
tcpx_session_unlist(struct session *s)
{
	struct registry *r = &s->engine->registry;

	pthread_mutex_lock(&r->lock);
	tcpx_chain_remove(&s->in_engine);
	r->session_count--;
	pthread_mutex_unlock(&r->lock);
}

void
tcpx_session_get(struct session *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

void
tcpx_session_put(struct session *s)
{
	uint32_t i;

	if (atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	for (i = 0; i < TCPX_CHANNELS_MAX; i++) {
		free(s->chan.tx[i]);
		free(s->chan.rx[i]);
	}
	free(s->hs);
	tcpx_notes_drop(s);
	tcpx_slab_leave(&s->credit.slab);
	free(s->chan.peer_nic);
	free(s->chan.search);
	tcpx_ctrl_free(s->control.ctrl);
	explicit_bzero(&s->resume, sizeof(s->resume));
	pthread_mutex_destroy(&s->lock);
	if (s->peer)
		tcpx_peer_put(s->peer);
	free(s);
}

void
tcpx_session_wake_loop(struct session *s)
{
	tcpx_loop_post(s->loop, &s->work);
}

void
tcpx_session_used(struct session *s)
{
	if (!s->health.resting)
		return;
	s->health.resting = false;
	tcpx_session_add_timer(s, 0);
}

void
tcpx_session_add_timer(struct session *s, uint64_t at_ns)
{
	struct registry *r = &s->engine->registry;

	if (!tcpx_loop_is_mine(s->loop)) {
		tcpx_session_wake_loop(s); /* which finds what is due */
		return;
	}
	if (at_ns <= r->timed_ns)
		at_ns = r->timed_ns + 1; /* not in the run that may be asking */
	tcpx_loop_timer(s->loop, at_ns);
	if (!tcpx_node_linked(&s->in_loop) || (s->timer.linked && s->timer.key <= at_ns))
		return;
	tcpx_heap_remove(&r->timers, &s->timer);
	tcpx_heap_add(&r->timers, &s->timer, at_ns);
}

/* A session that ends with nothing open on it needs no warning. */
static void
log_end(const struct session *s)
{
	bool lost = session_busy(s) || s->state != SESS_OPEN;

	if (s->cause == TCPX_ECLOSED || (s->cause == TCPX_EPEERGONE && !lost))
		tcpx_info(TCPX_SUB_BOOT, "session with %s: %s", s->peer ? s->peer->name : "?",
			  s->cause_text);
	else
		(void)tcpx_fail(TCPX_SUB_BOOT, s->cause, "session with %s: %s",
				s->peer ? s->peer->name : "?", s->cause_text);
}

void
tcpx_session_fail(struct session *s, int code, const char *fmt, ...)
{
	uint8_t room[TCPX_TEXT_MAX + 16];
	char text[sizeof(s->cause_text)]; /* an argument may be s->cause_text */
	struct tcpx_buf b;
	bool was_open;
	int told;
	va_list ap;

	if (s->state == SESS_FAILED)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(s->cause_text, text, sizeof(text));
	s->cause = code;
	log_end(s);
	tcpx_buf_init(&b, room, sizeof(room));
	was_open = s->state == SESS_OPEN;
	/* a closing engine is gone for the peer; one that hangs up, or misses the peer, is not */
	told = atomic_load(&s->engine->closing) ? TCPX_EPEERGONE :
	       was_open && code == TCPX_EPEERGONE ? TCPX_ESTALLED : code;
	tcpx_refuse_write(&b, told, s->cause_text, 0);
	s->state = SESS_FAILED; /* first: a cut during BYE is no other cause */
	if (was_open) {
		s->engine->up.session->leaving(s);
		tcpx_control_put(s, TCPX_FR_BYE, &b);
	} else if (!s->opener) {
		tcpx_control_put_raw(s, TCPX_FR_REFUSE, &b);
	}
	tcpx_control_flush(s);
	s->engine->up.session->failed(s);
	tcpx_session_wake_loop(s);
	tcpx_event_session(s->engine);
}

int
tcpx_session_cause(const struct session *s)
{
	return tcpx_fail_known(s->cause, "session with %s: %s", s->peer->name, s->cause_text);
}

void
tcpx_session_check_alive(struct session *s, uint64_t now_ns)
{
	bool whole = s->chan.tx_up > 0 && s->chan.rx_up > 0;

	if (s->state != SESS_OPEN || whole || !s->control.line.stream || s->control.resuming) {
		s->health.dying_ns = 0;
	} else if (s->health.dying_ns == 0) {
		s->health.dying_ns = now_ns + s->engine->limit.stall_ns;
		tcpx_session_wake_loop(s);
	}
}

struct session *
tcpx_session_after(struct tcpx_engine *e, struct session *s)
{
	struct session *after = NULL;
	struct tcpx_node *n;

	pthread_mutex_lock(&e->registry.lock);
	n = s && tcpx_node_linked(&s->in_engine) ? s->in_engine.next : e->registry.sessions.next;
	if (n != &e->registry.sessions) {
		after = tcpx_container(n, struct session, in_engine);
		tcpx_session_get(after);
	}
	pthread_mutex_unlock(&e->registry.lock);
	if (s)
		tcpx_session_put(s);
	return after;
}
