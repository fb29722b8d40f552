/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending: a channel pulls a chunk when the rule allows, gathers it and pushes it out. The
 * user's memory is touched only inside the gate, at most CORE_CALL_MAX bytes at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

/* A rate older than this is taken as unknown, so that a channel once slow is tried again. */
#define RATE_AGE_NS (30 * TCPX_SEC)

static struct tx_record *
record(struct channel *c, uint64_t seq)
{
	return &c->tx[seq & (c->window.size - 1)];
}

uint64_t
tcpx_tx_queued(const struct tcpx_xfer *x)
{
	uint64_t taken = (uint64_t)x->next_chunk * x->chunk, sum;
	uint32_t i;

	sum = taken < x->total ? x->total - taken : 0;
	for (i = 0; i < x->again_count; i++)
		sum += tcpx_chunk_len(x->total, x->chunk, x->again[i]);
	return sum;
}

static uint32_t
next_of(const struct tcpx_xfer *x)
{
	return x->again_count ? x->again[x->again_count - 1] : x->next_chunk;
}

static uint32_t
next_len(struct tcpx_drr_node *n)
{
	struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, drr);

	return tcpx_chunk_len(x->total, x->chunk, next_of(x));
}

void
tcpx_tx_kick_all(struct session *s)
{
	uint32_t k;

	for (k = 0; k < s->channels; k++)
		if (s->tx[k] && s->tx[k]->state == CHAN_UP)
			tcpx_loop_post(s->tx[k]->loop, &s->tx[k]->work);
}

/* TCPX_DIST=rr: strictly by turn, for comparison with the pull rule. Whose turn it is
 * must know, whoever asks. */
static bool
my_turn(struct session *s, const struct channel *c)
{
	struct channel *turn = NULL;
	uint32_t i;

	for (i = 0; i < s->channels; i++) {
		turn = s->tx[s->rr_next];
		if (turn && turn->state == CHAN_UP)
			break;
		s->rr_next = (s->rr_next + 1) % s->channels;
	}
	if (i < s->channels && turn != c)
		tcpx_loop_post(turn->loop, &turn->work);
	return turn == c;
}

static bool
allowed(struct session *s, struct channel *c, uint32_t len, uint64_t now_ns)
{
	bool fresh = now_ns < c->rate.last_ns + RATE_AGE_NS;
	struct tcpx_pull_channel pc = { .outstanding_bytes = c->outstanding_bytes,
					.outstanding = c->outstanding,
					.window = c->window.limit,
					.Bps = fresh ? c->rate.Bps : 0 };
	struct tcpx_pull_session ps = { .queued_bytes = s->queued_bytes,
					.outstanding_bytes = s->outstanding_bytes };
	uint32_t k;

	if (tcpx_window_full(&c->window))
		return false;
	if (s->engine->limit.round_robin)
		return my_turn(s, c);
	for (k = 0; k < s->channels; k++)
		if (s->tx[k] && s->tx[k]->state == CHAN_UP)
			ps.Bps += s->tx[k]->rate.Bps;
	return tcpx_pull_allowed(&pc, &ps, len);
}

/* The chunk leaves the transfer's queue for this channel's window. */
static int
assign(struct session *s, struct channel *c, struct tcpx_xfer *x, uint32_t len, uint64_t now_ns)
{
	struct tx_record *r;
	uint64_t seq;
	int rc;

	rc = tcpx_window_post(&c->window, TCPX_EV_TAKE, &seq);
	if (rc)
		return rc;
	r = record(c, seq);
	*r = (struct tx_record){ .xfer = x, .id = x->id, .chunk = next_of(x), .len = len,
				 .ready_ns = x->ready_ns, .taken_ns = now_ns,
				 .mark = tcpx_rate_take(&c->rate, now_ns) };
	tcpx_xfer_get(x);
	if (x->again_count)
		x->again_count--;
	else
		x->next_chunk++;
	x->in_flight++;
	s->queued_bytes -= len;
	s->outstanding_bytes += len;
	c->outstanding_bytes += len;
	c->outstanding++;
	c->in_flight_sum += c->outstanding;
	if (c->outstanding > c->in_flight_max)
		c->in_flight_max = c->outstanding;
	tcpx_drr_charge(&s->drr, &x->drr, len);
	if (x->again_count == 0 && x->next_chunk == x->chunks)
		tcpx_drr_remove(&s->drr, &x->drr);
	if (s->engine->limit.round_robin) {
		s->rr_next = (s->rr_next + 1) % s->channels;
		(void)my_turn(s, c); /* moves on to one that is up: c is, at least */
		tcpx_loop_post(s->tx[s->rr_next]->loop, &s->tx[s->rr_next]->work);
	}
	c->msg = (struct tcpx_tx_msg){ .head = { .xfer = x->id, .chunk = r->chunk, .len = len,
						 .channel = c->index,
						 .generation = c->generation, .seq = seq } };
	c->msg_seq = seq;
	c->msg_open = true;
	return 0;
}

/* True when the channel has a message to push. */
static bool
take(struct channel *c, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tcpx_drr_node *n;
	struct tcpx_xfer *x;
	uint32_t len;

	pthread_mutex_lock(&s->lock);
	n = s->state == SESS_OPEN && c->state == CHAN_UP ? tcpx_drr_peek(&s->drr, next_len) : NULL;
	if (n) {
		x = tcpx_container(n, struct tcpx_xfer, drr);
		len = next_len(n);
		if (x->open_ticket > tcpx_ctrl_bulk_written(s->ctrl))
			s->chunks_wait = true; /* no chunk before its OPEN is in the kernel */
		else if (allowed(s, c, len, now_ns))
			(void)assign(s, c, x, len, now_ns);
	}
	pthread_mutex_unlock(&s->lock);
	return c->msg_open;
}

static uint64_t
stream_offset(const struct tcpx_xfer *x, const struct tx_record *r)
{
	return (uint64_t)r->chunk * x->chunk;
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

/* Without DIRECT_TX the payload is first gathered into the engine's slot. */
static int
pack(struct channel *c, struct tx_record *r, uint8_t *slot)
{
	const struct tcpx_device_ops *dev = c->session->engine->dev_ops;
	struct tcpx_device *d = c->session->engine->dev;
	struct tcpx_xfer *x = r->xfer;
	struct tcpx_fraglist list = list_frags(x->list);
	struct tcpx_frag frag[CORE_IOV];
	struct tcpx_copy copy[CORE_IOV];
	struct tcpx_fragpos pos;
	uint64_t done = 0, part, ticket;
	size_t i, n;
	int rc = 0;

	atomic_store(&c->loop->gate, x);
	pos = tcpx_frag_seek(&list, stream_offset(x, r));
	while (done < r->len && rc == 0) {
		if (atomic_load(&x->live) != r->id) {
			memset(slot + done, 0, r->len - done);
			break;
		}
		n = tcpx_frag_take(&list, &pos, r->len - done, frag, CORE_IOV, &part);
		for (i = 0; i < n; i++) {
			copy[i] = (struct tcpx_copy){ frag[i].addr, (uintptr_t)slot + done,
						      frag[i].len };
			done += frag[i].len;
		}
		rc = dev->copy(d, copy, n, &ticket);
		if (rc == 0)
			rc = dev->finish(d, ticket);
	}
	atomic_store(&c->loop->gate, NULL);
	return rc;
}

static int
push_packed(struct channel *c, struct tx_record *r)
{
	uint8_t *slot = c->pack + (size_t)(c->msg_seq & (c->window.size - 1)) *
					  c->session->chunk_max;
	struct iovec iov = { slot + c->msg.sent, c->msg.head.len - c->msg.sent };
	int rc = 0;

	if (tcpx_window_state(&c->window, c->msg_seq) == TCPX_SLOT_TAKEN) {
		rc = pack(c, r, slot);
		if (rc == 0)
			rc = tcpx_window_step(&c->window, c->msg_seq, TCPX_EV_SEND);
		if (rc)
			return rc;
	}
	c->msg.iov = &iov;
	c->msg.iov_count = 1;
	rc = c->session->engine->ops->chan_send(c->chan, &c->msg);
	c->msg.iov = NULL;
	return rc;
}

static int
push(struct channel *c)
{
	struct tx_record *r = record(c, c->msg_seq);
	bool direct = c->session->engine->ops->caps & TCPX_NET_DIRECT_TX;
	uint64_t before, offered;
	int rc;

	do {
		before = c->msg.sent;
		offered = c->msg.head.len - before;
		rc = direct ? push_direct(c, r, &offered) : push_packed(c, r);
		if (direct && tcpx_window_state(&c->window, c->msg_seq) == TCPX_SLOT_TAKEN &&
		    (rc == 0 || rc == -EAGAIN))
			(void)tcpx_window_step(&c->window, c->msg_seq, TCPX_EV_SEND);
	} while (rc == -EAGAIN && offered > 0 && c->msg.sent == before + offered &&
		 c->msg.sent < c->msg.head.len);
	return rc;
}

static void
sent(struct channel *c, uint64_t now_ns)
{
	struct counters *n = &c->session->engine->count;
	struct tx_record *r = record(c, c->msg_seq);

	c->msg_open = false;
	r->sent_ns = now_ns;
	(void)tcpx_window_step(&c->window, c->msg_seq, TCPX_EV_SENT);
	count_add(&n->queue_ns, r->taken_ns - r->ready_ns);
	count_add(&n->wire_ns, now_ns - r->taken_ns);
}

void
tcpx_tx_step(struct channel *c, bool readable, uint64_t now_ns)
{
	struct tcpx_ack ack;
	int rc;

	if (readable) {
		rc = c->session->engine->ops->chan_acked(c->chan, &ack);
		if (rc == 0)
			rc = tcpx_tx_acked(c, &ack, now_ns);
		if (rc && rc != -EAGAIN) {
			tcpx_channel_down(c, rc, "");
			return;
		}
	}
	if (!c->msg_open && !take(c, now_ns)) {
		tcpx_channel_watch(c, TCPX_READABLE);
		return;
	}
	rc = push(c);
	if (rc == 0) {
		sent(c, engine_now(c->session->engine));
		tcpx_loop_post(c->loop, &c->work); /* after the others have had their turn */
	} else if (rc == -EAGAIN) {
		c->stalls++;
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
	struct tx_record *r = record(c, seq);
	struct tcpx_xfer *x = r->xfer;

	s->outstanding_bytes -= r->len;
	c->outstanding_bytes -= r->len;
	c->outstanding--;
	tcpx_rate_ack(&c->rate, &r->mark, r->len, now_ns);
	count_add(&s->engine->count.ack_ns, now_ns - r->sent_ns);
	count_add(&s->engine->count.bytes_tx, r->len);
	count_add(&s->engine->count.chunks_tx, 1);
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
	for (seq = c->acked.received + 1; seq <= ack->received && rc == 0; seq++)
		rc = tcpx_window_step(w, seq, TCPX_EV_RECEIVED);
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

	for (seq = c->window.released + 1; seq < c->window.next; seq++) {
		struct tx_record *r = record(c, seq);

		if (r->xfer)
			give_back_one(s, c, r);
		(void)tcpx_window_step(&c->window, seq, TCPX_EV_ABORT);
	}
	c->msg_open = false;
	tcpx_tx_kick_all(s);
}
