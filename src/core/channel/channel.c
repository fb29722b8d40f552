/* SPDX-License-Identifier: Apache-2.0 */
/* A channel: making it, running it by its loop, and the frames of the peer about it. */
#include "core/channel/channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel/acks.h"
#include "core/channel/comm.h"
#include "core/channel/connection.h"
#include "core/channel/kind.h"
#include "core/channel/receiver.h"
#include "core/channel/sender.h"
#include "core/channel/state.h"
#include "core/channel/stream.h"
#include "core/loop/loop.h"
#include "core/memory/staging.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "net/registry.h"

static void channel_ready(struct source *src, unsigned ready, uint64_t now_ns);
static void channel_work(struct work *w, uint64_t now_ns);

const struct channel_kind *
tcpx_channel_kind(const struct tcpx_engine *e)
{
	return e->ops->comm ? &tcpx_comm_kind : &tcpx_stream_kind;
}

int
tcpx_channel_new(struct session *s, uint16_t index, bool sending, bool backward,
		 struct channel **out)
{
	struct channel *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->kind = tcpx_channel_kind(s->engine);
	c->session = s;
	c->sending = sending;
	rc = tcpx_channel_state_make(c);
	if (rc) {
		free(c);
		return rc;
	}
	tcpx_node_init(&c->client.waiting);
	c->source.on_ready = channel_ready;
	c->work.run = channel_work;
	c->loop = &s->engine->loop[index % s->engine->loop_count];
	c->client.loop = c->loop;
	c->client.work = &c->work;
	c->client.session = s;
	c->index = index;
	c->generation = 1;
	c->backward = backward;
	s->chan.silent = c->kind->silent;
	s->chan.open++;
	*out = c;
	return 0;
}

void
tcpx_channel_event(struct session *s, uint8_t type, const struct tcpx_chan_event *ev)
{
	bool about_receiver = type == TCPX_FR_CHANNEL_DOWN;
	struct channel *c = about_receiver ? s->chan.rx[ev->channel] : s->chan.tx[ev->channel];

	if (!c || c->generation != ev->generation || c->backward != (ev->backward != 0) ||
	    c->closed)
		return;
	if (type == TCPX_FR_CHANNEL_DOWN) {
		c->fence.asked = true;
	} else if (type == TCPX_FR_FENCED) {
		c->fence.done = true;
		c->fence.last = ev->seq;
	} else {
		c->tx.reported = (struct tcpx_ack){ ev->seq, ev->applied };
		c->tx.reported_new = true;
	}
	tcpx_loop_post(c->loop, &c->work);
}

int
tcpx_channel_message(struct session *s, const struct tcpx_message *m)
{
	struct channel *c = s->chan.rx[m->channel];

	if (c && !c->kind->heads)
		return TCPX_EPROTO;
	if (!c || c->generation != m->generation || c->backward != (m->backward != 0) ||
	    c->closed || !c->rx.heads.at)
		return 0;
	if (m->seq != c->rx.heads.next || c->rx.heads.next - c->rx.heads.first >= c->window.size)
		c->fence.asked = true; /* not what a correct sender would send */
	else
		c->rx.heads.at[c->rx.heads.next++ & (c->window.size - 1)] =
			(struct tcpx_head){ .xfer = m->xfer, .chunk = m->chunk, .len = m->len,
					    .channel = m->channel, .generation = m->generation,
					    .seq = m->seq, .sum = m->sum,
					    .summed = m->summed };
	tcpx_loop_post(c->loop, &c->work);
	return 0;
}

static void
channel_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct channel *c = tcpx_container(src, struct channel, source);

	if (!c->closed && c->state == CHAN_FENCING)
		tcpx_channel_down(c, TCPX_EFENCED, ""); /* it rests, and the peer has closed it */
	if (c->closed || c->state != CHAN_UP)
		return;
	if (c->sending)
		tcpx_sender_step(c, ready & (TCPX_READABLE | TCPX_BROKEN), now_ns);
	else
		tcpx_receiver_step(c, now_ns);
}

static void
channel_work(struct work *w, uint64_t now_ns)
{
	struct channel *c = tcpx_container(w, struct channel, work);
	struct session *s = c->session;
	struct tcpx_ack reported;
	bool over, fenced, down, silent, cut_off, broke, acked, swallowed;
	int rc = 0;

	if (c->closed)
		return;
	pthread_mutex_lock(&s->lock);
	over = s->state == SESS_FAILED || s->state == SESS_CONNECTING ||
	       (c->state == CHAN_DOWN && s->state == SESS_OPEN);
	fenced = c->fence.done;
	down = c->fence.asked;
	silent = c->fence.silent || c->fence.beside;
	cut_off = c->fence.cut_off;
	swallowed = c->fence.swallowed != 0;
	broke = c->fence.broke;
	acked = c->tx.reported_new;
	reported = c->tx.reported;
	c->tx.reported_new = false;
	pthread_mutex_unlock(&s->lock);
	if (over) {
		tcpx_channel_close(c);
	} else if (fenced) {
		tcpx_channel_fenced(c, now_ns);
	} else if (down) {
		tcpx_channel_down(c, TCPX_EFENCED, "taken down by the sender");
	} else if (broke) {
		tcpx_channel_down(c, TCPX_ECHANNEL, "its connection broke in the handshake");
	} else if (cut_off) {
		tcpx_channel_down(c, TCPX_ECHANNEL, "its NIC has no link or no address");
	} else if (swallowed) {
		tcpx_channel_down(c, TCPX_ECHANNEL, "its path carries small packets only");
	} else if (silent) {
		tcpx_channel_down(c, TCPX_ECHANNEL, "its path is silent or too slow, and others move");
	} else if (c->state == CHAN_UP) {
		if (acked)
			rc = tcpx_acks_take(c, &reported, now_ns);
		if (rc)
			tcpx_channel_down(c, rc, "impossible acknowledgement");
		else if (c->sending)
			tcpx_sender_step(c, false, now_ns);
		else
			tcpx_receiver_step(c, now_ns);
	}
	tcpx_staging_wake_next(c->loop, c->sending ? TCPX_FLOW_PACK : TCPX_FLOW_UNPACK);
}

void
tcpx_channel_describe(const struct channel *c, struct tcpx_channel_info *o)
{
	memset(o, 0, sizeof(*o));
	o->session = c->session->id;
	memcpy(o->peer, c->session->peer->name, sizeof(o->peer));
	memcpy(o->nic, tcpx_near_nic(c)->name, sizeof(o->nic));
	memcpy(o->peer_nic, tcpx_far_nic(c)->name, sizeof(o->peer_nic));
	o->index = c->index;
	o->generation = c->generation;
	o->sending = c->sending;
	o->up = c->state == CHAN_UP;
	o->rests = channel_rests(c);
	o->bytes = c->figures.bytes;
	o->chunks = c->figures.chunks;
	o->stalls = c->figures.stalls;
	o->in_flight = c->tx.outstanding;
	o->in_flight_max = c->figures.in_flight_max;
	o->in_flight_sum = c->figures.in_flight_sum;
	o->rate_Bps = c->tx.rate.Bps;
	o->loop = c->loop->index;
	o->incoming_cpu = -1;
	if (c->state == CHAN_UP && c->chan && c->kind->stats)
		(void)c->kind->stats(c, o); /* what cannot be read stays 0 */
}
