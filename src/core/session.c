/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's life: made, opened by the handshake, failed once with the first cause. Its
 * connections are closed by the loops that own them; the last reference frees it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/core.h"

#define DYING_NS (200 * TCPX_MS) /* time for the control stream to say why channels died */

static void session_work(struct work *w, uint64_t now_ns);

int
tcpx_session_new(struct tcpx_engine *e, bool opener, struct session **out)
{
	struct session *s = calloc(1, sizeof(*s));
	int i, rc;

	if (!s)
		return -ENOMEM;
	s->refs = 2; /* the caller's and the engine's */
	s->engine = e;
	s->loop = &e->loop[0];
	s->opener = opener;
	s->source.on_ready = tcpx_control_ready;
	s->work.run = session_work;
	s->speech.run = tcpx_control_speech;
	s->start_ns = engine_now(e);
	s->drr.quantum = 1u << 20;
	tcpx_mutex_init(&s->lock);
	tcpx_node_init(&s->in_loop);
	tcpx_node_init(&s->in_engine);
	tcpx_node_init(&s->in_peer);
	tcpx_node_init(&s->unsaid);
	tcpx_node_init(&s->waiting);
	tcpx_node_init(&s->eventful);
	tcpx_node_init(&s->early);
	for (i = 0; i < SESS_BUCKETS; i++)
		tcpx_node_init(&s->table[i]);
	rc = tcpx_ctrl_new(&s->ctrl);
	if (rc == 0)
		rc = tcpx_random_bytes(s->nonce, sizeof(s->nonce));
	if (rc == 0)
		rc = tcpx_random_bytes(&s->id, sizeof(s->id));
	if (rc) {
		tcpx_ctrl_free(s->ctrl);
		pthread_mutex_destroy(&s->lock);
		free(s);
		return rc;
	}
	s->deadline_ns = s->start_ns + (opener ? e->limit.connect_ns : e->limit.handshake_ns);
	pthread_mutex_lock(&e->lock);
	tcpx_chain_add(&e->sessions, &s->in_engine);
	e->session_count++;
	pthread_mutex_unlock(&e->lock);
	*out = s;
	return 0;
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
		free(s->tx[i]);
		free(s->rx[i]);
	}
	tcpx_chain_each(n, after, &s->early)
		free(tcpx_container(n, struct tcpx_note, node));
	tcpx_ctrl_free(s->ctrl);
	pthread_mutex_destroy(&s->lock);
	if (s->peer)
		tcpx_peer_put(s->peer);
	free(s);
}

void
tcpx_session_kick_loop(struct session *s)
{
	tcpx_loop_post(s->loop, &s->work);
}

void
tcpx_session_add_timer(struct session *s, uint64_t at_ns)
{
	tcpx_loop_timer(s->loop, at_ns);
}

/* ---- opening ---- */

static void
warn_missing(const struct session *s, struct channel *const *chan, const char *what)
{
	uint32_t i, k, missing;

	for (i = 0; i < s->engine->nic_count; i++) {
		missing = 0;
		for (k = 0; k < s->channels; k++)
			missing += chan[k] && chan[k]->near_nic == (int)i &&
				   chan[k]->state != CHAN_UP;
		if (missing)
			tcpx_warn(TCPX_SUB_CHAN,
				  "session to %s is degraded: %u %s channels on NIC %s could not "
				  "connect; the others carry all", s->peer->name, missing, what,
				  s->engine->nic[i].name);
	}
}

void
tcpx_session_opened(struct session *s, uint64_t now_ns)
{
	struct tcpx_buf b;

	s->state = SESS_OPEN;
	s->open_ns = s->heard_ns = now_ns;
	s->drr.quantum = s->chunk_max;
	warn_missing(s, s->tx, "sending");
	warn_missing(s, s->rx, "receiving");
	tcpx_info(TCPX_SUB_BOOT, "session %016llx with %s: %u + %u channels, chunk at most %u, "
		  "window %u, open in %.1f ms", (unsigned long long)s->id, s->peer->name, s->tx_up,
		  s->rx_up, s->chunk_max, s->window, (double)(now_ns - s->start_ns) / 1e6);
	tcpx_chain_each(n, after, &s->early) {
		struct tcpx_note *note = tcpx_container(n, struct tcpx_note, node);

		tcpx_buf_init(&b, note->data, note->len);
		b.pos = note->len;
		tcpx_chain_remove(n);
		tcpx_control_put_bulk(s, TCPX_FR_NOTE, &b, NULL);
		free(note);
	}
	tcpx_post_waiting(s, now_ns);
	tcpx_control_flush(s);
	tcpx_engine_bell(s->engine);
}

/* ---- failing ---- */

static void
end_all(struct session *s)
{
	int i;

	s->pumping = true; /* nothing new is launched while the rest ends */
	for (i = 0; i < SESS_BUCKETS; i++)
		tcpx_chain_each(n, after, &s->table[i])
			tcpx_xfer_end(tcpx_container(n, struct tcpx_xfer, table), s->cause,
				      s->cause_text);
	tcpx_chain_each(m, after2, &s->waiting)
		tcpx_xfer_end(tcpx_container(m, struct tcpx_xfer, queue), s->cause,
			      s->cause_text);
	tcpx_chain_each(k, after3, &s->eventful)
		tcpx_xfer_end(tcpx_container(k, struct tcpx_xfer, queue), s->cause,
			      s->cause_text);
	if (s->opening) {
		tcpx_xfer_put(s->opening);
		s->opening = NULL;
	}
}

/* A session that ends with nothing open on it is no reason to warn anybody. */
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
	va_list ap;
	uint32_t i;

	if (s->state == SESS_FAILED)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(s->cause_text, text, sizeof(text));
	s->cause = code;
	log_end(s);
	tcpx_buf_init(&b, room, sizeof(room));
	/* to the peer a closing engine is gone; one that merely hangs up is not */
	tcpx_refuse_write(&b, atomic_load(&s->engine->closing) ? TCPX_EPEERGONE : code,
			  s->cause_text);
	was_open = s->state == SESS_OPEN;
	s->state = SESS_FAILED; /* first: a cut while saying goodbye is no other cause */
	if (was_open)
		tcpx_control_put(s, TCPX_FR_BYE, &b);
	else if (!s->opener)
		tcpx_control_put_raw(s, TCPX_FR_REFUSE, &b);
	tcpx_control_flush(s);
	end_all(s);
	for (i = 0; i < TCPX_CHANNELS_MAX; i++) {
		/* a closed one may be freed with the session before its loop looks */
		if (s->tx[i] && !s->tx[i]->closed)
			tcpx_loop_post(s->tx[i]->loop, &s->tx[i]->work);
		if (s->rx[i] && !s->rx[i]->closed)
			tcpx_loop_post(s->rx[i]->loop, &s->rx[i]->work);
	}
	tcpx_session_kick_loop(s);
	tcpx_engine_bell(s->engine);
}

static void
bury_session(struct grave *g)
{
	tcpx_session_put(tcpx_container(g, struct session, grave));
}

void
tcpx_session_reap(struct session *s)
{
	struct tcpx_engine *e = s->engine;
	bool done;

	pthread_mutex_lock(&s->lock);
	if (s->stream) {
		e->ops->stream_close(s->stream);
		s->stream = NULL;
	}
	tcpx_control_probe_end(s);
	done = s->open_channels == 0 && tcpx_node_linked(&s->in_engine);
	pthread_mutex_unlock(&s->lock);
	if (!done)
		return;
	tcpx_chain_remove(&s->in_loop);
	tcpx_chain_remove(&s->unsaid);
	pthread_mutex_lock(&e->lock);
	tcpx_chain_remove(&s->in_engine);
	e->session_count--;
	pthread_mutex_unlock(&e->lock);
	if (s->peer)
		tcpx_peer_session_lost(s->peer, s, s->cause, s->cause_text);
	tcpx_loop_cancel(s->loop, &s->speech);
	tcpx_loop_cancel(s->loop, &s->work); /* last: a drop of the peer kicks what it finds */
	tcpx_loop_bury(s->loop, &s->grave, bury_session); /* the engine's reference */
}

/* ---- what keeps it alive ---- */

void
tcpx_session_check_alive(struct session *s, uint64_t now_ns)
{
	if (s->state != SESS_OPEN || (s->tx_up > 0 && s->rx_up > 0))
		return;
	if (!s->stream) {
		tcpx_session_fail(s, TCPX_EPEERGONE, "%s", "peer has gone: every connection is closed");
		return;
	}
	if (s->dying_ns == 0) {
		s->dying_ns = now_ns + DYING_NS;
		tcpx_session_kick_loop(s);
	}
}

/* A transfer without progress, while nothing else moved its way either: one of many on a
 * slow wire may well wait longer for its turn. */
static void
check_stall(struct session *s, uint64_t now_ns)
{
	uint64_t limit_ns = s->engine->limit.stall_ns, moved_ns;
	struct tcpx_xfer *x;
	int i;

	for (i = 0; i < SESS_BUCKETS; i++)
		tcpx_chain_each(n, after, &s->table[i]) {
			x = tcpx_container(n, struct tcpx_xfer, table);
			/* a send waits for its receive as long as the application likes */
			if (x->op == TCPX_OP_SEND && x->ready_ns == 0)
				continue;
			moved_ns = x->sends ? s->tx_progress_ns : s->rx_progress_ns;
			if (moved_ns < x->progress_ns)
				moved_ns = x->progress_ns;
			if (now_ns < moved_ns + limit_ns) {
				tcpx_session_add_timer(s, moved_ns + limit_ns);
				continue;
			}
			count_add(&s->engine->count.stalls, 1);
			tcpx_session_fail(s, TCPX_ESTALLED,
					  "transfer %llu: %u of %u chunks, %u in flight, nothing moved "
					  "for %llu ms; %u + %u channels up, control stream %s",
					  (unsigned long long)x->id,
					  x->sends ? x->applied : x->map.set, x->chunks,
					  x->in_flight, (unsigned long long)(limit_ns / TCPX_MS),
					  s->tx_up, s->rx_up, s->stream ? "up" : "cut");
			return;
		}
}

static void
keep_alive(struct session *s, uint64_t now_ns)
{
	uint64_t every_ns = s->engine->limit.keepalive_ns;
	uint64_t quiet_ns = now_ns - s->heard_ns;

	/* nothing may stand before RESUME on a new one, and what was heard was on the old one */
	if (!s->stream || !s->stream_up || every_ns == 0)
		return;
	if (quiet_ns >= 3 * every_ns) {
		tcpx_control_cut(s, now_ns, "peer is silent");
		return;
	}
	if (quiet_ns >= every_ns && now_ns - s->pinged_ns >= every_ns) {
		s->pinged_ns = now_ns;
		tcpx_control_put_raw(s, TCPX_FR_PING, NULL);
		if (tcpx_ctrl_ack_owed(s->ctrl))
			tcpx_ctrl_put_ack(s->ctrl);
		tcpx_control_flush(s);
	}
	tcpx_session_add_timer(s, (quiet_ns < every_ns ? s->heard_ns : s->pinged_ns) + every_ns);
}

static void
open_timer(struct session *s, uint64_t now_ns)
{
	uint32_t i;

	if (s->dying_ns && now_ns >= s->dying_ns) {
		tcpx_session_fail(s, TCPX_ENOCHANNEL, "no %s channel is left of %u",
				  s->tx_up ? "receiving" : "sending", s->channels);
		return;
	}
	if (s->dying_ns)
		tcpx_session_add_timer(s, s->dying_ns);
	if (!s->stream || s->resuming) {
		if (now_ns >= s->cut_ns + s->engine->limit.stall_ns) {
			tcpx_session_fail(s, TCPX_EPEERGONE,
					  "control stream cut and not resumed within %llu ms",
					  (unsigned long long)(s->engine->limit.stall_ns / TCPX_MS));
			return;
		}
		tcpx_session_add_timer(s, s->cut_ns + s->engine->limit.stall_ns);
		if (s->opener && !s->stream)
			tcpx_control_connect(s, now_ns);
		else if (!s->stream)
			tcpx_control_probe(s, now_ns);
	}
	for (i = 0; i < s->channels; i++) {
		struct channel *c = s->tx[i];

		if (!c || c->state != CHAN_FENCING)
			continue;
		if (now_ns >= c->down_ns + s->engine->limit.stall_ns) {
			tcpx_session_fail(s, TCPX_ESTALLED, "channel %u on %s: peer did not fence it",
					  c->index, c->near_name);
			return;
		}
		tcpx_session_add_timer(s, c->down_ns + s->engine->limit.stall_ns);
	}
	keep_alive(s, now_ns);
	check_stall(s, now_ns);
}

void
tcpx_session_timer(struct session *s, uint64_t now_ns)
{
	switch (s->state) {
	case SESS_FAILED:
		return;
	case SESS_OPEN:
		open_timer(s, now_ns);
		return;
	case SESS_CONNECTING:
		if (now_ns >= s->deadline_ns) {
			tcpx_session_fail(s, TCPX_ETIMEDOUT, "no connection within %llu ms: %s",
					  (unsigned long long)(s->engine->limit.connect_ns / TCPX_MS),
					  s->cause_text[0] ? s->cause_text : "no answer");
			return;
		}
		tcpx_control_connect(s, now_ns);
		break;
	default:
		if (now_ns >= s->deadline_ns) {
			static const char *const waits[] = {
				[SESS_HELLO] = "HELLO", [SESS_AUTH] = "AUTH",
				[SESS_HANDLES] = "HANDLES", [SESS_WIRING] = "channels",
				[SESS_READY] = "READY" };
			tcpx_session_fail(s, TCPX_ETIMEDOUT, "handshake: no %s within %llu ms",
					  waits[s->state],
					  (unsigned long long)((s->state < SESS_WIRING ?
						s->engine->limit.handshake_ns :
						tcpx_wiring_patience(s->engine)) / TCPX_MS));
			return;
		}
		if (s->state == SESS_WIRING || s->state == SESS_READY)
			tcpx_wiring_step(s, now_ns);
	}
	if (s->state != SESS_FAILED && s->state != SESS_OPEN)
		tcpx_session_add_timer(s, s->deadline_ns);
}

/* Asked for from anywhere: look at the session now. */
static void
session_work(struct work *w, uint64_t now_ns)
{
	struct session *s = tcpx_container(w, struct session, work);

	pthread_mutex_lock(&s->lock);
	if (!tcpx_node_linked(&s->in_loop) && tcpx_node_linked(&s->in_engine))
		tcpx_chain_add(&s->loop->sessions, &s->in_loop);
	tcpx_session_timer(s, now_ns);
	if (s->state != SESS_FAILED)
		tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
	if (atomic_load(&s->state) == SESS_FAILED)
		tcpx_session_reap(s);
	else if (s->engine->limit.linger_ns)
		tcpx_peer_linger(s->engine, now_ns);
}
