/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload whose memory is stable is not copied into the socket: its pages are lent to the kernel,
 * through a pipe or with MSG_ZEROCOPY. It is the engine's own, or a user's by TCPX_MEM_LEND. Header
 * and trailer are never lent; they change with each message.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/sigpipe.h"
#include "net/sock/chan.h"
#include "net/sock/fd.h"
#include "net/sock/payload.h"
#include "net/sock/sock.h"

/*
 * How long a lent page must not change. The kernel reads it until the peer's kernel has
 * acknowledged it; within a host the receiving application copies straight out of it. The
 * core keeps the page until the peer has acknowledged RECEIVED, which is later than both. A
 * later retransmission may carry new contents: the peer's kernel has those bytes and discards
 * them. A core that takes a page back earlier breaks the connection first, and so does chan_close(), as
 * the kernel would go on sending. It counts the pages that it holds, so freeing them is safe.
 */

/* MSG_ZEROCOPY calls that are made before the kernel has reported on the first. */
#define PROBES 4

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

/*
 * A pipe comes first: it lends over a NIC and within a host, and needs no report from the
 * kernel, since the core waits for RECEIVED anyway. MSG_ZEROCOPY is used without pipes, and
 * only while the kernel has copied nothing. It copies when a packet stays on the host or the
 * NIC cannot gather, which costs more than plain send. A message that finds all pipes in use
 * is copied: pipes come back soon.
 */
enum tcpx_lend
tcpx_sock_lend_plan(const struct tcpx_sock_lend_facts *f)
{
	if (!f->stable || f->len < TCPX_LEND_MIN || f->want == TCPX_LEND_OFF)
		return TCPX_LEND_OFF;
	if (f->want != TCPX_LEND_MSG && f->pipe == 0)
		return TCPX_LEND_SPLICE;
	if (f->want == TCPX_LEND_SPLICE || (f->want == TCPX_LEND_AUTO && f->pipe == -EAGAIN))
		return TCPX_LEND_OFF;
	if (f->no_msg)
		return TCPX_LEND_OFF;
	if (f->want == TCPX_LEND_MSG || (f->saved && !f->copied))
		return TCPX_LEND_MSG;
	return !f->copied && f->calls < PROBES ? TCPX_LEND_MSG : TCPX_LEND_OFF;
}

static bool
zerocopy_set(struct tcpx_chan *c)
{
	struct tcpx_sock_lend *l = &c->tx.lend;
	int one = 1;

	if (!l->msg_set && !l->no_msg)
		l->no_msg = setsockopt(c->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) < 0;
	l->msg_set = !l->no_msg;
	return l->msg_set;
}

void
tcpx_sock_lend_begin(struct tcpx_chan *c, const struct tcpx_tx_msg *m)
{
	struct tcpx_sock_lend *l = &c->tx.lend;
	enum tcpx_lend want = c->net->lend;
	struct tcpx_sock_lend_facts f = {
		.want = want, .stable = m->stable, .len = m->head.len, .pipe = -ENOBUFS,
		.no_msg = l->no_msg, .calls = l->calls, .saved = l->saved, .copied = l->copied,
	};

	l->way = TCPX_LEND_OFF;
	if (!m->stable || m->head.len < TCPX_LEND_MIN)
		return;
	if ((want == TCPX_LEND_AUTO || want == TCPX_LEND_SPLICE) && !l->no_splice)
		f.pipe = tcpx_sock_pipe_get(&c->net->pipes, &l->pipe);
	l->way = tcpx_sock_lend_plan(&f);
	if (l->way == TCPX_LEND_MSG && !zerocopy_set(c))
		l->way = TCPX_LEND_OFF;
	atomic_store_explicit(&l->shown, (int)l->way, memory_order_relaxed);
}

bool
tcpx_sock_lend_is_on(const struct tcpx_chan *c, const struct tcpx_tx_msg *m)
{
	const struct tcpx_sock_lend *l = &c->tx.lend;

	if (l->way != TCPX_LEND_SPLICE && l->way != TCPX_LEND_MSG)
		return false;
	/* bytes of an abandoned message in the pipe serve as filler, and must go first */
	return m->abandon ? l->piped > 0 : m->sent < m->head.len;
}

static void
count_lent(struct tcpx_sock_lend *l, uint64_t bytes)
{
	atomic_fetch_add_explicit(&l->bytes, bytes, memory_order_relaxed);
}

/* This message uses plain send from its present place on, and the channel from now on, unless the refusal
 * was for these pages alone. If the connection is broken, plain send finds out. */
static ssize_t
splice_refused(struct tcpx_chan *c, const char *call)
{
	struct tcpx_sock_lend *l = &c->tx.lend;

	l->no_splice = errno != EFAULT;
	tcpx_debug(TCPX_SUB_NET, "channel %u: %s: %s, no pages are lent this way", c->channel,
		   call, tcpx_err_name(-errno));
	tcpx_sock_pipe_put(&c->net->pipes, &l->pipe, !l->piped);
	l->piped = 0;
	l->way = TCPX_LEND_OFF;
	atomic_store_explicit(&l->shown, (int)l->way, memory_order_relaxed);
	return 0;
}

/* splice() into a closed socket raises SIGPIPE; after a partial one, too: the kernel hides the error
 * then, but not the signal. */
static ssize_t
splice_quietly(int from, int to, size_t bytes)
{
	struct tcpx_sigpipe quiet;
	ssize_t n;

	tcpx_sigpipe_hold(&quiet);
	n = splice(from, NULL, to, NULL, bytes, SPLICE_F_MORE | SPLICE_F_NONBLOCK);
	tcpx_sigpipe_release(&quiet, n < (ssize_t)bytes);
	return n;
}

/* Fills the empty pipe with the next pieces: 0; -EAGAIN: there are none. */
static ssize_t
pipe_fill(struct tcpx_chan *c, struct tcpx_tx_msg *m)
{
	struct tcpx_sock_lend *l = &c->tx.lend;
	struct iovec v[TCPX_SOCK_IOV];
	size_t bytes;
	int count = tcpx_sock_payload(m, v, TCPX_SOCK_IOV, &bytes);
	ssize_t n;

	if (!bytes)
		return -EAGAIN;
	do
		n = vmsplice(l->pipe.in, v, (size_t)count, SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return splice_refused(c, "vmsplice");
	l->piped = (size_t)n;
	m->lent = true;
	atomic_store(&l->any, true);
	return 0;
}

static ssize_t
splice_some(struct tcpx_chan *c, struct tcpx_tx_msg *m, bool *full)
{
	struct tcpx_sock_lend *l = &c->tx.lend;
	ssize_t n;

	if (!l->piped) {
		n = pipe_fill(c, m);
		if (n || !l->piped)
			return n;
	}
	n = splice_quietly(l->pipe.out, c->fd, l->piped);
	if (n < 0 && tcpx_sock_later(errno))
		return -EAGAIN;
	if (n <= 0)
		return splice_refused(c, "splice");
	*full = (size_t)n < l->piped;
	l->piped -= (size_t)n;
	count_lent(l, (uint64_t)n);
	return n;
}

static ssize_t
msg_some(struct tcpx_chan *c, struct tcpx_tx_msg *m, bool *full)
{
	struct tcpx_sock_lend *l = &c->tx.lend;
	struct iovec v[TCPX_SOCK_IOV];
	struct msghdr msg = { .msg_iov = v };
	size_t bytes;
	ssize_t n = -1;

	msg.msg_iovlen = (size_t)tcpx_sock_payload(m, v, TCPX_SOCK_IOV, &bytes);
	if (!bytes)
		return -EAGAIN;
	if (l->pending == TCPX_SOCK_ZEROCOPIES)
		tcpx_sock_lend_settle(c);
	errno = ENOBUFS;
	if (l->pending < TCPX_SOCK_ZEROCOPIES)
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_MORE | MSG_ZEROCOPY);
	if (n < 0 && !tcpx_sock_later(errno)) {
		/* too many calls in flight, or these pages cannot be lent: plain send goes on */
		l->no_msg = errno != ENOBUFS && errno != EFAULT;
		l->way = TCPX_LEND_OFF;
		return 0;
	}
	if (n > 0) {
		l->call_bytes[l->calls++ % TCPX_SOCK_ZEROCOPIES] = (uint32_t)n;
		l->pending++;
		m->lent = true;
		atomic_store(&l->any, true);
	}
	*full = n < (ssize_t)bytes;
	if (*full) /* old reports must not wake the poller that waits for room */
		tcpx_sock_lend_settle(c);
	return n > 0 ? n : -EAGAIN;
}

ssize_t
tcpx_sock_lend_some(struct tcpx_chan *c, struct tcpx_tx_msg *m, bool *full)
{
	return c->tx.lend.way == TCPX_LEND_SPLICE ? splice_some(c, m, full) :
						    msg_some(c, m, full);
}

void
tcpx_sock_lend_end(struct tcpx_chan *c)
{
	struct tcpx_sock_lend *l = &c->tx.lend;

	l->way = TCPX_LEND_OFF;
	tcpx_sock_pipe_put(&c->net->pipes, &l->pipe, true);
}

void
tcpx_sock_lend_done(struct tcpx_sock_lend *l, uint32_t first, uint32_t last, bool copied)
{
	for (uint32_t id = first; l->pending; id++) {
		if (l->calls - id - 1 >= TCPX_SOCK_ZEROCOPIES)
			break; /* no call of ours has this number */
		l->pending--;
		if (copied)
			l->copied = true;
		else
			l->saved = true;
		count_lent(l, copied ? 0 : l->call_bytes[id % TCPX_SOCK_ZEROCOPIES]);
		if (id == last)
			break;
	}
}

void
tcpx_sock_lend_settle(struct tcpx_chan *c)
{
	struct tcpx_sock_lend *l = &c->tx.lend;
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(sizeof(struct sock_extended_err) + 64)];
	} control;
	struct sock_extended_err e;

	while (l->pending) {
		struct msghdr msg = { .msg_control = &control,
				      .msg_controllen = sizeof(control) };

		if (recvmsg(c->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h; h = CMSG_NXTHDR(&msg, h)) {
			if (h->cmsg_len < CMSG_LEN(sizeof(e)))
				continue;
			memcpy(&e, CMSG_DATA(h), sizeof(e));
			if (e.ee_errno == 0 && e.ee_origin == SO_EE_ORIGIN_ZEROCOPY)
				tcpx_sock_lend_done(l, e.ee_info, e.ee_data,
						    e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED);
		}
	}
}

void
tcpx_sock_lend_close(struct tcpx_chan *c)
{
	struct tcpx_sock_lend *l = &c->tx.lend;

	tcpx_sock_pipe_put(&c->net->pipes, &l->pipe, !l->piped);
	l->piped = 0;
	tcpx_sock_chan_recall(c);
}

/* The kernel forgets what it has not sent, and resets the connection. Within a host that is done before the
 * call returns, unless the kernel puts packets off, so a receiver that reads pages later than this finds the
 * connection broken: see finish() in recv.c. ThreadSanitizer takes connect() for the making of a
 * descriptor, which no other thread may use meanwhile. */
void
tcpx_sock_chan_recall(struct tcpx_chan *c)
{
	static const struct sockaddr none = { .sa_family = AF_UNSPEC };

	if (atomic_load(&c->tx.lend.any) && syscall(SYS_connect, c->fd, &none, sizeof(none)) < 0)
		(void)shutdown(c->fd, SHUT_RDWR);
}
