/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/doctor/peer_reach.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/reach.h"
#include "tune/doctor/peer_connect.h"
#include "tune/doctor/peer_session.h"

struct look {
	const struct machine *m;
	const struct peer_addr *peer;
	unsigned count;
	bool open[TCPX_HOST_NICS][PEERS_MAX]; /* the control port of this pair */
	uint64_t token;
	uint16_t port;                        /* of the server, for us         */
	struct reach_result *r;
};

static void __attribute__((format(printf, 2, 3)))
add_bad(struct look *l, const char *fmt, ...)
{
	size_t len = strlen(l->r->bad), room = sizeof(l->r->bad) - len;
	char item[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(item, sizeof(item), fmt, ap);
	va_end(ap);
	if (strlen(item) + 3 < room)
		snprintf(l->r->bad + len, room, "%s%s", len ? ", " : "", item);
}

static void
not_tried(struct look *l, const char *why)
{
	snprintf(l->r->not_tried, sizeof(l->r->not_tried), "the way back was not tried: %s", why);
}

/* "10.0.0.2:40001" */
static const char *
with_port(const struct tcpx_addr *addr, uint16_t port, char text[64])
{
	struct tcpx_addr full = *addr;

	full.port = port;
	tcpx_addr_format(&full, text, 64);
	return text;
}

/* The pairs whose control port is open; the first address among them, or NULL. */
static const struct peer_addr *
find_open(struct look *l)
{
	const struct peer_addr *first = NULL;
	struct attempt a[PEERS_MAX];

	for (unsigned n = 0; n < l->m->nic_count; n++) {
		attempts_make(&l->m->nics[n].addr, l->peer, l->count, NULL, 0, a);
		for (unsigned i = 0; i < l->count; i++) {
			l->open[n][i] = a[i].error == 0;
			if (l->open[n][i] && !first)
				first = &l->peer[i];
		}
		attempts_close(a, l->count);
	}
	return first;
}

/* A port of this NIC; nobody has to accept, the kernel does. */
static int
listen_at(const struct tcpx_addr *addr, uint16_t *port)
{
	struct sockaddr_storage ss;
	socklen_t len = peer_sockaddr(addr, 0, &ss);
	int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&ss, len) == 0 && listen(fd, PEERS_MAX) == 0 &&
	    getsockname(fd, (struct sockaddr *)&ss, &len) == 0) {
		/* the port lies at the same place for both families */
		*port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The server's byte about the way back; 0: none came. */
static char
hear_back(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte = 0;

	if (poll(&p, 1, 2 * REACH_TRY_MS) <= 0 || recv(fd, &byte, 1, 0) != 1)
		return 0;
	return byte;
}

static void
judge_back(struct look *l, unsigned nic, unsigned i, char byte, uint16_t port)
{
	const struct tcpx_host_nic *n = &l->m->nics[nic];
	char to[64];

	with_port(&n->addr, port, to);
	if (byte == REACH_OPEN)
		l->r->pairs++;
	else if (byte == REACH_REFUSED)
		add_bad(l, "%s -> %s (%s) is refused", l->peer[i].text, to, n->name);
	else if (byte == REACH_SILENT)
		add_bad(l, "%s -> %s (%s) is silent", l->peer[i].text, to, n->name);
	else if (byte == REACH_FAILED)
		add_bad(l, "%s -> %s (%s): it has no way", l->peer[i].text, to, n->name);
	else
		not_tried(l, "the server did not answer on its data port");
}

/* All pairs of one NIC: there, and over each connection the question about the way back. */
static void
try_nic(struct look *l, unsigned nic)
{
	const struct tcpx_host_nic *n = &l->m->nics[nic];
	struct attempt a[PEERS_MAX];
	uint16_t port = 0;
	int back = listen_at(&n->addr, &port);
	struct reach_question q = { htobe64(l->token), htons(port) };

	attempts_make(&n->addr, l->peer, l->count, l->open[nic], l->port, a);
	for (unsigned i = 0; i < l->count; i++) {
		char to[64];

		if (!l->open[nic][i])
			continue;
		with_port(&l->peer[i].addr, l->port, to);
		if (a[i].error == ECONNREFUSED)
			add_bad(l, "%s -> %s is refused", n->name, to);
		else if (a[i].error == EINPROGRESS || a[i].error == ETIMEDOUT)
			add_bad(l, "%s -> %s is silent", n->name, to);
		else if (a[i].error)
			add_bad(l, "%s -> %s: %s", n->name, to, strerror(a[i].error));
		if (a[i].error)
			not_tried(l, "that needs a connection there first");
		else if (back < 0 || send(a[i].fd, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q))
			not_tried(l, "the question cannot be asked");
	}
	for (unsigned i = 0; i < l->count; i++)
		if (l->open[nic][i] && !a[i].error && back >= 0)
			judge_back(l, nic, i, hear_back(a[i].fd), port);
	attempts_close(a, l->count);
	if (back >= 0)
		close(back);
}

void
peer_reach(const struct machine *m, const struct peer_addr *peer, unsigned count,
	   struct reach_result *out)
{
	struct look l = { .m = m, .peer = peer, .count = count, .r = out };
	const struct peer_addr *first;
	struct peer_session s;
	char why[192];

	*out = (struct reach_result){ .pairs = 0 };
	first = find_open(&l);
	if (!first) {
		snprintf(out->not_tried, sizeof(out->not_tried), "not tried: no control port of the "
			 "peer is open");
		return;
	}
	if (getrandom(&l.token, sizeof(l.token), 0) != sizeof(l.token))
		l.token = tcpx_clock_now(&tcpx_clock_system);
	l.token >>= 1; /* as JSON has it */
	if (!peer_session_open(m, first, &s, why, sizeof(why))) {
		if (*s.port_text)
			add_bad(&l, "here -> %s", s.port_text);
		not_tried(&l, *s.port_text ? "that needs a connection there first" : why);
		return;
	}
	if (peer_session_ask(&s, l.token, &l.port, why, sizeof(why)))
		for (unsigned n = 0; n < m->nic_count; n++)
			try_nic(&l, n);
	else
		not_tried(&l, why);
	peer_session_close(m, &s);
}
