/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that hands fragments from a provider to a device. All messages that land
 * in one turn of a loop, on all its channels, are one batch: one copy list, one launch. A
 * slot goes back to its provider only after the copy out of it is done, and in order.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/core.h"

#define BATCH_ITEMS 64
#define BATCH_SPANS 4096

struct item {
	struct channel *channel;
	struct rx_record rx;
	uint64_t seq;
	bool counted; /* in rx.xfer->batched */
};

struct unpack_batch {
	struct tcpx_node node;
	uint64_t ticket;
	bool finished; /* done on the device; not yet accounted */
	int error;
	uint32_t item_count, span_count, span_cap;
	struct tcpx_copy *span;
	struct item item[BATCH_ITEMS];
};

static struct unpack_batch *
filling(struct loop *l)
{
	if (!l->filling)
		l->filling = calloc(1, sizeof(*l->filling));
	return l->filling;
}

static int
room_for(struct unpack_batch *b, uint32_t spans)
{
	struct tcpx_copy *grown;
	uint32_t cap = b->span_cap ? b->span_cap : 256;

	while (cap < b->span_count + spans)
		cap *= 2;
	if (cap == b->span_cap)
		return 0;
	grown = realloc(b->span, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->span = grown;
	b->span_cap = cap;
	return 0;
}

/* Appends the copies from the message's fragments to the transfer's memory. */
static int
add_spans(struct unpack_batch *b, const struct tcpx_landed *msg, const struct rx_record *r)
{
	struct tcpx_fraglist dst = list_frags(r->xfer->list), src;
	struct tcpx_fragpos spos = { 0, 0 }, dpos;
	struct tcpx_frag *frag;
	uint64_t *start, left = r->len, part;
	struct tcpx_span span[CORE_IOV];
	size_t i, n;
	int rc = 0;

	frag = malloc(msg->frag_count * sizeof(*frag) + 1);
	start = malloc((msg->frag_count + 1) * sizeof(*start));
	if (!frag || !start)
		rc = -ENOMEM;
	for (i = 0; rc == 0 && i < msg->frag_count; i++)
		frag[i] = (struct tcpx_frag){ (uintptr_t)msg->frag[i].iov_base,
					      msg->frag[i].iov_len };
	if (rc == 0 && tcpx_frag_sums(frag, msg->frag_count, start) != r->len)
		rc = TCPX_EFRAME; /* fragments must cover the message exactly */
	src = (struct tcpx_fraglist){ frag, start, msg->frag_count };
	dpos = tcpx_frag_seek(&dst, (uint64_t)r->chunk * r->xfer->chunk);
	while (rc == 0 && left > 0) {
		n = tcpx_frag_compose(&src, &spos, &dst, &dpos, left, span, CORE_IOV, &part);
		rc = n == 0 ? TCPX_EFRAME : room_for(b, (uint32_t)n);
		for (i = 0; rc == 0 && i < n; i++)
			b->span[b->span_count++] =
				(struct tcpx_copy){ span[i].src, span[i].dst, span[i].len };
		left -= part;
	}
	free(frag);
	free(start);
	return rc;
}

int
tcpx_unpack_add(struct channel *c, const struct tcpx_landed *msg, struct rx_record *r)
{
	struct unpack_batch *b = filling(c->loop);
	struct item *it;
	uint32_t spans;
	int rc = 0;

	if (!b) {
		if (r->xfer)
			tcpx_xfer_put(r->xfer);
		return -ENOMEM;
	}
	spans = b->span_count;
	it = &b->item[b->item_count];
	*it = (struct item){ .channel = c, .rx = *r, .seq = msg->head.seq };
	if (r->xfer) {
		/* counted first, looked at second: who ends the transfer does the reverse */
		atomic_fetch_add(&r->xfer->batched, 1);
		it->counted = true;
		if (atomic_load(&r->xfer->live) == r->id)
			rc = add_spans(b, msg, r);
		if (rc || atomic_load(&r->xfer->live) != r->id) {
			b->span_count = spans;
			atomic_fetch_sub(&r->xfer->batched, 1);
			it->counted = false;
		}
	}
	if (rc) {
		tcpx_xfer_put(r->xfer);
		return rc;
	}
	rc = tcpx_window_step(&c->window, it->seq, TCPX_EV_LAUNCH);
	b->item_count++;
	if (b->item_count == BATCH_ITEMS || b->span_count >= BATCH_SPANS)
		tcpx_unpack_launch(c->loop);
	return rc;
}

/* Nothing of the batch touches memory any more. */
static void
uncount(struct unpack_batch *b)
{
	uint32_t i;

	for (i = 0; i < b->item_count; i++)
		if (b->item[i].counted) {
			b->item[i].counted = false;
			atomic_fetch_sub(&b->item[i].rx.xfer->batched, 1);
		}
}

void
tcpx_unpack_launch(struct loop *l)
{
	struct unpack_batch *b = l->filling;
	int rc;

	if (!b || b->item_count == 0)
		return;
	rc = l->engine->dev_ops->copy(l->engine->dev, b->span, b->span_count, &b->ticket);
	if (rc == -EAGAIN && b->item_count < BATCH_ITEMS && b->span_count < BATCH_SPANS)
		return; /* no room on the device: it goes with the next turn's */
	while (rc == -EAGAIN) {
		struct tcpx_node *first = tcpx_chain_first(&l->batches);

		if (first)
			(void)l->engine->dev_ops->finish(
				l->engine->dev,
				tcpx_container(first, struct unpack_batch, node)->ticket);
		rc = l->engine->dev_ops->copy(l->engine->dev, b->span, b->span_count, &b->ticket);
	}
	b->error = rc;
	b->finished = rc != 0;
	if (rc)
		uncount(b);
	tcpx_chain_add(&l->batches, &b->node);
	l->filling = NULL;
}

void
tcpx_unpack_finish(struct loop *l)
{
	int rc;

	tcpx_unpack_launch(l);
	tcpx_chain_each(n, after, &l->batches) {
		struct unpack_batch *b = tcpx_container(n, struct unpack_batch, node);

		if (b->finished)
			continue;
		rc = l->engine->dev_ops->finish(l->engine->dev, b->ticket);
		b->finished = true;
		b->error = rc;
		uncount(b);
	}
}

/* Gives back, oldest first, every slot whose message has been copied out. */
static int
release_spent(struct channel *c)
{
	uint64_t seq;
	int rc = 0;

	while (rc == 0 && (seq = tcpx_window_oldest(&c->window)) != 0 &&
	       tcpx_window_state(&c->window, seq) == TCPX_SLOT_SPENT) {
		rc = c->session->engine->ops->chan_release(c->chan, seq);
		if (rc == 0)
			rc = tcpx_window_step(&c->window, seq, TCPX_EV_RELEASE);
		if (rc == 0)
			c->ack.received = c->ack.applied = seq;
	}
	return rc;
}

static void
account(struct item *it, int error, uint64_t now_ns)
{
	struct channel *c = it->channel;
	int rc = error;

	if (!c->chan) { /* closed and fenced while this batch was being accounted */
		tcpx_xfer_put(it->rx.xfer);
		return;
	}
	count_add(&c->session->engine->count.unpack_ns, now_ns - it->rx.landed_ns);
	if (rc == 0)
		rc = tcpx_window_step(&c->window, it->seq, TCPX_EV_UNPACKED);
	if (rc == 0)
		rc = tcpx_rx_applied(c, &it->rx, now_ns);
	tcpx_xfer_put(it->rx.xfer);
	if (rc == 0) {
		c->untold_bytes += it->rx.len;
		rc = release_spent(c);
	}
	if (rc)
		tcpx_channel_down(c, rc, "");
	else
		tcpx_rx_tell(c, true);
}

void
tcpx_unpack_poll(struct loop *l, uint64_t now_ns)
{
	struct tcpx_node *n;
	uint32_t i;

	while ((n = tcpx_chain_first(&l->batches))) {
		struct unpack_batch *b = tcpx_container(n, struct unpack_batch, node);

		if (!b->finished) {
			int rc = l->engine->dev_ops->poll(l->engine->dev, b->ticket);

			if (rc == -EAGAIN)
				return;
			b->error = rc;
		}
		tcpx_chain_remove(n);
		uncount(b);
		for (i = 0; i < b->item_count; i++)
			account(&b->item[i], b->error, now_ns);
		free(b->span);
		free(b);
	}
}

void
tcpx_unpack_fini(struct loop *l)
{
	if (l->filling)
		free(l->filling->span);
	free(l->filling);
	l->filling = NULL;
}
