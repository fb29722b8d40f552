/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sending side of a channel. Header, payload and trailer leave in one system call where
 * the kernel takes them, and continue exactly where it stopped. lend.c sends lent payload
 * between header and trailer. Small messages that follow each other at once leave in one call
 * together. Acknowledgements come back the other way; the newest whole record counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/sock/chan.h"
#include "net/sock/payload.h"
#include "net/sock/sock.h"

static int
msg_begin(struct tcpx_chan *c, struct tcpx_tx_msg *m)
{
	struct tcpx_head *h = &m->head;
	struct tcpx_sock_tx *tx = &c->tx;

	if (tx->open || h->seq != tx->last + 1 || h->channel != c->channel ||
	    h->generation != c->generation)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE,
				 "message seq %llu of channel %u generation %u: %s seq %llu of "
				 "channel %u generation %u", (unsigned long long)h->seq,
				 h->channel, h->generation, tx->open ? "still in" : "next is",
				 (unsigned long long)tx->last + 1, c->channel, c->generation);
	if (h->len > TCPX_SOCK_CHUNK_MAX)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ELIMIT, "message of %u bytes, at most %u",
				 h->len, TCPX_SOCK_CHUNK_MAX);
	tcpx_sock_lend_begin(c, m);
	h->lent = c->tx.lend.way != TCPX_LEND_OFF;
	tcpx_sock_head_format(h, tx->head);
	tcpx_sock_tail_format(h, false, tx->tail);
	tx->pos = 0;
	tx->open = true;
	m->sent = 0;
	m->phase = 1;
	m->lent = false;
	return 0;
}

/*
 * Holds a small message that the next one follows at once: a system call costs more than the
 * copy (measured on loopback, sender's time a message: 4 KiB 4.0 us alone, 1.0 us in a run of
 * twelve; 16 KiB 5.9 us and, four together, 4.0 us; little is saved at 32 KiB).
 * A held message always leaves: the core sends the next one within the same turn. If the
 * channel dies before, the peer has not received it, and its FENCED frame shows that.
 */
static bool
msg_hold(struct tcpx_chan *c, struct tcpx_tx_msg *m)
{
	size_t wire = TCPX_SOCK_HEAD_BYTES + m->head.len + TCPX_SOCK_TAIL_BYTES, bytes;
	struct tcpx_sock_held *h = &c->tx.held;
	struct iovec v[TCPX_SOCK_IOV];
	int n;

	if (!m->more || m->abandon || c->tx.pos || c->tx.lend.way != TCPX_LEND_OFF ||
	    m->head.len > TCPX_SOCK_HOLD_MAX || h->len + wire > TCPX_SOCK_HELD_BYTES)
		return false;
	n = tcpx_sock_payload(m, v, TCPX_SOCK_IOV, &bytes);
	if (bytes < m->head.len)
		return false;
	if (!h->mem)
		h->mem = malloc(TCPX_SOCK_HELD_BYTES);
	if (!h->mem)
		return false;
	memcpy(h->mem + h->len, c->tx.head, TCPX_SOCK_HEAD_BYTES);
	h->len += TCPX_SOCK_HEAD_BYTES;
	for (int i = 0; i < n; h->len += v[i++].iov_len)
		memcpy(h->mem + h->len, v[i].iov_base, v[i].iov_len);
	memcpy(h->mem + h->len, c->tx.tail, TCPX_SOCK_TAIL_BYTES);
	h->len += TCPX_SOCK_TAIL_BYTES;
	m->sent = m->head.len;
	tcpx_sock_payload_use(m, m->sent);
	return true;
}

/* How many of the bytes that the socket took were held bytes. */
static size_t
held_use(struct tcpx_sock_held *h, size_t bytes)
{
	size_t left = h->len - h->pos;

	if (bytes < left) {
		h->pos += bytes;
		return bytes;
	}
	h->pos = h->len = 0;
	return left;
}

/* The pieces of the next call, *bytes together; 0: the next payload is lent, or the core has
 * not given it yet. */
static int
msg_gather(const struct tcpx_sock_tx *tx, const struct tcpx_tx_msg *m, bool lend,
	   struct iovec v[TCPX_SOCK_IOV], size_t *bytes, bool *whole)
{
	size_t payload_end = TCPX_SOCK_HEAD_BYTES + m->head.len;
	size_t tail_pos = tx->pos > payload_end ? tx->pos - payload_end : 0;
	size_t payload = 0;
	int n = 0;

	*bytes = tx->held.len - tx->held.pos;
	if (*bytes)
		v[n++] = (struct iovec){ tx->held.mem + tx->held.pos, *bytes };
	if (tx->pos < TCPX_SOCK_HEAD_BYTES) {
		v[n] = (struct iovec){ (void *)(tx->head + tx->pos),
				       TCPX_SOCK_HEAD_BYTES - tx->pos };
		*bytes += v[n++].iov_len;
	}
	if (!lend)
		n += tcpx_sock_payload(m, v + n, TCPX_SOCK_IOV - 1 - n, &payload);
	*bytes += payload;
	*whole = m->sent + payload == m->head.len;
	if (*whole) {
		v[n] = (struct iovec){ (void *)(tx->tail + tail_pos),
				       TCPX_SOCK_TAIL_BYTES - tail_pos };
		*bytes += v[n++].iov_len;
	}
	return n;
}

static void
msg_advance(struct tcpx_sock_tx *tx, struct tcpx_tx_msg *m, size_t bytes)
{
	size_t before = m->sent;

	tx->pos += bytes;
	if (tx->pos > TCPX_SOCK_HEAD_BYTES)
		m->sent = tx->pos - TCPX_SOCK_HEAD_BYTES;
	if (m->sent > m->head.len)
		m->sent = m->head.len;
	if (!m->abandon && m->sent > before)
		tcpx_sock_payload_use(m, m->sent - before);
}

/* One plain system call: 0, -EAGAIN or a code. *whole: the trailer has left. */
static int
push_copied(struct tcpx_chan *c, struct tcpx_tx_msg *m, bool lend, bool *whole)
{
	struct iovec v[TCPX_SOCK_IOV];
	struct msghdr msg = { .msg_iov = v };
	size_t bytes;
	ssize_t n;

	msg.msg_iovlen = (size_t)msg_gather(&c->tx, m, lend, v, &bytes, whole);
	if (!bytes)
		return -EAGAIN;
	n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | (*whole ? 0 : MSG_MORE));
	if (n <= 0)
		return tcpx_sock_chan_io(c, n);
	msg_advance(&c->tx, m, (size_t)n - held_use(&c->tx.held, (size_t)n));
	return (size_t)n < bytes ? -EAGAIN : 0;
}

static int
push_lent(struct tcpx_chan *c, struct tcpx_tx_msg *m)
{
	bool full = false;
	ssize_t n = tcpx_sock_lend_some(c, m, &full);

	if (n < 0)
		return (int)n;
	msg_advance(&c->tx, m, (size_t)n);
	return full ? -EAGAIN : 0;
}

int
tcpx_sock_chan_send(struct tcpx_chan *c, struct tcpx_tx_msg *m)
{
	struct tcpx_sock_tx *tx = &c->tx;
	bool whole = false;
	int rc;

	rc = tcpx_sock_chan_check(c, true);
	if (!rc && !m->phase)
		rc = msg_begin(c, m);
	if (rc)
		return rc;
	/* a good trailer that has begun to leave stays good: the payload has left */
	if ((m->abandon || m->head.summed) && tx->pos <= TCPX_SOCK_HEAD_BYTES + m->head.len)
		tcpx_sock_tail_format(&m->head, m->abandon, tx->tail);

	whole = msg_hold(c, m);
	while (!rc && !whole) {
		bool lend = tcpx_sock_lend_is_on(c, m);

		if (lend && tx->pos >= TCPX_SOCK_HEAD_BYTES)
			rc = push_lent(c, m);
		else
			rc = push_copied(c, m, lend, &whole);
	}
	if (rc)
		return rc;
	tcpx_sock_lend_end(c);
	tx->open = false;
	tx->last = m->head.seq;
	tx->summed = m->head.summed;
	return 0;
}

/* Sets *newest to the last whole record received; a partial record stays. */
static int
acked_parse(struct tcpx_chan *c, struct tcpx_ack *newest)
{
	struct tcpx_sock_tx *tx = &c->tx;
	size_t whole = tx->in_got - tx->in_got % TCPX_SOCK_ACK_BYTES;
	struct tcpx_ack ack;

	if (!tcpx_sock_ack_parse(tx->in + whole - TCPX_SOCK_ACK_BYTES, tx->summed, &ack)) {
		c->dead = tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME,
				    "channel %u: the sum of an acknowledgement is wrong", c->channel);
		return c->dead;
	}
	if (ack.applied > ack.received || ack.received > tx->last ||
	    ack.received < newest->received || ack.applied < newest->applied) {
		c->dead = tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME,
				    "channel %u: acknowledged %llu received, %llu applied; was "
				    "%llu, %llu, and %llu are sent", c->channel,
				    (unsigned long long)ack.received,
				    (unsigned long long)ack.applied,
				    (unsigned long long)newest->received,
				    (unsigned long long)newest->applied,
				    (unsigned long long)tx->last);
		return c->dead;
	}
	*newest = ack;
	tx->in_got -= whole;
	memmove(tx->in, tx->in + whole, tx->in_got);
	return 0;
}

int
tcpx_sock_chan_acked(struct tcpx_chan *c, struct tcpx_ack *ack)
{
	struct tcpx_sock_tx *tx = &c->tx;
	struct tcpx_ack newest = tx->acked;
	size_t room;
	ssize_t n;
	int rc;

	rc = tcpx_sock_chan_check(c, true);
	if (rc)
		return rc;
	tcpx_sock_lend_settle(c);
	do {
		room = sizeof(tx->in) - tx->in_got;
		n = recv(c->fd, tx->in + tx->in_got, room, 0);
		if (n <= 0)
			break;
		tx->in_got += (size_t)n;
		if (tx->in_got >= TCPX_SOCK_ACK_BYTES)
			rc = acked_parse(c, &newest);
		if (rc)
			return rc;
	} while ((size_t)n == room);

	if (newest.received == tx->acked.received && newest.applied == tx->acked.applied)
		return n > 0 ? -EAGAIN : tcpx_sock_chan_io(c, n);
	/* an error that ended the loop comes again in the next call */
	tx->acked = newest;
	*ack = newest;
	return 0;
}
