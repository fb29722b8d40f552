/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving side of a channel: payload goes straight to the memory that the core names.
 * The seam to the next message is read together with the end of the payload, so that a steady
 * flow costs one system call a message, not three.
 */
#include <errno.h>
#include <sys/socket.h>

#include "net/sock/chan.h"
#include "net/sock/payload.h"
#include "net/sock/sock.h"

#define RCVLOWAT (256u << 10) /* payload bytes worth waking up for */

/*
 * Lets the poller sleep until want bytes have arrived, or a good part of them. Without this
 * each packet of a slowly filling socket wakes the receiver, which costs the sender 15 % of
 * its time on loopback. It is set only when it changes, and only before a sleep.
 */
static void
expect(struct tcpx_chan *c, size_t want)
{
	int lowat = want < RCVLOWAT ? (int)want : (int)RCVLOWAT;

	if (lowat == c->lowat || (lowat == 1 && c->lowat == 0))
		return;
	if (setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat)) == 0)
		c->lowat = lowat;
}

/* Reads until the first want bytes of the seam are here; takes more if there are. */
static int
seam_fill(struct tcpx_chan *c, size_t want)
{
	struct tcpx_sock_rx *rx = &c->rx;
	ssize_t n;

	if (rx->seam_got >= want)
		return 0;
	n = recv(c->fd, rx->seam + rx->seam_got, sizeof(rx->seam) - rx->seam_got, 0);
	if (n > 0)
		rx->seam_got += (size_t)n;
	if (rx->seam_got >= want)
		return 0;
	expect(c, 1);
	return n > 0 ? -EAGAIN : tcpx_sock_chan_io(c, n);
}

int
tcpx_sock_chan_recv_head(struct tcpx_chan *c, struct tcpx_head *head)
{
	struct tcpx_sock_rx *rx = &c->rx;
	struct tcpx_head h = { 0 };
	int rc;

	rc = tcpx_sock_chan_check(c, false);
	if (rc)
		return rc;
	if (rx->open)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE,
				 "channel %u: next header before the end of seq %llu",
				 c->channel, (unsigned long long)rx->cur.seq);
	rc = seam_fill(c, sizeof(rx->seam));
	if (rc)
		return rc;
	if (!tcpx_sock_head_parse(rx->seam + TCPX_SOCK_TAIL_BYTES, &h) ||
	    h.len > TCPX_SOCK_CHUNK_MAX || h.channel != c->channel ||
	    h.generation != c->generation || h.seq != rx->last + 1) {
		c->dead = tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME,
				    "channel %u generation %u: header of channel %u generation %u "
				    "seq %llu length %u; seq %llu and at most %u bytes wanted",
				    c->channel, c->generation, h.channel, h.generation,
				    (unsigned long long)h.seq, h.len,
				    (unsigned long long)rx->last + 1, TCPX_SOCK_CHUNK_MAX);
		return c->dead;
	}
	rx->cur = h;
	rx->pos = 0;
	rx->seam_got = 0;
	rx->open = true;
	*head = h;
	return 0;
}

/* A sender may have taken back pages that it had lent: then the connection broke before they changed,
 * and what was read of them since is not the message. The call costs 1.3 us on a virtual machine, so it is
 * left out where nothing is lent. */
static int
check_recalled(struct tcpx_chan *c)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (c->rx.cur.lent)
		(void)getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	errno = err;
	return err ? tcpx_sock_chan_io(c, -1) : 0;
}

/* All payload of the open message is here: reads its trailer. */
static int
finish(struct tcpx_chan *c)
{
	struct tcpx_sock_rx *rx = &c->rx;
	bool abandoned;
	int rc;

	rc = seam_fill(c, TCPX_SOCK_TAIL_BYTES);
	if (rc)
		return rc;
	if (!tcpx_sock_tail_parse(rx->seam, &rx->cur, &abandoned, &rx->sum)) {
		c->dead = tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME,
				    "channel %u: trailer of seq %llu is not one", c->channel,
				    (unsigned long long)rx->cur.seq);
		return c->dead;
	}
	rc = check_recalled(c);
	if (rc)
		return rc;
	rx->open = false;
	rx->last = rx->cur.seq;
	return abandoned ? TCPX_ECANCELED : 0;
}

uint32_t
tcpx_sock_chan_sum(const struct tcpx_chan *c)
{
	return c->rx.sum;
}

ssize_t
tcpx_sock_chan_recv(struct tcpx_chan *c, struct iovec *iov, int iov_count)
{
	struct iovec v[TCPX_SOCK_IOV];
	struct tcpx_sock_rx *rx = &c->rx;
	struct msghdr msg = { .msg_iov = v };
	size_t left, want = 0;
	ssize_t n;
	int rc;

	rc = tcpx_sock_chan_check(c, false);
	if (rc)
		return rc;
	left = rx->open ? rx->cur.len - rx->pos : 0;
	if (rx->open && left == 0)
		return finish(c);
	for (int i = 0; i < iov_count && want < left; i++) {
		size_t len = iov[i].iov_len < left - want ? iov[i].iov_len : left - want;

		if (!len)
			continue;
		if (msg.msg_iovlen == TCPX_SOCK_IOV - 1)
			break;
		v[msg.msg_iovlen++] = (struct iovec){ iov[i].iov_base, len };
		want += len;
	}
	if (!want)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE,
				 "channel %u: payload asked for with %zu bytes left and %d pieces",
				 c->channel, left, iov_count);
	if (want == left)
		v[msg.msg_iovlen++] = (struct iovec){ rx->seam, sizeof(rx->seam) };
	n = recvmsg(c->fd, &msg, 0);
	if (n <= 0) {
		expect(c, left + TCPX_SOCK_TAIL_BYTES);
		return tcpx_sock_chan_io(c, n);
	}
	if ((size_t)n > want) {
		rx->seam_got = (size_t)n - want;
		n = (ssize_t)want;
	}
	rx->pos += (size_t)n;
	return n;
}

/* Finishes the record that has begun before newer values go: the peer reads 16 bytes. */
static int
ack_flush(struct tcpx_chan *c)
{
	struct tcpx_sock_rx *rx = &c->rx;
	ssize_t n;

	if (!rx->out_left)
		return 0;
	n = send(c->fd, rx->out + sizeof(rx->out) - rx->out_left, rx->out_left, MSG_NOSIGNAL);
	if (n <= 0)
		return tcpx_sock_chan_io(c, n);
	rx->out_left -= (size_t)n;
	return rx->out_left ? -EAGAIN : 0;
}

int
tcpx_sock_chan_ack(struct tcpx_chan *c, const struct tcpx_ack *ack)
{
	struct tcpx_sock_rx *rx = &c->rx;
	int rc;

	rc = tcpx_sock_chan_check(c, false);
	if (rc)
		return rc;
	if (ack->applied > ack->received || ack->received > rx->last ||
	    ack->received < rx->acked.received || ack->applied < rx->acked.applied)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE,
				 "channel %u: acknowledging %llu received, %llu applied after "
				 "%llu, %llu, with %llu messages in", c->channel,
				 (unsigned long long)ack->received,
				 (unsigned long long)ack->applied,
				 (unsigned long long)rx->acked.received,
				 (unsigned long long)rx->acked.applied,
				 (unsigned long long)rx->last);
	rc = ack_flush(c);
	if (rc)
		return rc;
	if (ack->received == rx->acked.received && ack->applied == rx->acked.applied)
		return 0;
	tcpx_sock_ack_format(ack, rx->cur.summed, rx->out);
	rx->out_left = sizeof(rx->out);
	rx->acked = *ack;
	return ack_flush(c);
}
