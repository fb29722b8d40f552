/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving: a message names its transfer and chunk; the engine, never the wire, says
 * where its bytes go. Unknown to this side yet: the channel waits for the OPEN. Known no
 * more: the bytes go to a sink.
 */
#include <errno.h>
#include <stdio.h>

#include "core/core.h"

#define TURN_MESSAGES 16          /* landed or small messages a turn               */
#define TELL_BYTES    (256u << 10) /* applied and not yet told, at most             */

enum found { FOUND, SINK, PARK };

/* Where does a message of this head go? 0 (and *how), or TCPX_EFRAME. */
static int
find_place(struct channel *c, const struct tcpx_head *h, struct rx_record *r, enum found *how)
{
	struct session *s = c->session;
	struct tcpx_xfer *x;
	int rc = 0;

	*r = (struct rx_record){ .id = h->xfer, .chunk = h->chunk, .len = h->len };
	pthread_mutex_lock(&s->lock);
	x = tcpx_xfer_find(s, h->xfer);
	if (!x) {
		*how = SINK;
		if (!id_is_known(s, h->xfer)) {
			*how = PARK;
			c->parked = true;
			rc = id_is_ours(s, h->xfer) ? TCPX_EFRAME : 0;
		}
	} else if (x->sends || !x->map.words || h->chunk >= x->chunks ||
		   h->len != tcpx_chunk_len(x->total, x->chunk, h->chunk) ||
		   tcpx_chunkmap_get(&x->map, h->chunk)) {
		rc = TCPX_EFRAME;
	} else {
		*how = FOUND;
		tcpx_xfer_get(x);
		r->xfer = x;
	}
	if (*how != PARK)
		c->parked = false;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* The answer to a small transfer goes out with others', if this thread runs the loop of the
 * control stream; so do those of many, if that is awake: written one by one by twelve threads,
 * under the session's lock, they took the receiver as long as the payload. */
static void
say(struct channel *c, bool small)
{
	struct session *s = c->session;

	if (c->loop == s->loop && (small || s->live > 1))
		tcpx_control_later(s);
	else if (c->loop != s->loop && s->live > 1 && !atomic_load(&s->loop->asleep))
		tcpx_control_hand(s);
	else
		tcpx_control_flush(s);
}

int
tcpx_rx_applied(struct channel *c, const struct rx_record *r, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tcpx_xfer *x = r->xfer;
	bool small;
	int rc = 0;

	count_add(&s->engine->count.bytes_rx, r->len);
	count_add(&s->engine->count.chunks_rx, 1);
	pthread_mutex_lock(&s->lock);
	count_add(&s->engine->nic_count_of[c->near_nic].bytes_rx, r->len);
	c->bytes += r->len;
	c->chunks++;
	if (x && x->id == r->id && atomic_load(&x->status) == -EAGAIN) {
		s->rx_progress_ns = x->progress_ns = now_ns;
		if (!tcpx_chunkmap_set(&x->map, r->chunk))
			rc = TCPX_EFRAME; /* the fence forbids it: no chunk is applied twice */
		count_add(&x->bytes_done, r->len);
		if (rc == 0 && tcpx_chunkmap_full(&x->map)) {
			small = x->chunks == 1 && x->total <= SLOT_SMALL_BYTES;
			tcpx_serve_filled(s, x);
			say(c, small);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int
tell_by_control(struct channel *c)
{
	uint8_t room[256];
	struct tcpx_chan_event ev = { .backward = c->backward, .channel = c->index,
				      .generation = c->generation, .seq = c->ack.received,
				      .applied = c->ack.applied };
	struct tcpx_buf b;
	int rc;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_chan_event_write(&b, &ev);
	pthread_mutex_lock(&c->session->lock);
	rc = tcpx_control_put(c->session, TCPX_FR_CHANNEL_ACK, &b);
	tcpx_control_flush(c->session);
	pthread_mutex_unlock(&c->session->lock);
	return rc;
}

void
tcpx_rx_tell(struct channel *c, bool force)
{
	const struct tcpx_net_ops *ops = c->session->engine->ops;
	int rc;

	if ((c->ack.applied == c->told_ack.applied && c->ack.received == c->told_ack.received) ||
	    !c->chan || (!force && c->untold_bytes < TELL_BYTES))
		return;
	rc = ops->caps & TCPX_NET_INLINE_ACK ? ops->chan_ack(c->chan, &c->ack) :
					       tell_by_control(c);
	if (rc == 0) {
		c->told_ack = c->ack;
		c->untold_bytes = 0;
		c->slot_waits = false;
	}
	tcpx_channel_watch(c, rc == -EAGAIN ? TCPX_READABLE | TCPX_WRITABLE : TCPX_READABLE);
}

/* ---- payload goes straight to its place ---- */

/* One socket call into user memory, inside the gate; into the staging slot; or into the
 * sink. */
static ssize_t
receive_part(struct channel *c)
{
	const struct tcpx_net_ops *ops = c->session->engine->ops;
	struct tcpx_xfer *x = c->rx.xfer;
	uint32_t left = c->head.len - c->got;
	struct tcpx_frag frag[CORE_IOV];
	struct iovec iov[CORE_IOV];
	struct tcpx_fraglist list;
	struct tcpx_fragpos pos;
	uint8_t sink[16384];
	uint64_t covered;
	size_t i, n;
	ssize_t got;

	if (c->rx.slot) {
		iov[0].iov_base = c->rx.slot->mem + c->got;
		iov[0].iov_len = left < CORE_CALL_MAX ? left : CORE_CALL_MAX;
		return ops->chan_recv_body(c->chan, iov, 1);
	}
	if (x) {
		atomic_store(&c->loop->gate, x);
		if (atomic_load(&x->live) == c->rx.id) {
			list = list_frags(x->list);
			pos = tcpx_frag_seek(&list, (uint64_t)c->head.chunk * x->chunk + c->got);
			n = tcpx_frag_take(&list, &pos, left < CORE_CALL_MAX ? left : CORE_CALL_MAX,
					   frag, CORE_IOV, &covered);
			for (i = 0; i < n; i++) {
				iov[i].iov_base = (void *)(uintptr_t)frag[i].addr;
				iov[i].iov_len = frag[i].len;
			}
			got = ops->chan_recv_body(c->chan, iov, (int)n);
			atomic_store(&c->loop->gate, NULL);
			return got;
		}
		atomic_store(&c->loop->gate, NULL);
	}
	iov[0].iov_base = sink;
	iov[0].iov_len = left < sizeof(sink) ? left : sizeof(sink);
	return ops->chan_recv_body(c->chan, iov, 1);
}

/* Nothing is read until whoever has what the message needs posts the channel's work. */
static int
hold(struct channel *c)
{
	tcpx_channel_watch(c, 0);
	c->held = true;
	return -EAGAIN;
}

static int
open_message(struct channel *c)
{
	enum found how = SINK;
	int rc = 0;

	if (!c->head_open) {
		rc = c->session->engine->ops->chan_recv_head(c->chan, &c->head);
		if (rc)
			return rc;
		c->head_open = true;
		c->placed = false;
		c->got = 0;
	} else if (c->placed) {
		return 0;
	}
	if (!c->rx.xfer)
		rc = find_place(c, &c->head, &c->rx, &how);
	if (rc)
		return rc;
	if (how == PARK)
		return hold(c);
	if (c->rx.xfer && list_staged(c->rx.xfer->list)) {
		c->rx.slot = tcpx_slot_get(c, TCPX_FLOW_UNPACK, c->head.len);
		if (!c->rx.slot)
			return hold(c);
	}
	c->placed = true;
	c->rx.landed_ns = engine_now(c->session->engine);
	return 0;
}

/* The open message has all its bytes. */
static int
land(struct channel *c, uint64_t now_ns)
{
	struct iovec whole = { c->rx.slot ? c->rx.slot->mem : NULL, c->head.len };
	struct tcpx_landed msg = { .head = c->head, .frag = &whole, .frag_count = 1 };
	uint64_t seq;
	int rc;

	rc = tcpx_window_post(&c->window, TCPX_EV_LAND, &seq);
	if (rc == 0 && seq != c->head.seq)
		rc = TCPX_EFRAME;
	if (rc)
		return rc;
	c->ack.received = seq;
	c->slot_waits |= c->rx.slot && c->head.len > SLOT_SMALL_BYTES;
	if (c->rx.slot)
		return tcpx_unpack_add(c, &msg, &c->rx);
	rc = tcpx_rx_applied(c, &c->rx, now_ns);
	return rc ? rc : tcpx_unpack_none(c, seq, &c->rx);
}

void
tcpx_rx_drop(struct channel *c)
{
	if (c->rx.slot)
		tcpx_slot_put(c->loop, c->rx.slot);
	if (c->rx.xfer)
		tcpx_xfer_put(c->rx.xfer);
	c->rx = (struct rx_record){ 0 };
}

static int
close_message(struct channel *c, uint64_t now_ns)
{
	int rc = c->session->engine->ops->chan_recv_end(c->chan);
	uint64_t seq;

	if (rc == -EAGAIN)
		return rc;
	if (rc == TCPX_ECANCELED) {
		/* the sender's memory was gone: nothing arrived */
		rc = tcpx_window_post(&c->window, TCPX_EV_LAND, &seq);
		if (rc == 0 && seq != c->head.seq)
			rc = TCPX_EFRAME;
		if (rc == 0) {
			c->ack.received = seq;
			rc = tcpx_unpack_none(c, seq, &c->rx);
		}
	} else if (rc == 0) {
		rc = land(c, now_ns);
	}
	tcpx_rx_drop(c);
	c->head_open = false;
	return rc;
}

/* Receives at most one large message, or several small ones. */
static int
step_direct(struct channel *c, uint64_t now_ns)
{
	int turn, rc;
	ssize_t n;

	for (turn = 0; turn < TURN_MESSAGES; turn++) {
		rc = open_message(c);
		if (rc)
			return rc;
		while (c->got < c->head.len) {
			n = receive_part(c);
			if (n < 0)
				return (int)n;
			c->got += (uint32_t)n;
		}
		rc = close_message(c, now_ns);
		if (rc)
			return rc;
		if (c->head.len >= TCPX_CHUNK_MIN)
			break;
	}
	return 0;
}

/* ---- payload lands in the provider's slots ---- */

/* The provider looks for messages that it has been told of. */
static int
announce(struct channel *c)
{
	const struct tcpx_net_ops *ops = c->session->engine->ops;
	struct tcpx_head head;
	bool more = true;
	int rc = 0;

	while (rc == 0 && more) {
		pthread_mutex_lock(&c->session->lock);
		more = c->head_first != c->head_next;
		if (more)
			head = c->heads[c->head_first++ & (c->window.size - 1)];
		pthread_mutex_unlock(&c->session->lock);
		if (more)
			rc = ops->chan_head(c->chan, &head);
	}
	return rc;
}

static int
step_slots(struct channel *c)
{
	const struct tcpx_net_ops *ops = c->session->engine->ops;
	struct rx_record r;
	enum found how = SINK;
	uint64_t seq;
	int turn, rc = c->heads ? announce(c) : 0;

	for (turn = 0; turn < TURN_MESSAGES && rc == 0; turn++) {
		if (!c->head_open) {
			rc = ops->chan_recv_msg(c->chan, &c->landed);
			if (rc == 0)
				rc = tcpx_window_post(&c->window, TCPX_EV_LAND, &seq);
			if (rc == 0 && seq != c->landed.head.seq)
				rc = TCPX_EFRAME;
			if (rc)
				return rc;
			c->head_open = true;
		}
		rc = find_place(c, &c->landed.head, &r, &how);
		if (rc)
			return rc;
		if (how == PARK)
			return hold(c);
		c->head_open = false;
		r.landed_ns = engine_now(c->session->engine);
		rc = tcpx_unpack_add(c, &c->landed, &r);
	}
	return rc;
}

void
tcpx_rx_step(struct channel *c, uint64_t now_ns)
{
	bool direct = c->session->engine->ops->caps & TCPX_NET_DIRECT_RX;
	bool was_held = c->held;
	int rc;

	c->held = false;
	rc = direct ? step_direct(c, now_ns) : step_slots(c);
	if (rc && rc != -EAGAIN) {
		tcpx_channel_down(c, rc, "");
		return;
	}
	if (c->held) {
		tcpx_rx_tell(c, true);
		tcpx_channel_watch(c, c->interest & TCPX_WRITABLE);
		return;
	}
	if (was_held)
		tcpx_channel_watch(c, TCPX_READABLE);
	if (c->slot_waits)
		tcpx_batches_launch(c->loop); /* the GPU copies while the sender is told */
	/* that a small message has come says the news that it is in place, which is soon */
	if (!direct || c->slot_waits || c->ack.applied != c->told_ack.applied)
		tcpx_rx_tell(c, rc == -EAGAIN || direct);
	if (rc == 0 && direct)
		tcpx_loop_post(c->loop, &c->work); /* the provider may hold the next header */
}
