/* SPDX-License-Identifier: Apache-2.0 */
/* A session's deadlines: connecting, handshake, keep-alive, stall; and its end. */
#include "core/session/timer.h"

#include <errno.h>
#include <stdio.h>

#include "base/random.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/connect.h"
#include "core/session/control.h"
#include "core/session/half_open.h"
#include "core/session/handshake.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/peer_session.h"
#include "core/session/probe.h"
#include "core/session/receive.h"
#include "core/session/rival.h"
#include "core/session/session.h"
#include "core/session/twins.h"
#include "proto/health.h"

#define DROPS_MAX 16 /* reads of a turn */
#define LOOK_NS   (500 * TCPX_MS) /* between looks at a connection of a handshake */

static void
free_session(struct deferred *g)
{
	tcpx_session_put(tcpx_container(g, struct session, deferred));
}

/* Is it one of the engine's, so not reaped yet? */
static bool
is_listed(struct session *s)
{
	struct registry *r = &s->engine->registry;
	bool listed;

	pthread_mutex_lock(&r->lock);
	listed = tcpx_node_linked(&s->in_engine);
	pthread_mutex_unlock(&r->lock);
	return listed;
}

/* Drops what has come: once it is read it is acknowledged, and a peer that closes too may wait for that.
 * True: the peer has closed its end. */
static bool
drop_input(struct session *s)
{
	uint8_t scrap[4096];
	uint32_t i = 0;
	ssize_t n;

	do
		n = s->engine->ops->stream_recv(s->control.line.stream, scrap, sizeof(scrap));
	while (n > 0 && ++i < DROPS_MAX);
	return n <= 0 && n != -EAGAIN;
}

/* True: the connection stays open, because the peer's kernel has not acknowledged BYE yet. One that is
 * closed with unread bytes is reset, and what its kernel has not sent by then is lost. A session that
 * fails in an engine that stays needs no care: its peer asks. */
static bool
bye_under_way(struct session *s)
{
	const struct tcpx_net_ops *ops = s->engine->ops;

	if (!atomic_load(&s->engine->parting) || !ops->stream_acked || !s->control.up)
		return false;
	tcpx_control_flush(s);
	if (!s->control.line.stream || drop_input(s))
		return false;
	tcpx_control_watch(s, 0);
	return tcpx_ctrl_waits(s->control.ctrl) || ops->stream_acked(s->control.line.stream) == 0;
}

static void
reap(struct session *s)
{
	struct tcpx_engine *e = s->engine;
	bool done;

	pthread_mutex_lock(&s->lock);
	if (bye_under_way(s)) {
		pthread_mutex_unlock(&s->lock);
		return;
	}
	tcpx_line_close(&s->control.line, e->ops);
	tcpx_probe_end(s);
	done = s->chan.open == 0 && is_listed(s);
	pthread_mutex_unlock(&s->lock);
	tcpx_rival_ended(s);
	if (!done)
		return;
	tcpx_twins_stir(s);
	tcpx_chain_remove(&s->in_loop);
	tcpx_heap_remove(&e->registry.timers, &s->timer);
	tcpx_half_open_remove(s);
	tcpx_chain_remove(&s->control.to_flush);
	tcpx_session_unlist(s);
	if (s->peer)
		tcpx_peer_session_lost(s);
	tcpx_loop_cancel(s->loop, &s->control.flush_work);
	tcpx_loop_cancel(s->loop, &s->control.read_work);
	tcpx_loop_cancel(s->loop, &s->arrival);
	tcpx_loop_cancel(s->loop, &s->work); /* last: a drop of the peer queues this work */
	tcpx_loop_defer_free(s->loop, &s->deferred, free_session); /* the engine's reference */
}

/* A transfer is open, or was until lately: the peer may still wait for what it says of it. */
static bool
in_use(const struct session *s, uint64_t now_ns)
{
	uint64_t used_ns = s->health.tx_progress_ns > s->health.rx_progress_ns ?
				   s->health.tx_progress_ns : s->health.rx_progress_ns;

	return session_busy(s) || now_ns < used_ns + s->engine->limit.keepalive_ns;
}

/* A deadline moves; one that is not set stays 0. */
static void
move(uint64_t *at_ns, const struct pause *p)
{
	if (*at_ns)
		*at_ns += p->ns;
}

/* What waits for the peer's process waited for nothing meanwhile. */
static void
skip(struct session *s, const struct pause *p)
{
	pause_skip(&s->health.tx_progress_ns, p);
	pause_skip(&s->health.rx_progress_ns, p);
	s->engine->up.session->late(s, p);
}

static void
ask(struct session *s, uint64_t now_ns)
{
	struct health *h = &s->health;

	h->pinged_ns = now_ns;
	if (h->asked_ns <= h->heard_ns)
		h->asked_ns = now_ns;
	if (s->control.proving || s->control.resuming)
		return; /* RESUME is the first frame, and waits for its own answer */
	tcpx_control_put_raw(s, TCPX_FR_PING, NULL);
	if (tcpx_ctrl_ack_owed(s->control.ctrl))
		tcpx_ctrl_put_ack(s->control.ctrl);
	tcpx_control_flush(s);
}

/* heard_ns was of the connection before, until this one stands. */
static void
keep_alive(struct session *s, uint64_t now_ns)
{
	const struct limits *l = &s->engine->limit;
	struct tcpx_patience p = tcpx_patience_of(l->stall_ns, l->keepalive_ns, l->process_ns);
	struct health *h = &s->health;
	bool open = s->state == SESS_OPEN; /* else it waits for READY, which has a deadline */
	struct tcpx_silence silence = { h->heard_ns, h->asked_ns, h->pinged_ns,
					!open || in_use(s, now_ns) };
	int kernel = -ENOTSUP;

	if (!s->control.line.stream || !s->control.up)
		return;
	if (now_ns >= h->looked_ns + p.look_ns) {
		h->looked_ns = now_ns;
		if (tcpx_control_is_stuck(s, now_ns))
			return;
	}
	tcpx_line_rest(&s->control.line);
	if (h->stopped_ns && !s->control.resuming && h->heard_ns > h->stopped_ns) {
		skip(s, &(struct pause){ h->heard_ns - h->stopped_ns, now_ns });
		h->stopped_ns = 0;
	}
	if (s->engine->ops->stream_acked && tcpx_silence_is_long(&p, &silence, now_ns))
		kernel = s->engine->ops->stream_acked(s->control.line.stream);
	switch (tcpx_silence_judge(&p, &silence, kernel, now_ns)) {
	case TCPX_SILENCE_CUT:
		tcpx_control_silent(s, now_ns);
		return;
	case TCPX_SILENCE_OVER:
		if (!open)
			break;
		tcpx_session_fail(s, TCPX_ESTALLED, "peer's process has said nothing for %llu ms, while "
				  "its kernel answers: it is stopped, or its large packets do not pass (MTU)",
				  (unsigned long long)(l->process_ns / TCPX_MS));
		return;
	case TCPX_SILENCE_STOPPED:
		if (h->stopped_ns == 0 && open)
			h->stopped_ns = h->heard_ns;
		ask(s, now_ns);
		break;
	case TCPX_SILENCE_ASK:
		ask(s, now_ns);
		break;
	case TCPX_SILENCE_NONE:
		break;
	}
	h->resting = !silence.in_use;
	silence = (struct tcpx_silence){ h->heard_ns, h->asked_ns, h->pinged_ns, silence.in_use };
	tcpx_session_add_timer(s, tcpx_silence_next(&p, &silence, now_ns));
}

static void
open_timer(struct session *s, uint64_t now_ns)
{
	if (s->health.dying_ns && now_ns >= s->health.dying_ns) {
		tcpx_session_fail(s, TCPX_ENOCHANNEL,
				  "none of %u %s channels could be opened again within %llu ms",
				  s->chan.count, s->chan.tx_up ? "receiving" : "sending",
				  (unsigned long long)(s->engine->limit.stall_ns / TCPX_MS));
		return;
	}
	if (s->health.dying_ns)
		tcpx_session_add_timer(s, s->health.dying_ns);
	tcpx_control_leave_nic(s, now_ns);
	if (!s->control.up || (s->control.resuming && !s->health.stopped_ns)) {
		if (now_ns >= s->control.cut_ns + s->engine->limit.stall_ns) {
			tcpx_session_fail(s, TCPX_ESTALLED,
					  "control stream cut and not resumed within %llu ms",
					  (unsigned long long)(s->engine->limit.stall_ns / TCPX_MS));
			return;
		}
		tcpx_session_add_timer(s, s->control.cut_ns + s->engine->limit.stall_ns);
		if (s->opener && !s->control.up)
			tcpx_control_connect(s, now_ns);
		else if (!s->control.up)
			tcpx_probe_step(s, now_ns);
	}
	if (tcpx_control_has_paid(s, now_ns))
		keep_alive(s, now_ns);
	if (s->state == SESS_OPEN)
		tcpx_notes_look(s, now_ns);
	if (s->state == SESS_OPEN && s->control.short_of_room) {
		s->control.short_of_room = false;
		s->engine->up.session->room(s, now_ns);
	}
	if (s->state == SESS_OPEN && !s->health.stopped_ns)
		s->engine->up.session->check_channels(s, now_ns);
	if (s->state == SESS_OPEN)
		s->engine->up.session->check_transfers(s, now_ns);
}

static void
connect_overdue(struct session *s)
{
	struct tcpx_addr at = tcpx_control_dialled(s);
	char to[64];

	tcpx_addr_format(&at, to, sizeof(to));
	tcpx_session_fail(s, TCPX_ETIMEDOUT, "no connection to %s within %llu ms: %s", to,
			  (unsigned long long)(s->engine->limit.connect_ns / TCPX_MS),
			  s->cause_text[0] ? s->cause_text : "no answer");
}

/* The handshake's deadline has passed. */
static void
handshake_overdue(struct session *s)
{
	static const char *const waits[] = { [SESS_PROOF] = "proof of the secret", [SESS_HANDLES] = "HANDLES",
					     [SESS_WIRING] = "channels", [SESS_READY] = "READY" };
	uint64_t patience_ns = s->state < SESS_WIRING ? s->engine->limit.handshake_ns :
							tcpx_wiring_patience(s);
	char why[64];

	if (s->state == SESS_WIRING && s->opener) {
		s->engine->up.session->overdue(s, patience_ns);
		return;
	}
	if (s->state != SESS_HELLO && !(s->state == SESS_PROOF && !s->control.line.heard)) {
		tcpx_session_fail(s, TCPX_ETIMEDOUT, "handshake: no %s within %llu ms",
				  waits[s->state], (unsigned long long)(patience_ns / TCPX_MS));
		return;
	}
	snprintf(why, sizeof(why), ", or hangs: no HELLO within %llu ms",
		 (unsigned long long)(patience_ns / TCPX_MS));
	tcpx_control_stranger(s, TCPX_ETIMEDOUT, why);
}

static void
run_timer(struct session *s, uint64_t now_ns)
{
	if (s->peer && atomic_load(&s->peer->dead))
		tcpx_session_fail(s, TCPX_EPEERGONE, "%s", "peer has gone, as another session found");
	switch (s->state) {
	case SESS_FAILED:
		return;
	case SESS_OPEN:
		open_timer(s, now_ns);
		return;
	case SESS_CONNECTING:
		if (now_ns >= s->hs->deadline_ns) {
			connect_overdue(s);
			return;
		}
		tcpx_control_connect(s, now_ns);
		break;
	default:
		if (now_ns >= s->hs->deadline_ns) {
			handshake_overdue(s);
			return;
		}
		if (s->state == SESS_WIRING && now_ns < s->hs->look_ns)
			tcpx_session_add_timer(s, s->hs->look_ns);
		else if (s->state == SESS_READY && !s->control.up)
			tcpx_control_connect(s, now_ns);
		else if (s->state == SESS_WIRING || s->state == SESS_READY)
			s->engine->up.session->wire(s, now_ns);
		if (s->state == SESS_READY)
			keep_alive(s, now_ns);
		else if (s->engine->ops->stream_under_way && !tcpx_control_is_stuck(s, now_ns))
			tcpx_session_add_timer(s, now_ns + LOOK_NS);
	}
	if (s->state != SESS_FAILED && s->state != SESS_OPEN)
		tcpx_session_add_timer(s, s->hs->deadline_ns);
}

/* Queued from anywhere: checks the session in this turn. What an open one owes is judged by its
 * timer alone, after the turn's events: work may have waited while this process stood still. */
void
tcpx_session_work(struct work *w, uint64_t now_ns)
{
	struct session *s = tcpx_container(w, struct session, work);

	pthread_mutex_lock(&s->lock);
	if (!tcpx_node_linked(&s->in_loop) && is_listed(s))
		tcpx_chain_add(&s->engine->registry.served, &s->in_loop);
	tcpx_twins_give_way(s, now_ns);
	if (s->state == SESS_OPEN)
		tcpx_session_add_timer(s, now_ns);
	else
		run_timer(s, now_ns);
	if (s->state != SESS_FAILED)
		tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
	if (s->peer && s->peer->found)
		s->engine->up.session->met(s->peer);
	if (atomic_load(&s->state) == SESS_FAILED)
		reap(s);
	else
		tcpx_peer_linger(s->engine, now_ns);
}

void
tcpx_session_arrived(void *owner)
{
	struct session *s = owner;

	tcpx_loop_post(s->loop, &s->arrival);
}

void
tcpx_session_dialled(struct source *src, unsigned ready, uint64_t now_ns)
{
	(void)ready, (void)now_ns;
	tcpx_session_arrived(tcpx_container(src, struct session, dials));
}

void
tcpx_session_arrival(struct work *w, uint64_t now_ns)
{
	struct session *s = tcpx_container(w, struct session, arrival);

	pthread_mutex_lock(&s->lock);
	if (s->hs)
		s->hs->look_ns = now_ns;
	pthread_mutex_unlock(&s->lock);
	tcpx_session_work(&s->work, now_ns);
}

static void
move_deadlines(struct session *s, const struct pause *p)
{
	struct control *c = &s->control;
	struct health *h = &s->health;

	if (s->hs) {
		move(&s->hs->deadline_ns, p);
		move(&s->hs->connect_until_ns, p);
	}
	move(&h->dying_ns, p);
	pause_skip(&c->cut_ns, p);
	pause_skip(&c->refusals.round_ns, p);
	pause_skip(&h->heard_ns, p);
	pause_skip(&h->pinged_ns, p);
	pause_skip(&h->asked_ns, p);
	pause_skip(&h->stopped_ns, p);
	skip(s, p);
}

void
tcpx_sessions_late(struct tcpx_engine *e, const struct pause *p)
{
	tcpx_info(TCPX_SUB_BOOT, "engine %s stood still for %llu ms: it waits longer for its peers",
		  e->name, (unsigned long long)(p->ns / TCPX_MS));
	tcpx_chain_each(n, after, &e->registry.served) {
		struct session *s = tcpx_container(n, struct session, in_loop);

		pthread_mutex_lock(&s->lock);
		move_deadlines(s, p);
		pthread_mutex_unlock(&s->lock);
	}
}

/* Those that are due, and no others: thousands may be open. */
void
tcpx_sessions_timer(struct tcpx_engine *e, uint64_t now_ns)
{
	struct registry *r = &e->registry;

	r->timed_ns = now_ns;
	while (r->timers.first && r->timers.first->key <= now_ns) {
		struct session *s = tcpx_container(r->timers.first, struct session, timer);

		tcpx_heap_remove(&r->timers, &s->timer);
		pthread_mutex_lock(&s->lock);
		run_timer(s, now_ns);
		pthread_mutex_unlock(&s->lock);
		if (atomic_load(&s->state) == SESS_FAILED)
			reap(s);
	}
	if (r->timers.first)
		tcpx_loop_timer(&e->loop[0], r->timers.first->key);
}
