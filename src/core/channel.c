/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One simplex connection on one NIC, and its fence. A chunk belongs to one generation of
 * one channel: what a dead channel carried goes to others only after the receiver has
 * said, with its side closed, which message was the last it took over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

static void channel_ready(struct source *src, unsigned ready, uint64_t now_ns);
static void channel_work(struct work *w, uint64_t now_ns);

int
tcpx_channel_new(struct session *s, uint16_t index, bool sending, bool backward,
		 struct channel **out)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	struct channel *c = calloc(1, sizeof(*c));
	uint32_t limit = s->window;
	int rc;

	if (!c)
		return -ENOMEM;
	if (s->engine->limit.slots_max && limit > s->engine->limit.slots_max)
		limit = s->engine->limit.slots_max;
	rc = tcpx_window_init(&c->window, limit);
	if (rc == 0 && sending)
		c->tx = calloc(c->window.size, sizeof(*c->tx));
	else if (rc == 0)
		c->landing = calloc(c->window.size, sizeof(*c->landing));
	if (rc == 0 && !sending && ops->caps & TCPX_NET_CTRL_HEAD)
		c->heads = calloc(c->window.size, sizeof(*c->heads));
	if (rc == 0 && ((!c->tx && !c->landing) ||
			(!sending && ops->caps & TCPX_NET_CTRL_HEAD && !c->heads)))
		rc = -ENOMEM;
	if (rc) {
		tcpx_window_fini(&c->window);
		free(c->tx);
		free(c->landing);
		free(c->heads);
		free(c);
		return rc;
	}
	c->send_seq = c->head_first = c->head_next = c->window.next;
	c->gpu = TCPX_ON_HOST;
	tcpx_node_init(&c->starving);
	c->source.on_ready = channel_ready;
	c->work.run = channel_work;
	c->session = s;
	c->loop = &s->engine->loop[index % s->engine->loop_count];
	c->index = index;
	c->generation = 1;
	c->sending = sending;
	c->backward = backward;
	c->state = CHAN_WIRING;
	s->open_channels++;
	*out = c;
	return 0;
}

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
	tcpx_debug(TCPX_SUB_CHAN, "channel %u %s on %s to %s is up", c->index,
		   c->sending ? "sends" : "receives", c->near_name, c->far_name);
	return 0;
}

/* Closes the connection and drops what it was in the middle of. */
static void
hang_up(struct channel *c)
{
	struct tcpx_engine *e = c->session->engine;
	struct tcpx_chan_stats last = { 0 };
	struct tcpx_chan *chan;

	/* no copy in or out of its slots may be running when they go */
	tcpx_batches_finish(c->loop);
	tcpx_batches_poll(c->loop, engine_now(c->session->engine));
	/* a query looks at the connection with only session.lock held */
	pthread_mutex_lock(&c->session->lock);
	chan = c->chan;
	if (chan && e->ops->chan_stats(chan, &last) == 0)
		count_add(&e->nic_count_of[c->near_nic].retransmits, last.retransmits);
	c->chan = NULL;
	pthread_mutex_unlock(&c->session->lock);
	if (chan)
		c->session->engine->ops->chan_close(chan);
	c->interest = 0;
	c->parked = false;
	tcpx_chain_remove(&c->starving);
	tcpx_rx_drop(c);
}

static void
bury_channel(struct grave *g)
{
	tcpx_session_put(tcpx_container(g, struct channel, grave)->session);
}

void
tcpx_channel_close(struct channel *c)
{
	struct session *s = c->session;
	const struct tcpx_net_ops *ops = s->engine->ops;
	uint64_t seq;

	if (c->closed)
		return;
	tcpx_session_get(s); /* the last channel closed lets another loop give the session up */
	hang_up(c);
	tcpx_tx_drop_slots(c, false);
	for (seq = c->window.released + 1; seq < c->window.next; seq++) {
		if (c->tx)
			tcpx_xfer_put(c->tx[seq & (c->window.size - 1)].xfer);
		else
			tcpx_unpack_forget(c, seq);
	}
	pthread_mutex_lock(&s->lock);
	tcpx_window_fini(&c->window);
	free(c->tx);
	free(c->landing);
	free(c->heads);
	free(c->frag);
	free(c->frag_start);
	c->heads = NULL;
	c->frag = NULL;
	c->frag_start = NULL;
	c->tx = NULL;
	c->landing = NULL;
	if (c->listener)
		ops->chan_listener_close(c->listener);
	c->listener = NULL;
	if (c->connect_state)
		ops->chan_connect_cancel(s->engine->net, &c->connect_state);
	c->state = CHAN_DOWN;
	c->closed = true;
	s->open_channels--;
	if (s->state == SESS_FAILED && s->open_channels == 0)
		tcpx_session_kick_loop(s);
	pthread_mutex_unlock(&s->lock);
	tcpx_loop_cancel(c->loop, &c->work);
	tcpx_slot_pass(c->loop, c->sending ? TCPX_FLOW_PACK : TCPX_FLOW_UNPACK);
	tcpx_loop_bury(c->loop, &c->grave, bury_channel);
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
	if (tcpx_control_put(c->session, type, &b) != 0)
		tcpx_session_fail(c->session, TCPX_ELIMIT,
				  "peer does not read its control stream");
	tcpx_control_flush(c->session);
}

/* UP -> FENCING or DOWN. Returns false if it was not up. lock held. */
static bool
leave_up(struct channel *c, const char *why)
{
	struct session *s = c->session;

	if (c->state != CHAN_UP)
		return false;
	c->state = c->sending ? CHAN_FENCING : CHAN_DOWN;
	c->down_ns = engine_now(s->engine);
	if (s->state != SESS_OPEN)
		return true;
	(*(c->sending ? &s->tx_up : &s->rx_up))--;
	count_add(&s->engine->count.channels_lost, 1);
	/* a peer that leaves closes its channels before its goodbye is read */
	tcpx_log(s->live > 0 ? TCPX_LOG_WARN : TCPX_LOG_INFO, TCPX_SUB_CHAN,
		 "channel %u (%s) on %s to %s of %s is lost: %s; %u left", c->index,
		  c->sending ? "sending" : "receiving", c->near_name, c->far_name, s->peer->name,
		  why, c->sending ? s->tx_up : s->rx_up);
	return true;
}

void
tcpx_channel_down(struct channel *c, int code, const char *why)
{
	struct session *s = c->session;
	bool was_up, open;

	hang_up(c);
	pthread_mutex_lock(&s->lock);
	open = s->state == SESS_OPEN;
	was_up = leave_up(c, why[0] ? why : tcpx_err_text(code));
	if (was_up && open) {
		if (c->sending)
			put_event(c, TCPX_FR_CHANNEL_DOWN, 0, why);
		else
			put_event(c, TCPX_FR_FENCED, c->ack.applied, why);
		tcpx_session_check_alive(s, engine_now(s->engine));
		tcpx_session_kick_loop(s);
	}
	pthread_mutex_unlock(&s->lock);
	if (was_up && (!open || !c->sending))
		tcpx_channel_close(c);
}

/* The receiver has let go: its word decides which messages arrived. */
static void
fence_done(struct channel *c, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tcpx_ack last = { c->fenced_last, c->fenced_last };
	int rc;

	hang_up(c);
	pthread_mutex_lock(&s->lock);
	leave_up(c, "taken down by the peer");
	pthread_mutex_unlock(&s->lock);
	rc = tcpx_tx_acked(c, &last, now_ns);
	tcpx_tx_drop_slots(c, true);
	pthread_mutex_lock(&s->lock);
	if (rc)
		tcpx_session_fail(s, rc, "channel %u fenced at message %llu, which was never sent",
				  c->index, (unsigned long long)c->fenced_last);
	else
		tcpx_tx_give_back(c);
	tcpx_session_check_alive(s, now_ns);
	pthread_mutex_unlock(&s->lock);
	tcpx_channel_close(c);
}

void
tcpx_channel_event(struct session *s, uint8_t type, const struct tcpx_chan_event *ev)
{
	bool about_receiver = type == TCPX_FR_CHANNEL_DOWN;
	struct channel *c = about_receiver ? s->rx[ev->channel] : s->tx[ev->channel];

	if (!c || c->generation != ev->generation || c->backward != (ev->backward != 0) ||
	    c->closed)
		return;
	if (type == TCPX_FR_CHANNEL_DOWN) {
		c->down_asked = true;
	} else if (type == TCPX_FR_FENCED) {
		c->fenced = true;
		c->fenced_last = ev->seq;
	} else {
		c->told = (struct tcpx_ack){ ev->seq, ev->applied };
		c->told_new = true;
	}
	tcpx_loop_post(c->loop, &c->work);
}

void
tcpx_channel_message(struct session *s, const struct tcpx_message *m)
{
	struct channel *c = s->rx[m->channel];

	if (!c || c->generation != m->generation || c->backward != (m->backward != 0) ||
	    c->closed || !c->heads)
		return;
	if (m->seq != c->head_next || c->head_next - c->head_first >= c->window.size)
		c->down_asked = true; /* not what its sender would say */
	else
		c->heads[c->head_next++ & (c->window.size - 1)] =
			(struct tcpx_head){ .xfer = m->xfer, .chunk = m->chunk, .len = m->len,
					    .channel = m->channel, .generation = m->generation,
					    .seq = m->seq };
	tcpx_loop_post(c->loop, &c->work);
}

static void
channel_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct channel *c = tcpx_container(src, struct channel, source);

	if (c->closed || c->state != CHAN_UP)
		return;
	if (c->sending)
		tcpx_tx_step(c, ready & (TCPX_READABLE | TCPX_BROKEN), now_ns);
	else
		tcpx_rx_step(c, now_ns);
}

static void
channel_work(struct work *w, uint64_t now_ns)
{
	struct channel *c = tcpx_container(w, struct channel, work);
	struct session *s = c->session;
	struct tcpx_ack told;
	bool over, fenced, down, acked;
	int rc = 0;

	if (c->closed)
		return;
	pthread_mutex_lock(&s->lock);
	over = s->state == SESS_FAILED || c->state == CHAN_DOWN;
	fenced = c->fenced;
	down = c->down_asked;
	acked = c->told_new;
	told = c->told;
	c->told_new = false;
	pthread_mutex_unlock(&s->lock);
	if (over) {
		tcpx_channel_close(c);
	} else if (fenced) {
		fence_done(c, now_ns);
	} else if (down) {
		tcpx_channel_down(c, TCPX_EFENCED, "taken down by the sender");
	} else if (c->state == CHAN_UP) {
		if (acked)
			rc = tcpx_tx_acked(c, &told, now_ns);
		if (rc)
			tcpx_channel_down(c, rc, "impossible acknowledgement");
		else if (c->sending)
			tcpx_tx_step(c, false, now_ns);
		else
			tcpx_rx_step(c, now_ns);
	}
	tcpx_slot_pass(c->loop, c->sending ? TCPX_FLOW_PACK : TCPX_FLOW_UNPACK);
}
