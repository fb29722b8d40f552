/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One simplex connection on one NIC, and its fence. A chunk belongs to one generation of
 * one channel. Chunks of a dead channel go to others only after the receiver has closed its
 * side and sent the number of the last message it took over.
 */
#include "core/channel/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/channel/acks.h"
#include "core/channel/channel.h"
#include "core/channel/kind.h"
#include "core/channel/landing.h"
#include "core/channel/state.h"
#include "core/channel/wake.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/memory/payload.h"
#include "core/memory/slots.h"
#include "core/memory/staging.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"

void
tcpx_channel_watch(struct channel *c, unsigned interest)
{
	if (c->interest == interest || !c->chan)
		return;
	if (c->session->engine->ops->chan_watch(c->chan, c->loop->poller, &c->source,
						interest) == 0)
		c->interest = interest;
}

int
tcpx_channel_hold(struct channel *c)
{
	tcpx_channel_watch(c, 0);
	c->rx.held = true;
	return -EAGAIN;
}

void
tcpx_channel_recall(struct channel *c)
{
	const struct tcpx_stream_chan_ops *ops = c->session->engine->ops->stream;

	if (c->chan && ops) /* a comm channel sends from slots of its own */
		ops->recall(c->chan);
}

/* The other end of a plugin's connection is not known: who names a NIC in HELLO names the place that the plugin
 * connects to as well, in a handle. */
static void
meet_peer(const struct channel *c, struct tcpx_chan *chan)
{
	const struct tcpx_net_ops *ops = c->session->engine->ops;
	struct tcpx_addr far = c->session->chan.peer_nic[c->far_nic].addr;

	if (ops->chan_far)
		ops->chan_far(chan, &far);
	tcpx_peer_meet(c->session, &far);
}

int
tcpx_channel_up(struct channel *c, struct tcpx_chan *chan)
{
	int rc;

	c->chan = chan;
	rc = c->session->engine->ops->chan_watch(chan, c->loop->poller, &c->source, TCPX_READABLE);
	if (rc) {
		c->session->engine->ops->chan_close(chan);
		c->chan = NULL;
		return rc;
	}
	c->interest = TCPX_READABLE;
	c->state = CHAN_UP;
	c->connected = true;
	meet_peer(c, chan);
	tcpx_debug(TCPX_SUB_CHAN, "channel %u %s on %s to %s is up", c->index,
		   c->sending ? "sends" : "receives", tcpx_near_nic(c)->name,
		   tcpx_far_nic(c)->name);
	return 0;
}

/* Closes the connection and drops its open message. */
static void
hang_up(struct channel *c)
{
	struct tcpx_engine *e = c->session->engine;
	struct tcpx_channel_info last = { 0 };
	struct tcpx_chan *chan;

	/* no copy in or out of its slots may run when they go */
	tcpx_batches_finish(c->loop);
	tcpx_batches_poll(c->loop, engine_now(c->session->engine));
	/* a query reads the connection with only session.lock held */
	pthread_mutex_lock(&c->session->lock);
	chan = c->chan;
	if (chan && c->kind->stats && c->kind->stats(c, &last) == 0)
		count_add(&e->nics.sum[c->near_nic].retransmits, last.retransmits);
	c->chan = NULL;
	pthread_mutex_unlock(&c->session->lock);
	if (chan)
		tcpx_slots_close(&c->client, chan);
	c->interest = 0;
	c->rx.parked = PARK_NOT;
	tcpx_staging_leave(&c->client);
	tcpx_landing_drop(c);
}

/* Of an open session. */
static void
renew(struct channel *c)
{
	struct session *s = c->session;
	int rc = tcpx_channel_renew(c);

	if (rc) {
		(void)tcpx_fail(TCPX_SUB_CHAN, rc, "channel %u of %s stays lost", c->index,
				s->peer->name);
		return;
	}
	if (channel_rests(c))
		c->heal.proven = false;
	else
		tcpx_heal_lost(&c->heal, engine_now(s->engine));
	tcpx_session_wake_loop(s);
}

/* No event of its loop names the closed channel any more. On an open session it is opened again,
 * and one that begins again makes another. */
static void
settled(struct deferred *g)
{
	struct channel *c = tcpx_container(g, struct channel, deferred);
	struct session *s = c->session;

	pthread_mutex_lock(&s->lock);
	if (s->state == SESS_OPEN) {
		renew(c);
	} else if (s->state == SESS_CONNECTING) {
		*(c->sending ? &s->chan.tx[c->index] : &s->chan.rx[c->index]) = NULL;
		free(c);
		tcpx_session_wake_loop(s);
	}
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
}

void
tcpx_channel_unwire(struct channel *c)
{
	const struct tcpx_engine *e = c->session->engine;

	if (c->wiring->listener)
		e->ops->chan_listener_close(c->wiring->listener);
	c->wiring->listener = NULL;
	if (c->wiring->connect_state)
		e->ops->chan_connect_cancel(e->net, &c->wiring->connect_state);
}

void
tcpx_channel_wired(struct channel *c)
{
	if (!c->wiring)
		return;
	tcpx_channel_unwire(c);
	free(c->wiring);
	c->wiring = NULL;
}

void
tcpx_channel_close(struct channel *c)
{
	struct session *s = c->session;
	uint64_t seq;

	if (c->closed)
		return;
	tcpx_session_get(s); /* another loop may free the session after its last channel */
	hang_up(c);
	tcpx_acks_drop_staging(c, false);
	for (seq = c->window.released + 1; seq < c->window.next; seq++) {
		if (c->tx.record)
			above(c)->put(tcpx_tx_record(c, seq)->payload);
		else
			tcpx_landing_forget(c, seq);
	}
	pthread_mutex_lock(&s->lock);
	tcpx_window_fini(&c->window);
	free(c->tx.record);
	free(c->rx.landing);
	free(c->rx.heads.at);
	free(c->rx.frag);
	free(c->rx.frag_start);
	c->rx.heads.at = NULL;
	c->rx.frag = NULL;
	c->rx.frag_start = NULL;
	c->tx.record = NULL;
	c->rx.landing = NULL;
	tcpx_channel_wired(c);
	c->state = CHAN_DOWN;
	c->closed = true;
	s->chan.open--;
	if (s->state == SESS_FAILED && s->chan.open == 0)
		tcpx_session_wake_loop(s);
	pthread_mutex_unlock(&s->lock);
	tcpx_loop_cancel(c->loop, &c->work);
	tcpx_staging_wake_next(c->loop, c->sending ? TCPX_FLOW_PACK : TCPX_FLOW_UNPACK);
	tcpx_loop_defer_free(c->loop, &c->deferred, settled);
}

static void
put_event(struct channel *c, uint8_t type, uint64_t seq, const char *why)
{
	uint8_t room[256];
	struct tcpx_chan_event ev = { .backward = c->backward, .channel = c->index,
				      .generation = c->generation, .seq = seq };
	struct tcpx_buf b;

	snprintf(ev.text, sizeof(ev.text), "%s", why);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_chan_event_write(&b, &ev);
	tcpx_control_say(c->session, type, &b);
	tcpx_control_flush(c->session);
}

/* UP -> FENCING or DOWN; a receiving one that the peer connected first, too. Returns false if it
 * was nothing of that. lock held. */
static bool
leave_up(struct channel *c, const char *why)
{
	struct session *s = c->session;
	bool warn;

	if (c->state == CHAN_WIRING && !c->sending && s->state == SESS_OPEN) {
		c->state = CHAN_DOWN;
		return true;
	}
	if (c->state != CHAN_UP)
		return false;
	c->state = c->sending && s->state == SESS_OPEN ? CHAN_FENCING : CHAN_DOWN;
	c->fence.down_ns = engine_now(s->engine);
	if (s->state != SESS_OPEN)
		return true;
	(*(c->sending ? &s->chan.tx_up : &s->chan.rx_up))--;
	if (c->sending && c->tx.called) /* the chunk that it was woken for is the others' */
		tcpx_channels_wake_all(s);
	if (c->rested)
		return true;
	count_add(&s->engine->count.channels_lost, 1);
	/* a leaving peer closes its channels before its BYE is read; one cause may cost many */
	warn = s->xfers.live > 0 && (s->health.warned_ns == 0 ||
				     c->fence.down_ns >= s->health.warned_ns + TCPX_SEC);
	if (warn)
		s->health.warned_ns = c->fence.down_ns;
	tcpx_log(warn ? TCPX_LOG_WARN : TCPX_LOG_INFO, TCPX_SUB_CHAN,
		 "channel %u (%s) on %s to %s of %s is lost: %s; %u left", c->index,
		 c->sending ? "sending" : "receiving", tcpx_near_nic(c)->name,
		 tcpx_far_nic(c)->name, s->peer->name, why, c->sending ? s->chan.tx_up : s->chan.rx_up);
	return true;
}

void
tcpx_channel_down(struct channel *c, int code, const char *why)
{
	struct session *s = c->session;
	const struct tcpx_net_ops *ops = s->engine->ops;
	bool was_up, open, closed = c->chan && ops->chan_closed && ops->chan_closed(c->chan);

	hang_up(c);
	pthread_mutex_lock(&s->lock);
	open = s->state == SESS_OPEN;
	was_up = leave_up(c, why[0] ? why : tcpx_err_text(code));
	if (was_up && closed)
		s->chan.closed_ns = c->fence.down_ns;
	if (was_up && open) {
		if (c->sending)
			put_event(c, TCPX_FR_CHANNEL_DOWN,
				  c->fence.swallowed ? c->packet : c->fence.silent, why);
		else
			put_event(c, TCPX_FR_FENCED, c->rx.acks.due.applied, why);
		tcpx_session_check_alive(s, engine_now(s->engine));
		tcpx_session_wake_loop(s);
	}
	pthread_mutex_unlock(&s->lock);
	if (was_up && open && !c->sending)
		tcpx_channel_close(c); /* in a handshake: when the session is open, or has failed */
}

void
tcpx_channel_rest(struct channel *c)
{
	leave_up(c, "");
	put_event(c, TCPX_FR_CHANNEL_DOWN, 0, "");
}

/* The receiver's side is closed. FENCED names the last message that it has applied: what it has received
 * beyond that goes to other channels, too. */
void
tcpx_channel_fenced(struct channel *c, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tcpx_ack last = { c->fence.last, c->fence.last };
	uint64_t applied = c->tx.acked.applied, sent = c->tx.send_seq - 1;
	int rc;

	if (last.received < c->tx.acked.received)
		last.received = c->tx.acked.received;
	hang_up(c);
	pthread_mutex_lock(&s->lock);
	leave_up(c, "taken down by the peer");
	pthread_mutex_unlock(&s->lock);
	rc = tcpx_acks_take(c, &last, now_ns);
	tcpx_acks_drop_staging(c, true);
	pthread_mutex_lock(&s->lock);
	if (rc)
		tcpx_session_fail(s, rc, "FENCED of channel %u names message %llu; allowed are %llu "
				  "(acknowledged) to %llu (sent)", c->index,
				  (unsigned long long)c->fence.last, (unsigned long long)applied,
				  (unsigned long long)sent);
	else
		tcpx_acks_give_back(c);
	tcpx_session_check_alive(s, now_ns);
	pthread_mutex_unlock(&s->lock);
	tcpx_channel_close(c);
}
