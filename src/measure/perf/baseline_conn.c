/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stepping a plain connection, and making one. Options set: TCP_NODELAY, as a good ordinary
 * program would, and the congestion control of what it is compared with.
 */
#include "measure/perf/baseline_conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <endian.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SETUP_MS = 10000 };

struct raw_hello {
	uint64_t token; /* big-endian, as the number */
	uint32_t number;
} __attribute__((packed));

void
raw_conn_init(struct raw_conn *c, const struct baseline_plan *plan, size_t k)
{
	const struct layout *layout = plan->conn[k].out ? plan->out : plan->in;
	uint64_t place = 0, count = 0;

	for (size_t i = 0; i < plan->conns; i++) {
		place += plan->conn[i].out == plan->conn[k].out && i < k;
		count += plan->conn[i].out == plan->conn[k].out;
	}
	*c = (struct raw_conn){
		.fd = -1, .sends = plan->conn[k].out == plan->client,
		.blocking = plan->threads >= plan->conns, .layout = layout,
		.mem = plan->conn[k].out ? plan->out_mem : plan->in_mem, .span = plan->span,
		.depth = plan->depth, .slots = plan->slots,
		.from = layout->total * place / count,
		.to = layout->total * (place + 1) / count };
	c->pos = c->from;
}

bool
raw_conn_is_empty(const struct raw_conn *c)
{
	return c->from == c->to;
}

void
raw_conn_begin(struct raw_conn *c)
{
	c->left = c->depth;
	c->active = true;
	c->blocked = false;
}

int
raw_conn_step(struct raw_conn *c, uint64_t call)
{
	struct iovec iov[IOV_MAX];
	struct msghdr m = { .msg_iov = iov };
	uint64_t max = call < c->to - c->pos ? call : c->to - c->pos, bytes;
	ssize_t n;

	m.msg_iovlen = (size_t)layout_iov(c->layout, c->mem + c->slot * c->span, c->pos, max, iov,
					  IOV_MAX, &bytes);
	n = c->sends ? sendmsg(c->fd, &m, MSG_NOSIGNAL) : recvmsg(c->fd, &m, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		c->blocked = errno == EAGAIN;
		return c->blocked && c->blocking ? -ETIMEDOUT : RAW_BLOCKED;
	}
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	c->pos += (uint64_t)n;
	if (c->pos < c->to)
		return RAW_MOVED;
	c->pos = c->from;
	c->slot = (c->slot + 1) % c->slots;
	if (--c->left)
		return RAW_MOVED;
	c->active = false;
	return RAW_DONE;
}

int
raw_conn_get_byte(struct raw_conn *c, int timeout_ms)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	uint8_t byte;
	ssize_t n;

	for (;;) {
		n = recv(c->fd, &byte, 1, 0);
		if (n == 1)
			return 0;
		if (n == 0)
			return -EPIPE;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (poll(&p, 1, timeout_ms) == 0)
			return -ETIMEDOUT;
	}
}

int
raw_conn_put_byte(struct raw_conn *c)
{
	return send(c->fd, "", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int
set_congestion(int fd, const char *name)
{
	if (!name[0] || !setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
				    (socklen_t)strlen(name)))
		return 0;
	return tcpx_fail_errno(TCPX_SUB_TOOL, "congestion control %s for the baseline", name);
}

void
raw_congestion(int fd, char *name, size_t cap)
{
	socklen_t len = (socklen_t)cap - 1;

	memset(name, 0, cap);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) < 0)
		name[0] = '\0';
}

int
raw_listen(const char *congestion, uint16_t *port, int *fd)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);
	int off = 0, rc, s = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s >= 0) {
		setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		rc = bind(s, (struct sockaddr *)&a, sizeof(a));
	} else {
		s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		rc = s < 0 ? -1 : bind(s, (struct sockaddr *)&a4, sizeof(a4));
	}
	if (rc < 0 || listen(s, BASELINE_CONNS) < 0 ||
	    getsockname(s, (struct sockaddr *)&bound, &len) < 0) {
		rc = tcpx_fail_errno(TCPX_SUB_TOOL, "listening for the baseline");
		if (s >= 0)
			close(s);
		return rc;
	}
	rc = set_congestion(s, congestion);
	if (rc) {
		close(s);
		return rc;
	}
	*port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
						  : ((struct sockaddr_in *)&bound)->sin_port);
	*fd = s;
	return 0;
}

static void
prepare_socket(int fd)
{
	struct timeval limit = { .tv_sec = SETUP_MS / 1000 };
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* A literal address: "10.0.0.1", "fe80::1%eth0", "[::1]". */
static int
resolve(const char *text, uint16_t port, struct sockaddr_storage *out, socklen_t *len)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *found;
	char bare[64], service[8];
	size_t n = strlen(text);

	snprintf(bare, sizeof(bare), "%s", text);
	if (n > 2 && text[0] == '[' && text[n - 1] == ']' && n < sizeof(bare))
		snprintf(bare, sizeof(bare), "%.*s", (int)n - 2, text + 1);
	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(bare, service, &hints, &found))
		return -EINVAL;
	memcpy(out, found->ai_addr, found->ai_addrlen);
	*len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

int
raw_connect(const struct baseline_plan *plan, size_t number, uint16_t port, int *fd)
{
	const struct baseline_conn *where = &plan->conn[number];
	struct raw_hello hello = { htobe64(plan->token), htobe32((uint32_t)number) };
	struct sockaddr_storage from, to;
	socklen_t from_len = 0, to_len;
	int s, rc;

	if (resolve(where->to, port, &to, &to_len) ||
	    (where->from[0] && resolve(where->from, 0, &from, &from_len)))
		return tcpx_fail(TCPX_SUB_TOOL, -EINVAL, "baseline connection from '%s' to '%s':"
				 " not literal addresses", where->from, where->to);
	s = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "socket for the baseline");
	prepare_socket(s);
	rc = set_congestion(s, plan->congestion);
	if (rc) {
		close(s);
		return rc;
	}
	if ((from_len && bind(s, (struct sockaddr *)&from, from_len) < 0) ||
	    connect(s, (struct sockaddr *)&to, to_len) < 0 ||
	    send(s, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
		rc = tcpx_fail_errno(TCPX_SUB_TOOL, "baseline connection from %s to %s port %u",
				     where->from, where->to, port);
		close(s);
		return rc;
	}
	*fd = s;
	return 0;
}

/* A listener that is shut down ends the wait, as a stranger may say nothing. */
static int
take_hello(int listener, int fd, struct raw_hello *hello)
{
	struct pollfd p[] = { { .fd = fd, .events = POLLIN }, { .fd = listener } };
	size_t have = 0;

	while (have < sizeof(*hello)) {
		ssize_t n;

		if (poll(p, 2, SETUP_MS) <= 0 || p[1].revents)
			return -ETIMEDOUT;
		n = recv(fd, (uint8_t *)hello + have, sizeof(*hello) - have, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return -EPROTO;
		have += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int
raw_accept(int listener, uint64_t token, uint32_t *number, int *fd)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	struct raw_hello hello;
	int s;

	for (;;) {
		if (poll(&p, 1, SETUP_MS) <= 0)
			return -ETIMEDOUT;
		s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (s < 0)
			return -errno;
		prepare_socket(s);
		if (!take_hello(listener, s, &hello) && be64toh(hello.token) == token)
			break;
		close(s);
	}
	*number = be32toh(hello.number);
	*fd = s;
	return 0;
}
