/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending: a channel takes a chunk (take.c), gathers it and pushes it out. The
 * user's memory is touched only inside the gate, at most CORE_CALL_MAX bytes at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

/* Small messages a turn, as the receiver takes them. */
#define TURN_MESSAGES 16

static void
free_slot(struct channel *c, struct tx_record *r)
{
	if (r->slot)
		tcpx_slot_put(c->loop, r->slot);
	r->slot = NULL;
}

void
tcpx_tx_drop_slots(struct channel *c, bool fenced)
{
	uint64_t seq, now_ns = engine_now(c->session->engine);

	for (seq = c->window.released + 1; c->tx && seq < c->window.next; seq++) {
		struct tx_record *r = tcpx_tx_record(c, seq);

		if (r->slot && r->lent && !fenced)
			tcpx_slot_cool(c->loop, r->slot, now_ns);
		else if (r->slot)
			tcpx_slot_put(c->loop, r->slot);
		r->slot = NULL;
	}
}

/* Has the OPEN of the message's transfer gone? If not, it goes now. */
static bool
open_is_out(struct channel *c, struct tx_record *r)
{
	struct session *s = c->session;
	bool out;

	if (r->open_ticket == 0)
		return true;
	pthread_mutex_lock(&s->lock);
	if (r->open_ticket > tcpx_ctrl_bulk_written(s->ctrl))
		tcpx_control_flush(s);
	out = r->open_ticket <= tcpx_ctrl_bulk_written(s->ctrl);
	s->chunks_wait |= !out;
	pthread_mutex_unlock(&s->lock);
	if (out)
		r->open_ticket = 0;
	return out;
}

/* The oldest message not yet sent, if its payload is at hand, becomes the open one. */
static bool
next_message(struct channel *c)
{
	struct tx_record *r = tcpx_tx_record(c, c->send_seq);

	if (c->msg_open)
		return true;
	if (c->send_seq == c->window.next || (r->staged && !r->packed) || !open_is_out(c, r))
		return false;
	c->msg = (struct tcpx_tx_msg){ .head = { .xfer = r->empty ? 0 : r->id,
						 .chunk = r->chunk,
						 .len = r->len, .channel = c->index,
						 .generation = c->generation,
						 .seq = c->send_seq },
				       .owned = r->staged };
	c->msg_open = true;
	return true;
}

static uint64_t
stream_offset(const struct tcpx_xfer *x, const struct tx_record *r)
{
	return (uint64_t)r->chunk * x->chunk;
}

/* The message after the open one is packed, its OPEN is out, and both are small: they can
 * leave together. Nothing of that changes before its turn. */
static bool
next_is_ready(struct channel *c)
{
	uint64_t seq = c->send_seq + 1;
	struct tx_record *r = tcpx_tx_record(c, seq);

	return seq < c->window.next && r->staged && r->packed && r->len <= SLOT_SMALL_BYTES &&
	       c->msg.head.len <= SLOT_SMALL_BYTES && open_is_out(c, r);
}

/* One call into the provider with what is left of the payload, inside the gate. */
static int
push_direct(struct channel *c, struct tx_record *r, uint64_t *offered)
{
	struct tcpx_xfer *x = r->xfer;
	struct tcpx_fraglist list = list_frags(x->list);
	struct tcpx_frag frag[CORE_IOV];
	struct iovec iov[CORE_IOV];
	struct tcpx_fragpos pos;
	uint64_t left = c->msg.head.len - c->msg.sent;
	size_t i, n = 0;
	int rc;

	*offered = 0;
	atomic_store(&c->loop->gate, x);
	if (atomic_load(&x->live) == r->id) {
		pos = tcpx_frag_seek(&list, stream_offset(x, r) + c->msg.sent);
		n = tcpx_frag_take(&list, &pos, left < CORE_CALL_MAX ? left : CORE_CALL_MAX, frag,
				   CORE_IOV, offered);
		for (i = 0; i < n; i++) {
			iov[i].iov_base = (void *)(uintptr_t)frag[i].addr;
			iov[i].iov_len = frag[i].len;
		}
	} else {
		c->msg.abandon = true;
	}
	c->msg.iov = iov;
	c->msg.iov_count = (int)n;
	rc = c->session->engine->ops->chan_send(c->chan, &c->msg);
	atomic_store(&c->loop->gate, NULL);
	c->msg.iov = NULL;
	return rc;
}

/* The payload lies in a slot of ours. */
static int
push_packed(struct channel *c, struct tx_record *r, bool last)
{
	struct iovec iov = { r->mem + c->msg.sent, r->len - c->msg.sent };
	int rc;

	c->msg.iov = &iov;
	c->msg.iov_count = 1;
	c->msg.more = !last && next_is_ready(c);
	rc = c->session->engine->ops->chan_send(c->chan, &c->msg);
	c->msg.iov = NULL;
	r->lent = c->msg.lent;
	return rc;
}

/* last: the next message is not of this turn. */
static int
push(struct channel *c, bool last)
{
	struct tx_record *r = tcpx_tx_record(c, c->send_seq);
	uint64_t before, offered;
	int rc;

	if (tcpx_window_state(&c->window, c->send_seq) == TCPX_SLOT_TAKEN) {
		rc = tcpx_window_step(&c->window, c->send_seq, TCPX_EV_SEND);
		if (rc)
			return rc;
	}
	if (r->staged)
		return push_packed(c, r, last);

	do {
		before = c->msg.sent;
		offered = c->msg.head.len - before;
		rc = push_direct(c, r, &offered);
	} while (rc == -EAGAIN && offered > 0 && c->msg.sent == before + offered &&
		 c->msg.sent < c->msg.head.len);
	return rc;
}

/* The channel carries it bare: what it is goes by the control stream. */
static int
tell_message(struct channel *c)
{
	const struct tcpx_head *h = &c->msg.head;
	struct tcpx_message m = { .backward = c->backward, .channel = h->channel,
				  .generation = h->generation, .seq = h->seq, .xfer = h->xfer,
				  .chunk = h->chunk, .len = h->len };
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

static void
sent(struct channel *c, uint64_t now_ns)
{
	struct counters *n = &c->session->engine->count;
	struct tx_record *r = tcpx_tx_record(c, c->send_seq);

	c->msg_open = false;
	r->sent_ns = now_ns;
	(void)tcpx_window_step(&c->window, c->send_seq, TCPX_EV_SENT);
	if (!r->lent)
		free_slot(c, r);
	c->send_seq++;
	count_add(&n->queue_ns, r->taken_ns - r->ready_ns);
	count_add(&n->wire_ns, now_ns - r->taken_ns);
}

/* The OPENs of what was taken go while it is packed: first the GPU has something to do. */
static void
tell_opens(struct channel *c)
{
	struct session *s = c->session;

	if (c->loop == s->loop) {
		tcpx_control_later(s);
		return;
	}
	tcpx_batches_launch(c->loop);
	pthread_mutex_lock(&s->lock);
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

/* Takes what may be taken, and has it packed if it must be. */
static void
fetch(struct channel *c, uint64_t now_ns)
{
	struct tx_record *r;
	bool fresh = false;

	while ((r = tcpx_tx_take(c, now_ns)) && r->staged) {
		tcpx_pack_start(c, c->window.next - 1, r);
		fresh |= r->open_ticket != 0;
	}
	if (fresh)
		tell_opens(c);
}

void
tcpx_tx_step(struct channel *c, bool readable, uint64_t now_ns)
{
	struct tcpx_ack ack;
	int rc, turn = 0;

	if (readable) {
		rc = c->session->engine->ops->chan_acked(c->chan, &ack);
		if (rc == 0)
			rc = tcpx_tx_acked(c, &ack, now_ns);
		if (rc && rc != -EAGAIN) {
			tcpx_channel_down(c, rc, "");
			return;
		}
	}
	do {
		fetch(c, now_ns);
		if (!next_message(c)) {
			tcpx_channel_watch(c, TCPX_READABLE);
			return;
		}
		rc = push(c, turn + 1 == TURN_MESSAGES);
		if (rc == 0 && c->session->engine->ops->caps & TCPX_NET_CTRL_HEAD)
			rc = tell_message(c);
		if (rc == 0)
			sent(c, engine_now(c->session->engine));
	} while (rc == 0 && c->msg.head.len <= SLOT_SMALL_BYTES && ++turn < TURN_MESSAGES);
	if (rc == 0) {
		tcpx_loop_post(c->loop, &c->work); /* after the others have had their turn */
	} else if (rc == -EAGAIN) {
		c->stalls++;
		count_add(&c->session->engine->nic_count_of[c->near_nic].stalls, 1);
		tcpx_channel_watch(c, TCPX_READABLE | TCPX_WRITABLE);
	} else {
		tcpx_channel_down(c, rc, "");
	}
}

/* The oldest message is in place at the peer. lock held. */
static void
retire(struct channel *c, uint64_t seq, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tx_record *r = tcpx_tx_record(c, seq);
	struct tcpx_xfer *x = r->xfer;

	s->outstanding_bytes -= r->len;
	c->outstanding_bytes -= r->len;
	c->outstanding--;
	tcpx_rate_ack(&c->rate, &r->mark, r->len, now_ns);
	count_add(&s->engine->count.ack_ns, now_ns - r->sent_ns);
	count_add(&s->engine->count.bytes_tx, r->len);
	count_add(&s->engine->count.chunks_tx, 1);
	count_add(&s->engine->nic_count_of[c->near_nic].bytes_tx, r->len);
	c->bytes += r->len;
	c->chunks++;
	s->tx_progress_ns = now_ns;
	if (x->id == r->id && atomic_load(&x->status) == -EAGAIN) {
		x->in_flight--;
		x->applied++;
		x->progress_ns = now_ns;
		count_add(&x->bytes_done, r->len);
		/* an initiator waits for DONE: what went to a sink is acknowledged too */
		if (x->applied == x->chunks && x->target)
			tcpx_xfer_end(x, 0, NULL);
	}
	r->xfer = NULL;
	tcpx_xfer_put(x);
}

int
tcpx_tx_acked(struct channel *c, const struct tcpx_ack *ack, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tcpx_window *w = &c->window;
	uint64_t seq;
	int rc = 0;

	if (ack->applied > ack->received || ack->received < c->acked.received ||
	    ack->applied < c->acked.applied || ack->received >= w->next)
		return TCPX_EFRAME;
	for (seq = c->acked.received + 1; seq <= ack->received && rc == 0; seq++) {
		rc = tcpx_window_step(w, seq, TCPX_EV_RECEIVED);
		if (rc == 0) /* else it was never sent, and may still be packed */
			free_slot(c, tcpx_tx_record(c, seq));
	}
	if (rc)
		return TCPX_EFRAME;
	c->acked.received = ack->received;
	pthread_mutex_lock(&s->lock);
	for (seq = c->acked.applied + 1; seq <= ack->applied && rc == 0; seq++) {
		rc = tcpx_window_step(w, seq, TCPX_EV_APPLIED);
		if (rc == 0)
			retire(c, seq, now_ns);
	}
	c->acked.applied = ack->applied;
	pthread_mutex_unlock(&s->lock);
	return rc ? TCPX_EFRAME : 0;
}

/* lock held. */
static void
give_back_one(struct session *s, struct channel *c, struct tx_record *r)
{
	struct tcpx_xfer *x = r->xfer;
	uint32_t *grown;

	s->outstanding_bytes -= r->len;
	c->outstanding_bytes -= r->len;
	c->outstanding--;
	r->xfer = NULL;
	if (x->id != r->id || atomic_load(&x->status) != -EAGAIN)
		goto put;
	x->in_flight--;
	if (x->again_count == x->again_cap) {
		grown = realloc(x->again, (2 * x->again_cap + 16) * sizeof(*grown));
		if (!grown) {
			tcpx_xfer_end(x, -ENOMEM, "no memory to send a chunk again");
			goto put;
		}
		x->again = grown;
		x->again_cap = 2 * x->again_cap + 16;
	}
	x->again[x->again_count++] = r->chunk;
	s->queued_bytes += r->len;
	tcpx_drr_add(&s->drr, &x->drr);
	count_add(&s->engine->count.chunks_resent, 1);
put:
	tcpx_xfer_put(x);
}

void
tcpx_tx_give_back(struct channel *c)
{
	struct session *s = c->session;
	uint64_t seq;

	c->send_seq = c->window.next;
	for (seq = c->window.released + 1; seq < c->window.next; seq++) {
		struct tx_record *r = tcpx_tx_record(c, seq);

		if (r->xfer)
			give_back_one(s, c, r);
		(void)tcpx_window_step(&c->window, seq, TCPX_EV_ABORT);
	}
	c->msg_open = false;
	tcpx_tx_kick_all(s);
}
