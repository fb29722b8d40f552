/* SPDX-License-Identifier: Apache-2.0 */
/* A babbler's channels. What it puts there may be any bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/babble/babble.h"
#include "base/crc32c.h"

#define PAYLOAD_MAX 65536u

void
babbler_close_chan(struct babbler *b, struct babble_chan *c)
{
	const struct tcpx_net_ops *ops = b->world->ops;

	if (c->chan)
		ops->chan_close(c->chan);
	if (c->connecting)
		ops->chan_connect_cancel(b->net, &c->connecting);
	if (c->listener)
		ops->chan_listener_close(c->listener);
	c->chan = NULL;
	c->listener = NULL;
	c->tried = c->inside = c->usable = false;
	c->seq = c->acked = 0;
}

void
babbler_data_end(struct babbler *b)
{
	for (uint32_t i = 0; i < BABBLE_CHANS; i++) {
		babbler_close_chan(b, &b->chan[i]);
		memset(&b->chan[i], 0, sizeof(b->chan[i]));
	}
}

static bool
sends(const struct babbler *b, const struct babble_chan *c)
{
	return c->forward == b->opener;
}

/* ---- receiving ---- */

static void
acknowledge(struct babbler *b, struct babble_chan *c)
{
	struct tcpx_ack a = { babbler_tell(b, c->seq), babbler_tell(b, c->seq) };

	if (c->seq == c->acked && !babbler_lies(b))
		return;
	c->acked = c->seq;
	babble_wire_ack(c->chan, &a, b->sums);
}

/* 0: there may be more. */
static int
receive(struct babbler *b, struct babble_chan *c)
{
	const struct tcpx_stream_chan_ops *ops = b->world->ops->stream;
	struct tcpx_head head;
	uint8_t sink[8192];
	struct iovec iov = { sink, sizeof(sink) };
	ssize_t n;
	int rc;

	if (!c->inside) {
		rc = ops->recv_head(c->chan, &head);
		if (rc)
			return rc;
		c->inside = true;
	}
	n = ops->recv(c->chan, &iov, 1);
	if (n > 0)
		return 0;
	if (n == 0 || n == TCPX_ECANCELED) {
		c->inside = false;
		c->seq++;
		return 0;
	}
	return (int)n;
}

void
babbler_data_read(struct babbler *b)
{
	int rc;

	for (uint32_t i = 0; i < 2 * b->count; i++) {
		struct babble_chan *c = &b->chan[i];

		if (!c->chan || sends(b, c) || b->world->ops->comm || !b->reads)
			continue;
		do
			rc = receive(b, c);
		while (rc == 0);
		if (rc != -EAGAIN)
			babbler_close_chan(b, c);
		else
			acknowledge(b, c);
	}
}

/* ---- sending ---- */

static struct babble_chan *
some_sending(struct babbler *b)
{
	uint32_t first = (uint32_t)sim_between(b->world, 0, 2 * b->count - 1);

	for (uint32_t i = 0; i < 2 * b->count; i++) {
		struct babble_chan *c = &b->chan[(first + i) % (2 * b->count)];

		if (c->chan && sends(b, c))
			return c;
	}
	return NULL;
}

static void
send_in_band(struct babbler *b, struct babble_chan *c, const struct tcpx_head *h)
{
	static uint8_t payload[PAYLOAD_MAX];
	uint32_t len = (uint32_t)babbler_tell(b, h->len);
	struct tcpx_head sent = *h;
	bool abandoned = babbler_lies(b);

	memset(payload, (int)h->seq, sizeof(payload));
	len = len < sizeof(payload) ? len : sizeof(payload);
	sent.sum = (uint32_t)babbler_tell(b, tcpx_crc32c(0, payload, len));
	babble_wire_message(c->chan, &sent, payload, len, abandoned);
	if (babbler_lies_more(b))
		babble_wire_message(c->chan, &sent, payload, len, abandoned);
}

static void
send_bare(struct babbler *b, struct babble_chan *c, struct tcpx_head *h)
{
	const struct tcpx_comm_chan_ops *ops = b->world->ops->comm;
	struct tcpx_message m = { .backward = !c->forward, .xfer = h->xfer, .len = h->len,
				  .channel = h->channel, .generation = h->generation,
				  .seq = h->seq, .chunk = h->chunk, .summed = h->summed };
	uint64_t first = babble_wire_slot(c->chan); /* the network's rules are kept */
	struct tcpx_head sent = *h;
	uint8_t room[128], *slot;
	struct tcpx_buf out;

	if (h->len <= PAYLOAD_MAX && first && (slot = ops->slot(c->chan, first))) {
		sent.seq = first;
		memset(slot, (int)first, h->len);
		(void)ops->send(c->chan, &sent);
		m.sum = tcpx_crc32c(0, slot, h->len);
	}
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_message_write(&out, &m);
	babbler_put(b, TCPX_FR_MESSAGE, &out, false);
}

/* Everything in @h but what it carries is filled in here. */
static void
send_next(struct babbler *b, struct babble_chan *c, struct tcpx_head *h)
{
	h->channel = (uint16_t)babbler_tell(b, c->id.channel);
	h->generation = (uint16_t)babbler_tell(b, c->id.generation);
	h->seq = babbler_tell(b, ++c->seq);
	if (b->world->ops->comm)
		send_bare(b, c, h);
	else
		send_in_band(b, c, h);
	if (sim_one_in(b->world, 200))
		babbler_close_chan(b, c);
}

void
babbler_data_lane(struct babbler *b, uint64_t id, uint32_t chunk, uint32_t len)
{
	struct babble_chan *c = some_sending(b);
	struct tcpx_head h = { .summed = b->sums != babbler_lies(b) };

	if (!c)
		return;
	h.xfer = babbler_tell(b, id);
	h.chunk = (uint32_t)babbler_tell(b, chunk);
	h.len = (uint32_t)babbler_tell(b, len);
	send_next(b, c, &h);
}

void
babbler_data_say(struct babbler *b)
{
	struct babble_chan *c = some_sending(b);
	struct known *k = b->mine_count ?
			  &b->mine[sim_between(b->world, 0, b->mine_count - 1)] : NULL;
	struct tcpx_head h = { .summed = b->sums != babbler_lies(b) };
	uint64_t chunks;

	if (!c || !k || k->op == TCPX_WIRE_READ || k->chunk == 0)
		return;
	chunks = k->total / k->chunk + (k->total % k->chunk != 0);
	if (chunks == 0 || chunks > 1000)
		return;
	h.xfer = babbler_tell(b, k->id);
	h.chunk = k->next;
	if (h.chunk >= chunks) {
		if (!babbler_lies(b))
			return;
		h.chunk = 0;
	}
	k->next++;
	h.len = (uint32_t)(h.chunk + 1 == chunks ? k->total - (chunks - 1) * k->chunk : k->chunk);
	h.chunk = (uint32_t)babbler_tell(b, h.chunk);
	h.len = (uint32_t)babbler_tell(b, h.len);
	send_next(b, c, &h);
}
