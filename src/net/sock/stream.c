/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control streams and those that accept them: one socket each. A stream carries nothing before
 * its connection stands.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ownfd.h"
#include "net/sock/fd.h"
#include "net/sock/path.h"
#include "net/sock/poller.h"
#include "net/sock/stream.h"

/*
 * send() and recv() of the C library are cancellation points, which costs two locked
 * instructions each in a process with threads, while the caller holds a lock.
 * ThreadSanitizer knows them, though: what is received was sent before.
 */
#ifdef __SANITIZE_THREAD__
#define STREAM_SEND(fd, data, len) send(fd, data, len, MSG_NOSIGNAL)
#define STREAM_RECV(fd, data, len) recv(fd, data, len, 0)
#else
#define STREAM_SEND(fd, data, len) syscall(SYS_sendto, fd, data, len, MSG_NOSIGNAL, NULL, 0)
#define STREAM_RECV(fd, data, len) syscall(SYS_recvfrom, fd, data, len, 0, NULL, NULL)
#endif

#define LARGE 576 /* of packets */

struct tcpx_stream {
	int fd;
	int spare; /* a listener's; else -1 */
	const struct tcpx_net *net; /* a listener's */
	int state; /* 0 up, -EAGAIN connecting, or the error */
	struct tcpx_sock_watch watch;
};

/* Owns fd, also when it fails. */
static int
stream_new(int fd, int state, struct tcpx_stream **stream)
{
	struct tcpx_stream *s = calloc(1, sizeof(*s));

	if (!s) {
		tcpx_ownfd_close(fd);
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "stream");
	}
	s->fd = fd;
	s->spare = -1;
	s->state = state;
	*stream = s;
	return 0;
}

int
tcpx_sock_listen(struct tcpx_net *net, const struct tcpx_addr *addr, struct tcpx_addr *bound,
		 struct tcpx_stream **listener)
{
	int fd, rc = tcpx_sock_listen_fd(net, NULL, addr, bound, &fd);

	if (rc == 0)
		rc = stream_new(fd, 0, listener);
	if (rc)
		return rc;
	(*listener)->net = net;
	(*listener)->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

int
tcpx_sock_accept(struct tcpx_stream *l, struct tcpx_stream **stream, struct tcpx_addr *from,
		 struct tcpx_addr *at)
{
	struct tcpx_addr addr;
	int rc, fd;

	rc = tcpx_sock_accept_fd(l->net, l->fd, &l->spare, &addr, &fd);
	if (!rc)
		rc = stream_new(fd, 0, stream);
	if (!rc) {
		tcpx_sock_name(fd, at);
		*from = addr;
	}
	return rc;
}

int
tcpx_sock_connect(struct tcpx_net *net, int nic, const struct tcpx_addr *to, uint16_t packet,
		  struct tcpx_stream **stream)
{
	const struct tcpx_nic *from = NULL;
	int rc, fd;

	if (nic != -1) {
		from = tcpx_sock_nic(net, nic);
		if (!from)
			return -EINVAL;
	}
	rc = tcpx_sock_connect_fd(from, to, packet, &fd);
	return rc ? rc : stream_new(fd, -EAGAIN, stream);
}

int
tcpx_sock_stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
		       unsigned interest)
{
	return tcpx_sock_watch_set(&s->watch, s->fd, p, owner, interest);
}

static int
stream_up(struct tcpx_stream *s)
{
	if (s->state == -EAGAIN)
		s->state = tcpx_sock_connected(s->fd);
	return s->state;
}

static ssize_t
stream_result(ssize_t n)
{
	if (n >= 0)
		return n;
	if (tcpx_sock_later(errno))
		return -EAGAIN;
	n = -errno;
	tcpx_debug(TCPX_SUB_NET, "stream: %s", tcpx_err_name((int)n));
	return n;
}

ssize_t
tcpx_sock_stream_send(struct tcpx_stream *s, const void *data, size_t len)
{
	int rc = stream_up(s);

	if (rc || !len)
		return rc;
	if (s->watch.poller)
		tcpx_sock_poller_asked(s->watch.poller);
	return stream_result(STREAM_SEND(s->fd, data, len));
}

ssize_t
tcpx_sock_stream_recv(struct tcpx_stream *s, void *data, size_t len)
{
	int rc = stream_up(s);
	ssize_t n;

	if (rc)
		return rc;
	n = STREAM_RECV(s->fd, data, len);
	if (n > 0 && s->watch.poller)
		tcpx_sock_poller_hot(s->watch.poller, s->fd, &s->watch);
	return stream_result(n);
}

int
tcpx_sock_stream_under_way(struct tcpx_stream *s, struct tcpx_net_way *way)
{
	return tcpx_sock_under_way(s->fd, way);
}

int
tcpx_sock_stream_acked(struct tcpx_stream *s)
{
	struct tcpx_net_way way;
	int rc = tcpx_sock_under_way(s->fd, &way);

	return rc < 0 ? rc : !rc;
}

void
tcpx_sock_stream_name(struct tcpx_stream *s, struct tcpx_addr *at)
{
	tcpx_sock_name(s->fd, at);
}

/* Ends the connection by a reset if large packets are stuck: nothing behind them would
 * arrive, the end neither. */
static void
reset_if_stuck(const struct tcpx_stream *s)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct tcpx_net_way way;

	if (tcpx_sock_under_way(s->fd, &way) > 0 && way.resent >= 2 && way.packet > LARGE)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void
tcpx_sock_stream_close(struct tcpx_stream *s)
{
	if (!s)
		return;
	reset_if_stuck(s);
	tcpx_sock_watch_drop(&s->watch, s->fd);
	tcpx_ownfd_close(s->fd);
	if (s->spare >= 0)
		close(s->spare);
	free(s);
}
