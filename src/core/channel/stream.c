/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream channels: payload goes from and to user memory, headers and acknowledgements in band.
 * User memory is touched only inside the gate, at most CORE_CALL_MAX bytes at a time.
 */
#include "core/channel/stream.h"

#include <errno.h>

#include "base/crc32c.h"
#include "core/channel/acks.h"
#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/landing.h"
#include "core/channel/unpack.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/late.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/memory/staging.h"
#include "core/memory/touch.h"
#include "core/session/session.h"
#include "proto/chunk.h"

#define TURN_BYTES (128u << 10) /* 256 KiB were as fast, and keep other channels waiting */

static struct touch *
room_of(const struct channel *c)
{
	return &c->session->engine->memory->room[c->loop->index];
}

/* An empty message needs no copy. */
static bool
packs(const struct tcpx_list *l)
{
	return list_staged(l) && l->total > 0;
}

/* What a turn does with pieces of user memory: see CHANNEL_PIECES. */
struct part {
	uint64_t bytes; /* offered to the kernel by the last call */
	size_t pieces;  /* ... by all of the turn's */
};

/* Into user memory, by the kernel. Summed payload takes a way around by the loop's room, since this
 * process may not read memory that another thread may unmap. */
static ssize_t
receive_direct(struct channel *c, struct payload *p, uint32_t left, size_t *pieces)
{
	const struct tcpx_stream_chan_ops *ops = c->session->engine->ops->stream;
	uint32_t most = c->rx.head.summed ? TOUCH_ROOM : CORE_CALL_MAX;
	struct tcpx_fraglist list = list_frags(p->list);
	struct tcpx_frag frag[CORE_IOV];
	struct iovec iov[CORE_IOV];
	struct tcpx_fragpos pos;
	uint64_t covered;
	size_t i, n;
	ssize_t got;

	pos = tcpx_frag_seek(&list, payload_offset(p, c->rx.open.chunk) + c->rx.got);
	n = tcpx_frag_next(&list, &pos, left < most ? left : most, frag, CORE_IOV, &covered);
	*pieces += n;
	if (c->rx.head.summed) {
		iov[0] = (struct iovec){ room_of(c)->room, covered };
		got = ops->recv(c->chan, iov, 1);
		if (got <= 0)
			return got;
		c->rx.sum = tcpx_crc32c(c->rx.sum, room_of(c)->room, (size_t)got);
		c->rx.got += (uint32_t)got;
		return tcpx_touch_move(room_of(c), TCPX_FLOW_UNPACK, frag, n, (size_t)got);
	}
	for (i = 0; i < n; i++) {
		iov[i].iov_base = (void *)(uintptr_t)frag[i].addr;
		iov[i].iov_len = frag[i].len;
	}
	got = ops->recv(c->chan, iov, (int)n);
	c->rx.got += got > 0 ? (uint32_t)got : 0;
	return got;
}

/* One socket call: into user memory, inside the gate; into the staging buffer;
 * or into the sink. */
static ssize_t
receive_part(struct channel *c, size_t *pieces)
{
	const struct tcpx_stream_chan_ops *ops = c->session->engine->ops->stream;
	struct payload *p = c->rx.open.payload;
	uint32_t left = c->rx.head.len - c->rx.got;
	uint8_t sink[16384], *data;
	struct iovec iov;
	ssize_t got;

	if (p && !c->rx.open.buffer) {
		atomic_store(&c->loop->gate, p);
		if (atomic_load(&p->live) == c->rx.open.id) {
			got = receive_direct(c, p, left, pieces);
			atomic_store(&c->loop->gate, NULL);
			if (got != -EFAULT)
				return got;
			above(c)->broken(c, p, c->rx.open.id, -EFAULT, "cannot be written");
			return 0; /* what comes now goes to the sink */
		}
		atomic_store(&c->loop->gate, NULL);
	}
	iov = (struct iovec){ sink, left < sizeof(sink) ? left : sizeof(sink) };
	if (c->rx.open.buffer)
		iov = (struct iovec){ c->rx.open.buffer->mem + c->rx.got,
				      left < CORE_CALL_MAX ? left : CORE_CALL_MAX };
	data = iov.iov_base;
	got = ops->recv(c->chan, &iov, 1);
	if (got > 0 && c->rx.head.summed)
		c->rx.sum = tcpx_crc32c(c->rx.sum, data, (size_t)got);
	c->rx.got += got > 0 ? (uint32_t)got : 0;
	return got;
}

/* A GPU that is late keeps nobody waiting: its transfer ends, and the payload goes to the sink. */
static int
take_buffer(struct channel *c)
{
	struct payload *p = c->rx.open.payload;
	int place = tcpx_copy_place(c, p->list);

	if (tcpx_late_at(c->session->engine, place)) {
		above(c)->broken(c, p, c->rx.open.id, -EIO, "cannot be written");
		return 0;
	}
	c->rx.open.buffer = tcpx_staging_get(&c->client, TCPX_FLOW_UNPACK, place, c->rx.head.len);
	return c->rx.open.buffer ? 0 : tcpx_channel_hold(c);
}

static int
open_message(struct channel *c)
{
	enum chunk_place how = CHUNK_SINK;
	int rc = 0;

	if (!c->rx.head_open) {
		rc = c->session->engine->ops->stream->recv_head(c->chan, &c->rx.head);
		if (rc)
			return rc;
		if (c->rx.head.summed != c->session->sums)
			return TCPX_EFRAME;
		c->rx.head_open = true;
		c->rx.placed = false;
		c->rx.got = c->rx.sum = 0;
	} else if (c->rx.placed) {
		return 0;
	}
	if (!c->rx.open.payload)
		rc = above(c)->place(c, &c->rx.head, &c->rx.open, &how);
	if (rc)
		return rc;
	if (how == CHUNK_PARK)
		return tcpx_channel_hold(c);
	if (c->rx.open.payload && packs(c->rx.open.payload->list) && c->rx.head.len) {
		rc = take_buffer(c);
		if (rc)
			return rc;
	}
	c->rx.placed = true;
	c->rx.open.landed_ns = engine_now(c->session->engine);
	return 0;
}

/* The open message takes the next slot of the window. */
static int
claim(struct channel *c, enum tcpx_slot_event ev)
{
	uint64_t seq;
	int rc = tcpx_window_claim(&c->window, ev, &seq);

	if (rc == 0 && seq != c->rx.head.seq)
		rc = TCPX_EFRAME;
	if (rc == 0)
		c->rx.acks.due.received = seq;
	return rc;
}

/* The open message lies in a staging buffer: its payload is unpacked. */
static int
land_staged(struct channel *c)
{
	struct iovec whole = { c->rx.open.buffer->mem, c->rx.head.len };
	struct tcpx_landed msg = { .head = c->rx.head, .frag = &whole, .frag_count = 1 };
	int rc = claim(c, TCPX_EV_LAND);

	c->rx.acks.sender_waits |= rc == 0 && c->rx.head.len > STAGING_SMALL_BYTES;
	return rc ? rc : tcpx_unpack_add(c, &msg, &c->rx.open);
}

/* The open message was received in place, or into the sink. */
static int
land(struct channel *c, uint64_t now_ns)
{
	int rc = claim(c, TCPX_EV_PLACED);

	if (rc == 0)
		rc = above(c)->applied(c, &c->rx.open, now_ns);
	if (rc != 1)
		return rc ? rc : tcpx_landing_placed(c, &c->rx.open);
	tcpx_landing_wait(c, c->rx.head.seq, &c->rx.open);
	return 0;
}

static bool
is_as_sent(struct channel *c)
{
	if (!c->rx.head.summed)
		return true;
	c->rx.head.sum = c->session->engine->ops->stream->sum(c->chan);
	return c->rx.head.sum == c->rx.sum;
}

static int
close_message(struct channel *c, uint64_t now_ns)
{
	int rc = (int)c->session->engine->ops->stream->recv(c->chan, NULL, 0);

	if (rc == -EAGAIN)
		return rc;
	if (rc == TCPX_ECANCELED) {
		/* the sender's memory has gone: nothing arrived */
		rc = claim(c, TCPX_EV_PLACED);
		if (rc == 0) {
			above(c)->missed(c, &c->rx.open, true);
			rc = tcpx_landing_placed(c, &c->rx.open);
		}
	} else if (rc == 0 && !is_as_sent(c)) {
		above(c)->corrupt(c, &c->rx.open, &c->rx.head, c->rx.sum, now_ns);
		rc = TCPX_EDATA;
	} else if (rc == 0) {
		rc = c->rx.open.buffer ? land_staged(c) : land(c, now_ns);
	}
	tcpx_landing_drop(c);
	c->rx.head_open = false;
	return rc;
}

/* Is the turn over with this message? Its sender gets buffers and slots back by the acknowledgement at the
 * turn's end. That costs both sides as much as a copy of 64 KiB, so two of these share one. */
static bool
ends_turn(bool staged, uint32_t len, size_t *taken)
{
	if (staged)
		return len > STAGING_SMALL_BYTES;
	*taken += len >= TCPX_CHUNK_MIN ? len : 0;
	return *taken >= TURN_BYTES;
}

/* Receives one large message, or two of 64 KiB, or several small ones; of many pieces, a part. */
static int
receive(struct channel *c, uint64_t now_ns)
{
	size_t pieces = 0, taken = 0;
	bool staged;
	int turn, rc;
	ssize_t n;

	for (turn = 0; turn < CHANNEL_TURN; turn++) {
		rc = tcpx_landing_settle(c);
		if (rc)
			return rc == -EAGAIN ? tcpx_channel_hold(c) : rc;
		rc = open_message(c);
		if (rc)
			return rc;
		if (taken && c->rx.head.len >= TURN_BYTES)
			return 0; /* a large one has the next turn */
		while (c->rx.got < c->rx.head.len) {
			if (pieces >= c->session->engine->limit.turn_pieces)
				return 0;
			n = receive_part(c, &pieces);
			if (n < 0)
				return (int)n;
		}
		staged = c->rx.open.buffer;
		rc = close_message(c, now_ns);
		if (rc)
			return rc;
		if (ends_turn(staged, c->rx.head.len, &taken))
			break;
	}
	return 0;
}

static int
acknowledge(struct channel *c)
{
	return c->session->engine->ops->stream->ack(c->chan, &c->rx.acks.due);
}

static int
no_release(struct channel *c, uint64_t seq)
{
	return 0;
}

/* A roomful of the payload is copied inside the gate, summed and sent from there. What the provider
 * does not take now is copied again. */
static int
send_summed(struct channel *c, struct tx_record *r, struct part *part)
{
	struct payload *p = r->payload;
	struct tcpx_fraglist list = list_frags(p->list);
	struct tcpx_tx_msg *m = &c->tx.msg;
	uint64_t left = m->head.len - m->sent;
	struct tcpx_frag frag[CORE_IOV];
	struct tcpx_fragpos pos;
	struct iovec iov;
	size_t n, before = m->sent;
	int rc = 0;

	part->bytes = 0;
	atomic_store(&c->loop->gate, p);
	if (atomic_load(&p->live) == r->id) {
		pos = tcpx_frag_seek(&list, payload_offset(p, r->chunk) + m->sent);
		n = tcpx_frag_next(&list, &pos, left < TOUCH_ROOM ? left : TOUCH_ROOM, frag,
				   CORE_IOV, &part->bytes);
		part->pieces += n;
		rc = tcpx_touch_move(room_of(c), TCPX_FLOW_PACK, frag, n, part->bytes);
	} else {
		m->abandon = true;
	}
	atomic_store(&c->loop->gate, NULL);
	if (rc)
		return rc;
	iov = (struct iovec){ room_of(c)->room, part->bytes };
	m->iov = &iov;
	m->iov_count = part->bytes > 0;
	m->head.sum = tcpx_crc32c(c->tx.sum, iov.iov_base, part->bytes);
	rc = c->session->engine->ops->stream->send(c->chan, m);
	m->iov = NULL;
	if (m->sent == before + part->bytes)
		c->tx.sum = m->head.sum;
	else if (!m->abandon)
		c->tx.sum = tcpx_crc32c(c->tx.sum, room_of(c)->room, m->sent - before);
	return rc;
}

/* One call into the provider with the rest of the payload, inside the gate. */
static int
send_direct(struct channel *c, struct tx_record *r, struct part *part)
{
	struct payload *p = r->payload;
	struct tcpx_fraglist list = list_frags(p->list);
	struct tcpx_frag frag[CORE_IOV];
	struct iovec iov[CORE_IOV];
	struct tcpx_fragpos pos;
	uint64_t left = c->tx.msg.head.len - c->tx.msg.sent;
	size_t i, n = 0;
	int rc;

	if (c->tx.msg.head.summed)
		return send_summed(c, r, part);
	part->bytes = 0;
	atomic_store(&c->loop->gate, p);
	if (atomic_load(&p->live) == r->id) {
		pos = tcpx_frag_seek(&list, payload_offset(p, r->chunk) + c->tx.msg.sent);
		n = tcpx_frag_next(&list, &pos, left < CORE_CALL_MAX ? left : CORE_CALL_MAX, frag,
				   CORE_IOV, &part->bytes);
		part->pieces += n;
		for (i = 0; i < n; i++) {
			iov[i].iov_base = (void *)(uintptr_t)frag[i].addr;
			iov[i].iov_len = frag[i].len;
		}
	} else {
		c->tx.msg.abandon = true;
	}
	c->tx.msg.iov = iov;
	c->tx.msg.iov_count = (int)n;
	rc = c->session->engine->ops->stream->send(c->chan, &c->tx.msg);
	atomic_store(&c->loop->gate, NULL);
	c->tx.msg.iov = NULL;
	return rc;
}

/* The payload is in a staging buffer. */
static int
send_staged(struct channel *c, struct tx_record *r, bool more)
{
	struct iovec iov = { r->mem + c->tx.msg.sent, r->len - c->tx.msg.sent };
	int rc;

	if (c->tx.msg.head.summed && !c->tx.msg.phase)
		c->tx.msg.head.sum = tcpx_crc32c(0, r->mem, r->len);
	c->tx.msg.iov = &iov;
	c->tx.msg.iov_count = 1;
	c->tx.msg.more = more;
	rc = c->session->engine->ops->stream->send(c->chan, &c->tx.msg);
	c->tx.msg.iov = NULL;
	r->lent = c->tx.msg.lent;
	return rc;
}

static int
send_message(struct channel *c, struct tx_record *r, bool more)
{
	struct part part = { 0, 0 };
	uint64_t before;
	bool taken;
	int rc;

	if (r->staged)
		return send_staged(c, r, more);
	do {
		before = c->tx.msg.sent;
		rc = send_direct(c, r, &part);
		if (rc == -EFAULT) {
			above(c)->broken(c, r->payload, r->id, -EFAULT, "cannot be read");
			rc = send_direct(c, r, &part); /* filler: the transfer has ended */
		}
		taken = rc == -EAGAIN && part.bytes > 0 && c->tx.msg.sent == before + part.bytes &&
			c->tx.msg.sent < c->tx.msg.head.len;
	} while (taken && part.pieces < c->session->engine->limit.turn_pieces);
	return taken ? 1 : rc;
}

static int
acked(struct channel *c, uint64_t now_ns)
{
	struct tcpx_ack ack;
	int rc = c->session->engine->ops->stream->acked(c->chan, &ack);

	return rc ? rc : tcpx_acks_take(c, &ack, now_ns);
}

static int
stats(const struct channel *c, struct tcpx_channel_info *info)
{
	return c->session->engine->ops->stream->stats(c->chan, info);
}

static int
under_way(const struct channel *c, struct tcpx_net_way *way)
{
	return c->session->engine->ops->stream->under_way(c->chan, way);
}

const struct channel_kind tcpx_stream_kind = {
	.in_place = true,
	.receive = receive,
	.acknowledge = acknowledge,
	.release = no_release,
	.send = send_message,
	.acked = acked,
	.stats = stats,
	.under_way = under_way,
	.packs = packs,
};
