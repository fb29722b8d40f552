/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comm channels: payload lands in slots of the provider and is unpacked; headers and
 * acknowledgements are frames of the control stream.
 */
#include "core/channel/comm.h"

#include <errno.h>

#include "base/crc32c.h"
#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/unpack.h"
#include "core/context/context.h"
#include "core/session/control.h"
#include "core/session/session.h"

/* The provider looks for messages whose headers it has. */
static int
announce(struct channel *c)
{
	const struct tcpx_comm_chan_ops *ops = c->session->engine->ops->comm;
	struct tcpx_head head;
	bool more = true;
	int rc = 0;

	while (rc == 0 && more) {
		pthread_mutex_lock(&c->session->lock);
		more = c->rx.heads.first != c->rx.heads.next;
		if (more)
			head = c->rx.heads.at[c->rx.heads.first++ & (c->window.size - 1)];
		pthread_mutex_unlock(&c->session->lock);
		if (more)
			rc = ops->head(c->chan, &head);
	}
	return rc;
}

/* Of the landed message, before any of it goes to user memory, and in order. What a GPU sums is
 * looked at when it is unpacked. */
static int
check_sum(struct channel *c, struct rx_record *r, uint64_t now_ns)
{
	const struct tcpx_landed *msg = &c->rx.landed;
	uint32_t i, sum = 0;

	if (msg->head.summed != c->session->sums)
		return TCPX_EFRAME;
	r->sum = msg->head.sum;
	if (!msg->head.summed || c->client.sums)
		return 0;
	for (i = 0; i < msg->frag_count; i++)
		sum = tcpx_crc32c(sum, msg->frag[i].iov_base, msg->frag[i].iov_len);
	if (sum == msg->head.sum)
		return 0;
	above(c)->corrupt(c, r, &msg->head, sum, now_ns);
	return TCPX_EDATA;
}

static int
receive(struct channel *c, uint64_t now_ns)
{
	const struct tcpx_comm_chan_ops *ops = c->session->engine->ops->comm;
	struct rx_record r;
	enum chunk_place how = CHUNK_SINK;
	uint64_t seq;
	int turn, rc = announce(c);

	for (turn = 0; turn < CHANNEL_TURN && rc == 0; turn++) {
		if (!c->rx.head_open) {
			rc = ops->recv(c->chan, &c->rx.landed);
			if (rc == 0)
				rc = tcpx_window_claim(&c->window, TCPX_EV_LAND, &seq);
			if (rc == 0 && seq != c->rx.landed.head.seq)
				rc = TCPX_EFRAME;
			if (rc)
				return rc;
			c->rx.head_open = true;
		}
		rc = above(c)->place(c, &c->rx.landed.head, &r, &how);
		if (rc)
			return rc;
		if (how == CHUNK_PARK)
			return tcpx_channel_hold(c);
		c->rx.head_open = false;
		r.landed_ns = engine_now(c->session->engine);
		rc = check_sum(c, &r, now_ns);
		if (rc) {
			if (r.payload)
				above(c)->put(r.payload);
			return rc;
		}
		rc = tcpx_unpack_add(c, &c->rx.landed, &r);
	}
	return rc;
}

static int
acknowledge(struct channel *c)
{
	uint8_t room[256];
	struct tcpx_chan_event ev = { .backward = c->backward, .channel = c->index,
				      .generation = c->generation, .seq = c->rx.acks.due.received,
				      .applied = c->rx.acks.due.applied };
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_chan_event_write(&b, &ev);
	pthread_mutex_lock(&c->session->lock);
	tcpx_control_say(c->session, TCPX_FR_CHANNEL_ACK, &b);
	tcpx_control_flush(c->session);
	pthread_mutex_unlock(&c->session->lock);
	return 0;
}

/* The channel carries bare payload: its header goes on the control stream. */
static int
put_header(struct channel *c)
{
	const struct tcpx_head *h = &c->tx.msg.head;
	struct tcpx_message m = { .backward = c->backward, .channel = h->channel,
				  .generation = h->generation, .seq = h->seq, .xfer = h->xfer,
				  .chunk = h->chunk, .len = h->len, .summed = h->summed,
				  .sum = h->sum };
	struct session *s = c->session;
	uint8_t room[64];
	struct tcpx_buf b;
	int rc;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_message_write(&b, &m);
	pthread_mutex_lock(&s->lock);
	rc = tcpx_control_put(s, TCPX_FR_MESSAGE, &b);
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int
send_message(struct channel *c, struct tx_record *r, bool more)
{
	struct tcpx_tx_msg *m = &c->tx.msg;
	int rc;

	if (m->head.summed && !m->phase) {
		m->head.sum = c->client.sums ? r->sum : tcpx_crc32c(0, r->mem, r->len);
		m->phase = 1;
	}
	rc = c->session->engine->ops->comm->send(c->chan, &m->head);
	return rc ? rc : put_header(c);
}

/* Acknowledgements come as frames: only its end is seen here. */
static int
acked(struct channel *c, uint64_t now_ns)
{
	return c->session->engine->ops->comm->ended(c->chan);
}

static int
release(struct channel *c, uint64_t seq)
{
	return c->session->engine->ops->comm->release(c->chan, seq);
}

static bool
packs_all(const struct tcpx_list *l)
{
	return true;
}

static uint8_t *
own_slot(struct channel *c, uint64_t seq)
{
	return c->session->engine->ops->comm->slot(c->chan, seq);
}

const struct channel_kind tcpx_comm_kind = {
	.heads = true,
	.silent = true,
	.receiver_listens = true,
	.receive = receive,
	.acknowledge = acknowledge,
	.release = release,
	.send = send_message,
	.acked = acked,
	.packs = packs_all,
	.slot = own_slot,
};
