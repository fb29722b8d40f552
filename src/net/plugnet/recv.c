/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving. A receive stays posted for every slot of the window. The n-th receive is the n-th
 * message. Its header comes as a control frame, before or after it; both must have the same
 * length. A message keeps its receive until it is released, in order.
 */
#include <errno.h>

#include "net/plugnet/busy.h"
#include "net/plugnet/recv.h"

static uint32_t
place_of(const struct tcpx_chan *c, uint64_t seq)
{
	return (uint32_t)(seq % c->net->window);
}

static struct iovec *
iov_of(const struct tcpx_chan *c, uint64_t seq)
{
	return c->rx.iov + (size_t)place_of(c, seq) * PLUG_FRAGS_MAX;
}

int
tcpx_plugnet_recv_post(struct tcpx_chan *c)
{
	struct plugnet_rx *rx = &c->rx;
	int rc = 0;

	while (rc == 0 && rx->posted < rx->released + c->net->window) {
		uint64_t seq = rx->posted + 1;

		rc = plug_recv(c->comm, c->mem + (size_t)place_of(c, seq) * c->slot_bytes,
			       c->slot_bytes, c->channel, c->mhandle,
			       &c->req[seq % c->slots]);
		if (rc == 0)
			rx->posted = seq;
	}
	return rc == -EAGAIN ? 0 : rc; /* the next turn tries again */
}

/* Sorts by place in the message. Pieces of one connection are in order already. */
static void
sort(struct plug_frag *frag, uint32_t count)
{
	for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
		for (uint32_t i = gap; i < count; i++) {
			struct plug_frag f = frag[i];
			uint32_t k = i;

			for (; k >= gap && frag[k - gap].dst_off > f.dst_off; k -= gap)
				frag[k] = frag[k - gap];
			frag[k] = f;
		}
	}
}

static bool
in_order(const struct plug_frag *frag, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (frag[i].dst_off < frag[i - 1].dst_off)
			return false;
	return true;
}

/* Lists the fragments as the message's pieces in stream order; neighbours in memory become one.
 * Returns the bytes that they cover, UINT64_MAX if there is a hole. */
static uint64_t
lay_out(struct tcpx_chan *c, uint64_t seq, uint32_t count)
{
	const struct plug_frag *frag = c->rx.frag;
	struct iovec *iov = iov_of(c, seq), *last = NULL;
	uint64_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		char *src = (char *)(uintptr_t)frag[i].src;

		if (frag[i].dst_off != at)
			return UINT64_MAX;
		at += frag[i].len;
		if (last && (char *)last->iov_base + last->iov_len == src)
			last->iov_len += frag[i].len;
		else if (frag[i].len)
			*(last = last ? last + 1 : iov) = (struct iovec){ src, frag[i].len };
	}
	c->rx.iov_count[place_of(c, seq)] = last ? (uint32_t)(last - iov) + 1 : 0;
	return at;
}

/* The oldest message has arrived as a whole. */
static int
land(struct tcpx_chan *c, uint64_t seq, uint32_t len)
{
	const struct tcpx_head *head = &c->rx.head[place_of(c, seq)];
	uint8_t *slot = c->mem + (size_t)place_of(c, seq) * c->slot_bytes;
	uint64_t covered = len;
	uint32_t count;
	int rc;

	if (plug_comm_unpacks(c->comm)) {
		rc = plug_frags(c->comm, c->req[seq % c->slots], c->rx.frag, &count);
		if (rc)
			return rc;
		if (!in_order(c->rx.frag, count))
			sort(c->rx.frag, count);
		covered = lay_out(c, seq, count);
	} else {
		*iov_of(c, seq) = (struct iovec){ slot, len };
		c->rx.iov_count[place_of(c, seq)] = len > 0;
	}
	if (covered != head->len || len != head->len)
		return tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME, "channel %u on %s: message %llu has %u "
				 "bytes, its header says %u", c->channel, c->nic->name,
				 (unsigned long long)seq, len, head->len);
	return 0;
}

bool
tcpx_plugnet_recv_look(struct tcpx_chan *c, uint64_t now_ns)
{
	struct plugnet_rx *rx = &c->rx;
	bool moved = false;
	uint32_t len = 0;
	int rc;

	if (c->dead || rx->headed == rx->landed)
		return false;
	rc = tcpx_plugnet_recv_post(c);
	while (rc == 0 && rx->headed > rx->landed && rx->posted > rx->landed) {
		rc = plug_test(c->comm, c->req[(rx->landed + 1) % c->slots], &len);
		if (rc == -EAGAIN && c->fresh == 0)
			break;
		if (c->fresh)
			c->fresh--;
		if (rc == -EAGAIN) {
			rc = 0;
			continue;
		}
		if (rc == 0)
			rc = land(c, rx->landed + 1, len);
		if (rc == 0) {
			rx->landed++;
			c->since_ns = now_ns;
			moved = true;
		}
	}
	if (rc && rc != -EAGAIN)
		tcpx_plugnet_chan_die(c, rc);
	else if (rx->headed > rx->landed)
		tcpx_plugnet_chan_late(c, rx->landed + 1, now_ns);
	return moved || c->dead;
}

int
tcpx_plugnet_chan_head(struct tcpx_chan *c, const struct tcpx_head *head)
{
	uint64_t now_ns = tcpx_clock_now(c->net->clock);
	struct plugnet_rx *rx = &c->rx;
	int rc;

	if (c->dead)
		return c->dead;
	if (c->sending || head->seq != rx->headed + 1 || head->channel != c->channel ||
	    head->generation != c->generation || head->len > c->net->chunk ||
	    rx->headed - rx->released >= c->net->window) {
		rc = tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME, "channel %u, generation %u: header of "
			       "message %llu of %u bytes for channel %u, generation %u; the next "
			       "is %llu, of %u at most, and %u of %u are not released", c->channel,
			       c->generation, (unsigned long long)head->seq, head->len,
			       head->channel, head->generation,
			       (unsigned long long)rx->headed + 1, c->net->chunk,
			       (unsigned)(rx->headed - rx->released), c->net->window);
		return tcpx_plugnet_chan_die(c, rc);
	}
	if (rx->headed == rx->landed)
		c->since_ns = now_ns;
	rx->headed = head->seq;
	rx->head[place_of(c, head->seq)] = *head;
	tcpx_plugnet_chan_begin(c, now_ns);
	return 0;
}

int
tcpx_plugnet_chan_recv(struct tcpx_chan *c, struct tcpx_landed *msg)
{
	struct plugnet_rx *rx = &c->rx;
	uint64_t seq = rx->given + 1;

	if (rx->landed == rx->given)
		tcpx_plugnet_recv_look(c, tcpx_clock_now(c->net->clock));
	if (c->dead)
		return c->dead;
	if (rx->landed == rx->given)
		return -EAGAIN;
	*msg = (struct tcpx_landed){ rx->head[place_of(c, seq)], iov_of(c, seq),
				     rx->iov_count[place_of(c, seq)] };
	rx->given = seq;
	tcpx_plugnet_chan_relist(c);
	return 0;
}

int
tcpx_plugnet_chan_release(struct tcpx_chan *c, uint64_t seq)
{
	struct plugnet_rx *rx = &c->rx;
	int rc;

	if (c->dead)
		return c->dead;
	if (seq != rx->released + 1 || seq > rx->given)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "channel %u: release of message %llu; "
				 "released are %llu, given %llu", c->channel,
				 (unsigned long long)seq, (unsigned long long)rx->released,
				 (unsigned long long)rx->given);
	rc = plug_consumed(c->comm, c->req[seq % c->slots]);
	if (rc)
		return tcpx_plugnet_chan_die(c, rc);
	rx->released = seq;
	rc = tcpx_plugnet_recv_post(c);
	return rc ? tcpx_plugnet_chan_die(c, rc) : 0;
}
