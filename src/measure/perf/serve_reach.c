/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's part in `tcpx doctor --peer`: a port that the client may connect to, and the way
 * back, from the address it came to, to a port of the address it came from. No other address is
 * ever tried. Nothing here waits; client_step_reach() moves all on.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/perf/serve.h"
#include "tool/reach.h"

enum { REACH_CONNS = 64 }; /* tried at the same time */

struct reach_conn {
	int fd, back;    /* the client's connection, and ours to it; -1: none */
	uint64_t end_ns; /* of the try                                        */
};

struct reach {
	int fd;          /* listens */
	uint64_t token, end_ns;
	struct reach_conn conn[REACH_CONNS];
};

/* All addresses, of IPv4 in the form of IPv6; IPv4 alone where there is no IPv6. */
static int
listen_any(uint16_t *port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT };
	struct sockaddr_in any4 = { .sin_family = AF_INET };
	struct sockaddr_storage got;
	socklen_t len = sizeof(got);
	int zero = 0, fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0 ||
			bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (fd >= 0 && bind(fd, (struct sockaddr *)&any4, sizeof(any4)) < 0)
			goto failed;
	}
	if (fd < 0 || listen(fd, REACH_CONNS) < 0 ||
	    getsockname(fd, (struct sockaddr *)&got, &len) < 0)
		goto failed;
	/* the port lies at the same place for both families */
	*port = ntohs(((struct sockaddr_in *)&got)->sin_port);
	return fd;
failed:
	zero = tcpx_fail_errno(TCPX_SUB_TOOL, "listen for the ways of a client");
	if (fd >= 0)
		close(fd);
	return zero;
}

static void
close_conn(struct reach_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->back >= 0)
		close(c->back);
	c->fd = c->back = -1;
}

void
client_end_reach(struct client *g)
{
	for (int i = 0; g->reach && i < REACH_CONNS; i++)
		close_conn(&g->reach->conn[i]);
	if (g->reach)
		close(g->reach->fd);
	free(g->reach);
	g->reach = NULL;
}

int
client_take_reach(struct client *g, const json_t *msg)
{
	uint64_t token;
	uint16_t port = 0;
	int rc = job_number(msg, "token", 0, INT64_MAX, &token), fd;

	client_end_reach(g);
	if (rc)
		return rc;
	fd = listen_any(&port);
	if (fd < 0)
		return fd;
	g->reach = calloc(1, sizeof(*g->reach));
	if (!g->reach) {
		close(fd);
		return -ENOMEM;
	}
	g->reach->fd = fd;
	g->reach->token = token;
	g->reach->end_ns = tcpx_clock_now(&tcpx_clock_system) + REACH_SERVE_MS * TCPX_MS;
	for (int i = 0; i < REACH_CONNS; i++)
		g->reach->conn[i].fd = g->reach->conn[i].back = -1;
	return client_say(g, "reach_at", json_pack("{s:i}", "port", port));
}

static void
answer(struct reach_conn *c, int error)
{
	const char byte = error == 0 ? REACH_OPEN : error == ECONNREFUSED ? REACH_REFUSED
			: error == ETIMEDOUT ? REACH_SILENT : REACH_FAILED;

	if (send(c->fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0; /* the client has gone */
	close_conn(c);
}

/* Both ends of the client's connection, with other ports. */
static void
connect_back(struct reach_conn *c, uint16_t port)
{
	struct sockaddr_storage from, to;
	socklen_t from_len = sizeof(from), to_len = sizeof(to);

	if (getsockname(c->fd, (struct sockaddr *)&from, &from_len) < 0 ||
	    getpeername(c->fd, (struct sockaddr *)&to, &to_len) < 0) {
		close_conn(c);
		return;
	}
	((struct sockaddr_in *)&from)->sin_port = 0;
	((struct sockaddr_in *)&to)->sin_port = htons(port);
	c->back = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->back < 0 || bind(c->back, (struct sockaddr *)&from, from_len) < 0 ||
	    (connect(c->back, (struct sockaddr *)&to, to_len) < 0 && errno != EINPROGRESS))
		answer(c, errno);
}

/* The client's question, in one piece. */
static void
hear(const struct reach *r, struct reach_conn *c)
{
	struct reach_question q;
	ssize_t n = recv(c->fd, &q, sizeof(q), MSG_PEEK | MSG_DONTWAIT);

	if (n > 0 && n < (ssize_t)sizeof(q))
		return;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) /* what is not read would turn our close into a reset */
		n = recv(c->fd, &q, sizeof(q), MSG_DONTWAIT);
	if (n != (ssize_t)sizeof(q) || be64toh(q.token) != r->token ||
	    ntohs(q.port) < REACH_PORT_MIN)
		close_conn(c);
	else
		connect_back(c, ntohs(q.port));
}

static void
step(const struct reach *r, struct reach_conn *c, uint64_t now)
{
	struct pollfd p = { .fd = c->back, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	if (c->back < 0)
		hear(r, c);
	else if (poll(&p, 1, 0) > 0)
		answer(c, getsockopt(c->back, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno
										   : error);
	if (c->fd >= 0 && now > c->end_ns) {
		if (c->back >= 0)
			answer(c, ETIMEDOUT);
		else
			close_conn(c);
	}
}

void
client_step_reach(struct client *g)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);
	struct reach *r = g->reach;

	for (int i = 0; r && i < REACH_CONNS; i++) {
		struct reach_conn *c = &r->conn[i];

		if (c->fd < 0) {
			c->fd = accept4(r->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
			c->end_ns = now + REACH_TRY_MS * TCPX_MS;
		}
		if (c->fd >= 0)
			step(r, c, now);
	}
	if (r && now > r->end_ns)
		client_end_reach(g);
}
