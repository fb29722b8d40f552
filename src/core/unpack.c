/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From where messages have landed to where they belong: a provider's fragments, or our own
 * staging slot. The place of the transfer's memory says which device copies. A message is
 * told to its sender after the copy out of its slot is done, and in order.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/core.h"

#define FEW_FRAGS 64

static struct rx_record *
record(struct channel *c, uint64_t seq)
{
	return &c->landing[seq & (c->window.size - 1)];
}

/* For so many fragments; the channel keeps it, so that no chunk allocates in the long run. */
static int
room_for(struct channel *c, uint32_t frags)
{
	uint32_t cap = c->frag_cap ? c->frag_cap : FEW_FRAGS;
	struct tcpx_frag *frag;
	uint64_t *start;

	while (cap < frags)
		cap *= 2;
	if (cap == c->frag_cap)
		return 0;
	frag = realloc(c->frag, cap * sizeof(*frag));
	if (frag)
		c->frag = frag;
	start = realloc(c->frag_start, (cap + 1) * sizeof(*start));
	if (start)
		c->frag_start = start;
	if (!frag || !start)
		return -ENOMEM;
	c->frag_cap = cap;
	return 0;
}

static int
add(struct channel *c, const struct tcpx_landed *msg, struct rx_record *r)
{
	struct tcpx_fraglist dst = list_frags(r->xfer->list), src;
	uint32_t i, n = msg->frag_count;
	int rc = room_for(c, n);

	if (rc)
		return rc;
	for (i = 0; i < n; i++)
		c->frag[i] = (struct tcpx_frag){ (uintptr_t)msg->frag[i].iov_base,
						 msg->frag[i].iov_len };
	src = (struct tcpx_fraglist){ c->frag, c->frag_start, n };
	if (tcpx_frag_sums(c->frag, n, c->frag_start) != r->len)
		return TCPX_EFRAME; /* fragments must cover the message exactly */
	return tcpx_batch_add(c, TCPX_FLOW_UNPACK, tcpx_copy_place(c, r->xfer->list),
			      msg->head.seq, r->xfer, r->id, &src, 0, &dst,
			      (uint64_t)r->chunk * r->xfer->chunk, r->len);
}

static void
let_go(struct channel *c, struct rx_record *r)
{
	if (r->slot)
		tcpx_slot_put(c->loop, r->slot);
	if (r->xfer)
		tcpx_xfer_put(r->xfer);
	*r = (struct rx_record){ 0 };
}

void
tcpx_unpack_forget(struct channel *c, uint64_t seq)
{
	let_go(c, record(c, seq));
}

int
tcpx_unpack_add(struct channel *c, const struct tcpx_landed *msg, struct rx_record *r)
{
	int rc = 0;

	if (!r->xfer)
		return tcpx_unpack_none(c, msg->head.seq, r);
	*record(c, msg->head.seq) = *r;
	rc = tcpx_window_step(&c->window, msg->head.seq, TCPX_EV_LAUNCH);
	if (rc == 0)
		rc = add(c, msg, r);
	if (rc)
		let_go(c, record(c, msg->head.seq));
	*r = (struct rx_record){ 0 };
	return rc;
}

/* Gives back, oldest first, every slot whose message has been copied out. A connection that has
 * died takes none back: what was copied is in place all the same, and has to be told as such by
 * the fence. (Sent again, it would come as a chunk twice, and cost the next channel, too.) */
static int
release_spent(struct channel *c)
{
	const struct tcpx_net_ops *ops = c->session->engine->ops;
	uint64_t seq;
	int rc = 0, step = 0;

	while (step == 0 && (seq = tcpx_window_oldest(&c->window)) != 0 &&
	       tcpx_window_state(&c->window, seq) == TCPX_SLOT_SPENT) {
		if (rc == 0 && !(ops->caps & TCPX_NET_DIRECT_RX))
			rc = ops->chan_release(c->chan, seq);
		step = tcpx_window_step(&c->window, seq, TCPX_EV_RELEASE);
		if (step == 0)
			c->ack.applied = seq;
		if (c->ack.received < c->ack.applied)
			c->ack.received = c->ack.applied;
	}
	return rc ? rc : step;
}

int
tcpx_unpack_none(struct channel *c, uint64_t seq, struct rx_record *r)
{
	int rc;

	rc = tcpx_window_step(&c->window, seq, TCPX_EV_LAUNCH);
	if (rc == 0)
		rc = tcpx_window_step(&c->window, seq, TCPX_EV_UNPACKED);
	c->untold_bytes += r->len;
	let_go(c, r);
	return rc ? rc : release_spent(c);
}

void
tcpx_unpack_done(struct channel *c, uint64_t seq, int error, uint64_t now_ns)
{
	struct rx_record *r = c->landing ? record(c, seq) : NULL;
	int rc = 0;

	if (!r) /* closed while its batch was being reported */
		return;
	if (!c->chan) {
		let_go(c, r);
		return;
	}
	count_add(&c->session->engine->count.unpack_ns, now_ns - r->landed_ns);
	if (error)
		tcpx_serve_broken(c->session, r->xfer, r->id, error, "cannot be written");
	else
		rc = tcpx_rx_applied(c, r, now_ns);
	if (rc == 0)
		rc = tcpx_window_step(&c->window, seq, TCPX_EV_UNPACKED);
	c->untold_bytes += r->len;
	let_go(c, r);
	if (rc == 0)
		rc = release_spent(c);
	if (rc)
		tcpx_channel_down(c, rc, "");
}
