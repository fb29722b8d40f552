/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending: a channel picks a chunk, and its kind sends it when its payload is ready and its OPEN
 * is written.
 */
#include "core/channel/sender.h"

#include <errno.h>

#include "core/channel/acks.h"
#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/kind.h"
#include "core/channel/pack.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/memory/staging.h"
#include "core/session/control.h"
#include "core/session/session.h"

/* Has the OPEN of the message's transfer been written? If not, flushes. */
static bool
open_is_out(struct channel *c, struct tx_record *r)
{
	struct session *s = c->session;
	bool out;

	if (r->open_ticket == 0)
		return true;
	pthread_mutex_lock(&s->lock);
	if (r->open_ticket > tcpx_ctrl_bulk_written(s->control.ctrl))
		tcpx_control_flush(s);
	out = r->open_ticket <= tcpx_ctrl_bulk_written(s->control.ctrl);
	s->control.chunks_wait |= !out;
	pthread_mutex_unlock(&s->lock);
	if (out)
		r->open_ticket = 0;
	return out;
}

/* By the promise of TCPX_MEM_LEND. What is summed leaves from a copy. */
static bool
may_lend(const struct channel *c, const struct tx_record *r)
{
	return r->payload && r->payload->list->lend && !c->session->sums;
}

/* The oldest unsent message becomes the open one, if its payload is ready. */
static bool
next_message(struct channel *c)
{
	struct tx_record *r = tcpx_tx_record(c, c->tx.send_seq);

	if (c->tx.msg_open)
		return true;
	if (c->tx.send_seq == c->window.next || (r->staged && !r->packed) || !open_is_out(c, r))
		return false;
	c->tx.msg = (struct tcpx_tx_msg){ .head = { .xfer = r->empty ? 0 : r->id,
						 .chunk = r->named,
						 .len = r->len, .channel = c->index,
						 .generation = c->generation,
						 .seq = c->tx.send_seq,
						 .summed = c->session->sums },
				       .stable = r->staged || may_lend(c, r) };
	c->tx.sum = 0;
	c->tx.msg_open = true;
	return true;
}

/* The message after the open one is packed, its OPEN is written, and both are small: they
 * can leave together. None of that changes before its turn. */
static bool
next_is_ready(struct channel *c)
{
	uint64_t seq = c->tx.send_seq + 1;
	struct tx_record *r = tcpx_tx_record(c, seq);

	return seq < c->window.next && r->staged && r->packed && r->len <= STAGING_SMALL_BYTES &&
	       c->tx.msg.head.len <= STAGING_SMALL_BYTES && open_is_out(c, r);
}

/* last: the next message is not part of this turn. */
static int
push(struct channel *c, bool last)
{
	struct tx_record *r = tcpx_tx_record(c, c->tx.send_seq);
	int rc;

	if (tcpx_window_state(&c->window, c->tx.send_seq) == TCPX_SLOT_PICKED) {
		rc = tcpx_window_step(&c->window, c->tx.send_seq, TCPX_EV_SEND);
		if (rc)
			return rc;
	}
	return c->kind->send(c, r, r->staged && !last && next_is_ready(c));
}

static void
sent(struct channel *c, uint64_t now_ns)
{
	struct counters *n = &c->session->engine->count;
	struct tx_record *r = tcpx_tx_record(c, c->tx.send_seq);

	c->tx.msg_open = false;
	r->sent_ns = now_ns;
	(void)tcpx_window_step(&c->window, c->tx.send_seq, TCPX_EV_SENT);
	if (!r->lent)
		tcpx_acks_free_staging(c, r);
	c->tx.send_seq++;
	count_add(&n->queue_ns, r->taken_ns - r->ready_ns);
	count_add(&n->wire_ns, now_ns - r->taken_ns);
}

/* Flushes OPENs while their chunks are packed: the GPU gets its work first. */
static void
flush_opens(struct channel *c)
{
	struct session *s = c->session;

	if (c->loop == s->loop) {
		tcpx_control_flush_later(s);
		return;
	}
	tcpx_batches_launch(c->loop);
	pthread_mutex_lock(&s->lock);
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

/* Picks all allowed chunks, and starts to pack them if needed. */
static void
fetch(struct channel *c, uint64_t now_ns)
{
	struct tx_record *r;
	bool fresh = false;

	while ((r = above(c)->pick(c, now_ns)) && r->staged) {
		tcpx_pack_start(c, c->window.next - 1, r);
		fresh |= r->open_ticket != 0;
	}
	if (fresh)
		flush_opens(c);
}

void
tcpx_sender_step(struct channel *c, bool readable, uint64_t now_ns)
{
	int rc, turn = 0;

	if (readable) {
		rc = c->kind->acked(c, now_ns);
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
		rc = push(c, turn + 1 == CHANNEL_TURN);
		if (rc == 0)
			sent(c, engine_now(c->session->engine));
	} while (rc == 0 && c->tx.msg.head.len <= STAGING_SMALL_BYTES && ++turn < CHANNEL_TURN);
	if (rc == 0 || rc == 1) {
		tcpx_loop_post(c->loop, &c->work); /* after the other channels' turns */
	} else if (rc == -EAGAIN) {
		c->figures.stalls++;
		count_add(&c->session->engine->nics.sum[c->near_nic].stalls, 1);
		tcpx_channel_watch(c, TCPX_READABLE | TCPX_WRITABLE);
	} else {
		tcpx_channel_down(c, rc, "");
	}
}
