/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted channels: direct receiving, acknowledgements, and the rules of sending. On the
 * wire a message is its header, the payload, one byte: whether it was abandoned, and the sum.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a trailer. */
static uint32_t
tail_len(const struct tcpx_head *head)
{
	return head->summed ? LOOP_TAIL_MAX : 1;
}

_Static_assert(sizeof(struct tcpx_head) <= LOOP_HEAD_BYTES, "a header must fit");

/* The other end is gone or the connection broken, and nothing is left to read. */
static bool
chan_is_over(const struct tcpx_chan *c)
{
	return tcpx_link_dead(c->end.link, c->end.side) ||
	       tcpx_pipe_ended(&c->end.link->pipe[!c->end.side]);
}

/* ---- sending --------------------------------------------------------------------- */

/* May a byte of it still reach the receiver's memory? */
static bool
can_deliver(const struct loop_link *l)
{
	return l->open[!l->sender] && l->dead_ns[!l->sender] == LOOP_NEVER;
}

static bool
is_in_flight(const struct loop_link *l, uint64_t xfer, uint32_t chunk)
{
	for (uint32_t i = 0; i < l->unacked_count && xfer; i++) /* 0: an empty message */
		if (l->unacked[i].xfer == xfer && l->unacked[i].chunk == chunk)
			return true;
	return false;
}

int
tcpx_loop_chan_begin(struct tcpx_chan *c, const struct tcpx_head *head)
{
	struct loop_link *l = c->end.link;
	struct tcpx_fabric *f = l->fabric;

	if (!c->sending || head->seq != c->last_seq + 1)
		return tcpx_fabric_blame(f, "send: seq %llu after %llu",
					 (unsigned long long)head->seq,
					 (unsigned long long)c->last_seq);
	for (struct tcpx_node *n = f->links.next; n != &f->links; n = n->next) {
		struct loop_link *o = tcpx_container(n, struct loop_link, node);

		if (o->kind == TCPX_FABRIC_DATA && o->session == l->session &&
		    o->net[0] == l->net[0] && o->sender == l->sender && can_deliver(o) &&
		    is_in_flight(o, head->xfer, head->chunk))
			return tcpx_fabric_blame(f, "transfer %llu chunk %u on two channels",
						 (unsigned long long)head->xfer, head->chunk);
	}
	if (l->unacked_count == l->unacked_cap) {
		uint32_t cap = l->unacked_cap ? 2 * l->unacked_cap : 16;
		struct loop_sent *more = realloc(l->unacked, cap * sizeof(*more));

		if (!more)
			return -EAGAIN;
		l->unacked = more;
		l->unacked_cap = cap;
	}
	l->unacked[l->unacked_count++] = (struct loop_sent){
		.xfer = head->xfer, .seq = head->seq, .chunk = head->chunk
	};
	c->last_seq = head->seq;
	return 0;
}

/* Header or trailer bytes from m->phase on; true when they reach end. */
static bool
send_frame(struct loop_pipe *out, struct tcpx_tx_msg *m, const uint8_t *bytes, uint32_t base,
	   uint32_t end)
{
	m->phase += tcpx_pipe_write(out, bytes + (m->phase - base), end - m->phase);
	return m->phase == end;
}

/* Everything of the payload that there is and that fits; true when it is all sent. */
static bool
send_payload(struct loop_pipe *out, struct tcpx_tx_msg *m, bool lend)
{
	static const uint8_t filler[4096];

	while (m->sent < m->head.len) {
		size_t left = m->head.len - m->sent, want, n;
		const void *from = filler;

		if (m->abandon) {
			want = left < sizeof(filler) ? left : sizeof(filler);
		} else if (m->iov_count > 0) {
			want = left < m->iov->iov_len ? left : m->iov->iov_len;
			from = m->iov->iov_base;
		} else {
			return false; /* more iov, please */
		}
		n = lend ? tcpx_pipe_lend(out, from, want) : tcpx_pipe_write(out, from, want);
		m->lent |= lend && n > 0;
		m->sent += n;
		if (!m->abandon) {
			m->iov->iov_base = (char *)m->iov->iov_base + n;
			m->iov->iov_len -= n;
			if (!m->iov->iov_len) {
				m->iov++;
				m->iov_count--;
			}
		}
		if (n < want)
			return false;
	}
	return true;
}

void
tcpx_loop_chan_promise(struct tcpx_chan *c, bool more)
{
	c->end.net->promises += (uint32_t)more - (uint32_t)c->promised;
	c->promised = more;
}

int
tcpx_loop_chan_send(struct tcpx_chan *c, struct tcpx_tx_msg *m)
{
	struct loop_link *l = c->end.link;
	struct loop_pipe *out = &l->pipe[c->end.side];
	uint8_t head[LOOP_HEAD_BYTES] = { 0 }, trailer[LOOP_TAIL_MAX] = { m->abandon };
	size_t before = m->sent + m->phase;
	bool lend = c->end.net->lends && m->stable && !m->abandon, done;
	int rc;

	tcpx_loop_chan_promise(c, false);
	if (chan_is_over(c))
		return TCPX_ECHANNEL;
	if (c->tx_open != (m->phase > 0) || (c->tx_open && m->head.seq != c->last_seq))
		return tcpx_fabric_blame(l->fabric, "send: seq %llu inside message %llu",
					 (unsigned long long)m->head.seq,
					 (unsigned long long)c->last_seq);
	if (lend && m->iov_count && tcpx_fabric_is_forbidden(l->fabric, m->iov->iov_base, m->iov->iov_len))
		return tcpx_fabric_blame(l->fabric, "lent from user memory");
	if (m->phase == 0) {
		if (tcpx_pipe_room(out) == 0)
			return -EAGAIN;
		rc = tcpx_loop_chan_begin(c, &m->head);
		if (rc)
			return rc;
		c->tx_open = true;
	}
	memcpy(head, &m->head, sizeof(m->head));
	memcpy(trailer + 1, &m->head.sum, sizeof(m->head.sum));
	done = (m->phase >= LOOP_HEAD_BYTES || send_frame(out, m, head, 0, LOOP_HEAD_BYTES)) &&
	       send_payload(out, m, lend) &&
	       send_frame(out, m, trailer, LOOP_HEAD_BYTES,
			  LOOP_HEAD_BYTES + tail_len(&m->head));
	tcpx_link_given(l, m->sent + m->phase - before);
	if (!done)
		return -EAGAIN;
	c->tx_open = false;
	tcpx_loop_chan_promise(c, m->more);
	return 0;
}

void
tcpx_loop_chan_forget(struct loop_link *l, uint64_t applied)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->unacked_count; i++)
		if (l->unacked[i].seq > applied)
			l->unacked[kept++] = l->unacked[i];
	l->unacked_count = kept;
}

int
tcpx_loop_chan_acked(struct tcpx_chan *c, struct tcpx_ack *ack)
{
	struct loop_link *l = c->end.link;
	bool moved = false;

	if (tcpx_link_dead(l, c->end.side))
		return TCPX_ECHANNEL;
	while (c->part_got < LOOP_ACK_BYTES) {
		size_t n = tcpx_pipe_read(&l->pipe[!c->end.side], c->part + c->part_got,
					  LOOP_ACK_BYTES - c->part_got);

		if (!n)
			break;
		c->part_got += n;
		if (c->part_got == LOOP_ACK_BYTES) {
			memcpy(&c->ack, c->part, LOOP_ACK_BYTES);
			c->part_got = 0;
			moved = true;
		}
	}
	if (!moved)
		return chan_is_over(c) ? TCPX_ECHANNEL : -EAGAIN;
	tcpx_loop_chan_forget(l, c->ack.applied);
	*ack = c->ack;
	return 0;
}

/* ---- receiving ------------------------------------------------------------------- */

int
tcpx_loop_chan_recv_head(struct tcpx_chan *c, struct tcpx_head *head)
{
	struct loop_link *l = c->end.link;

	if (tcpx_link_dead(l, c->end.side))
		return TCPX_ECHANNEL;
	if (c->rx_open || c->sending)
		return tcpx_fabric_blame(l->fabric, "recv_head inside a message");
	c->head_got += tcpx_pipe_read(&l->pipe[!c->end.side], c->head + c->head_got,
				      LOOP_HEAD_BYTES - c->head_got);
	if (c->head_got < LOOP_HEAD_BYTES)
		return chan_is_over(c) ? TCPX_ECHANNEL : -EAGAIN;
	c->head_got = 0;
	memcpy(head, c->head, sizeof(*head));
	head->summed = c->head[offsetof(struct tcpx_head, summed)] != 0; /* any byte may come */
	c->rx_open = true;
	c->body_left = head->len;
	c->summed = head->summed;
	c->last_seq = head->seq;
	return 0;
}

/* All payload is here: reads the trailer. */
static int
finish(struct tcpx_chan *c)
{
	struct loop_link *l = c->end.link;
	uint32_t len = c->summed ? LOOP_TAIL_MAX : 1;

	c->tail_got += tcpx_pipe_read(&l->pipe[!c->end.side], c->tail + c->tail_got,
				      len - c->tail_got);
	if (c->tail_got < len)
		return chan_is_over(c) ? TCPX_ECHANNEL : -EAGAIN;
	c->tail_got = 0;
	c->rx_open = false;
	return c->tail[0] ? TCPX_ECANCELED : 0;
}

uint32_t
tcpx_loop_chan_sum(const struct tcpx_chan *c)
{
	uint32_t sum;

	memcpy(&sum, c->tail + 1, sizeof(sum));
	return sum;
}

ssize_t
tcpx_loop_chan_recv(struct tcpx_chan *c, struct iovec *iov, int iov_count)
{
	struct loop_link *l = c->end.link;
	size_t got = 0;

	if (tcpx_link_dead(l, c->end.side))
		return TCPX_ECHANNEL;
	if (c->rx_open && !c->body_left)
		return finish(c);
	if (!c->rx_open || iov_count < 1)
		return tcpx_fabric_blame(l->fabric, "recv with %u bytes left", c->body_left);
	for (int i = 0; i < iov_count && c->body_left; i++) {
		size_t want = iov[i].iov_len < c->body_left ? iov[i].iov_len : c->body_left;
		size_t n = tcpx_pipe_read(&l->pipe[!c->end.side], iov[i].iov_base, want);

		tcpx_fabric_flip(l->fabric, TCPX_FABRIC_DATA, iov[i].iov_base, n);
		got += n;
		c->body_left -= n;
		if (n < want)
			break;
	}
	if (got)
		return (ssize_t)got;
	return chan_is_over(c) ? TCPX_ECHANNEL : -EAGAIN;
}

int
tcpx_loop_chan_ack(struct tcpx_chan *c, const struct tcpx_ack *ack)
{
	struct loop_link *l = c->end.link;
	struct loop_pipe *out = &l->pipe[c->end.side];
	size_t room = tcpx_pipe_room(out);

	if (tcpx_link_dead(l, c->end.side))
		return TCPX_ECHANNEL;
	if (c->sending || ack->received < c->ack.received || ack->applied < c->ack.applied ||
	    ack->applied > ack->received || ack->received > c->last_seq - c->rx_open)
		return tcpx_fabric_blame(l->fabric, "ack %llu/%llu after %llu/%llu of %llu",
					 (unsigned long long)ack->received,
					 (unsigned long long)ack->applied,
					 (unsigned long long)c->ack.received,
					 (unsigned long long)c->ack.applied,
					 (unsigned long long)c->last_seq);
	if (room < LOOP_ACK_BYTES)
		return -EAGAIN;
	/* Short writes are finished here: a part of an acknowledgement has no meaning. */
	for (size_t done = 0; done < LOOP_ACK_BYTES;) {
		size_t n = tcpx_pipe_write(out, (const char *)ack + done,
					   LOOP_ACK_BYTES - done);

		if (!n)
			return TCPX_ECHANNEL;
		done += n;
	}
	c->ack = *ack;
	return 0;
}

int
tcpx_loop_chan_stats(struct tcpx_chan *c, struct tcpx_channel_info *stats)
{
	const struct tcpx_fabric_script *s = &c->end.link->fabric->script;

	stats->retransmits = 0;
	stats->rtt_us = (s->delay_min_ns[TCPX_FABRIC_DATA] + s->delay_max_ns[TCPX_FABRIC_DATA]) /
			1000;
	return 0;
}

void
tcpx_loop_chan_recall(struct tcpx_chan *c)
{
	if (c->end.net->lends)
		tcpx_link_break(c->end.link, c->end.side);
}

int
tcpx_loop_chan_under_way(struct tcpx_chan *c, struct tcpx_net_way *way)
{
	const struct loop_link *l = c->end.link;
	const struct loop_pipe *out = &l->pipe[c->end.side];
	uint64_t heard_ns = l->moved_ns > l->up_ns ? l->moved_ns : l->up_ns;

	*way = (struct tcpx_net_way){ .quiet_ns = l->fabric->now_ns > heard_ns ?
							  l->fabric->now_ns - heard_ns : 0 };
	return out->tail && tcpx_link_when(l, out->tail->ready_ns) > l->fabric->now_ns;
}
