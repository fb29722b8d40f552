/* SPDX-License-Identifier: Apache-2.0 */
/* A sending channel's window: acknowledged messages, and chunks that go to other channels. */
#include "core/channel/acks.h"

#include <errno.h>
#include <stdlib.h>

#include "core/channel/channel.h"
#include "core/channel/wake.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/payload.h"
#include "core/memory/staging.h"
#include "core/session/session.h"

void
tcpx_acks_free_staging(struct channel *c, struct tx_record *r)
{
	if (r->buffer)
		tcpx_staging_put(c->loop, r->buffer);
	r->buffer = NULL;
}

void
tcpx_acks_drop_staging(struct channel *c, bool fenced)
{
	uint64_t seq, now_ns = engine_now(c->session->engine);

	for (seq = c->window.released + 1; c->tx.record && seq < c->window.next; seq++) {
		struct tx_record *r = tcpx_tx_record(c, seq);

		if (r->buffer && r->lent && !fenced)
			tcpx_staging_put_lent(c->loop, r->buffer, now_ns);
		else if (r->buffer)
			tcpx_staging_put(c->loop, r->buffer);
		r->buffer = NULL;
	}
}

/* The oldest message is in place at the peer. lock held. */
static void
retire(struct channel *c, uint64_t seq, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tx_record *r = tcpx_tx_record(c, seq);

	s->sched.outstanding_bytes -= r->len;
	c->tx.outstanding_bytes -= r->len;
	c->tx.outstanding--;
	tcpx_rate_ack(&c->tx.rate, &r->mark, r->len, now_ns);
	count_add(&s->engine->count.ack_ns, now_ns - r->sent_ns);
	count_add(&s->engine->count.bytes_tx, r->len);
	count_add(&s->engine->count.chunks_tx, 1);
	count_add(&s->engine->nics.sum[c->near_nic].bytes_tx, r->len);
	c->figures.bytes += r->len;
	c->figures.chunks++;
	s->health.tx_progress_ns = now_ns;
	above(c)->acked(c, r, now_ns);
}

int
tcpx_acks_take(struct channel *c, const struct tcpx_ack *ack, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tcpx_window *w = &c->window;
	bool moved = ack->received > c->tx.acked.received || ack->applied > c->tx.acked.applied;
	uint64_t seq;
	int rc = 0;

	if (ack->applied > ack->received || ack->received < c->tx.acked.received ||
	    ack->applied < c->tx.acked.applied || ack->received >= c->tx.send_seq)
		return TCPX_EFRAME;
	for (seq = c->tx.acked.received + 1; seq <= ack->received && rc == 0; seq++) {
		rc = tcpx_window_step(w, seq, TCPX_EV_RECEIVED);
		if (rc == 0)
			tcpx_acks_free_staging(c, tcpx_tx_record(c, seq));
	}
	if (rc)
		return TCPX_EFRAME;
	c->tx.acked.received = ack->received;
	pthread_mutex_lock(&s->lock);
	for (seq = c->tx.acked.applied + 1; seq <= ack->applied && rc == 0; seq++) {
		rc = tcpx_window_step(w, seq, TCPX_EV_APPLIED);
		if (rc == 0)
			retire(c, seq, now_ns);
	}
	c->tx.acked.applied = ack->applied;
	if (moved) {
		c->tx.since_ns = c->tx.moved_ns = now_ns;
		if (c->tx.outstanding)
			c->tx.oldest_ns = tcpx_tx_record(c, ack->applied + 1)->taken_ns;
		c->heal.proven = true;
	}
	pthread_mutex_unlock(&s->lock);
	return rc ? TCPX_EFRAME : 0;
}

void
tcpx_acks_give_back(struct channel *c)
{
	struct session *s = c->session;
	uint64_t seq;

	c->tx.send_seq = c->window.next;
	for (seq = c->window.released + 1; seq < c->window.next; seq++) {
		struct tx_record *r = tcpx_tx_record(c, seq);

		if (r->payload) {
			s->sched.outstanding_bytes -= r->len;
			c->tx.outstanding_bytes -= r->len;
			c->tx.outstanding--;
			above(c)->given_back(c, r);
		}
		(void)tcpx_window_step(&c->window, seq, TCPX_EV_ABORT);
	}
	c->tx.msg_open = false;
	tcpx_channels_wake_all(s);
}
