/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's part in `tcpx doctor --peer`: a port at each NIC that the client may connect to, bytes
 * there and back, and the way back, from the NIC it came to, to a port of the address it came from. No
 * other address is ever tried. Nothing here waits; client_step_reach() moves all on.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ownfd.h"
#include "host/host.h"
#include "measure/perf/serve.h"
#include "net/sock/fd.h"
#include "net/sock/sock.h"
#include "tool/reach.h"

#define CONN_MS (4 * REACH_TRY_MS) /* between questions of a connection */

struct reach_conn {
	int fd, back;    /* the client's connection, and ours to it; -1: none     */
	const struct tcpx_nic *nic;
	bool asked;      /* a question waits for its answer                       */
	uint32_t fill;   /* bytes of the question that are to come                */
	uint32_t left;   /* bytes behind the answer that are to go                */
	uint32_t bytes;  /* that the question asks for                            */
	uint32_t piece;  /* of them in a call, so that a packet is not cut on the way */
	struct reach_answer answer;
	uint64_t end_ns; /* of the try, or of the silence                         */
};

struct reach {
	uint64_t token, end_ns;
	struct tcpx_net net; /* its ports and congestion control are the engine's */
	char congestion[16];
	int spare;           /* see tcpx_sock_accept_fd() */
	uint32_t nic_count;
	struct tcpx_nic nic[TCPX_NET_NICS];
	int listen[TCPX_NET_NICS];
	struct reach_conn conn[REACH_CONNS];
};

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		tcpx_ownfd_close(*fd);
	*fd = -1;
}

static void
close_conn(struct reach_conn *c)
{
	close_fd(&c->fd);
	close_fd(&c->back);
}

void
client_end_reach(struct client *g)
{
	struct reach *r = g->reach;

	if (!r)
		return;
	for (int i = 0; i < REACH_CONNS; i++)
		close_conn(&r->conn[i]);
	for (uint32_t i = 0; i < r->nic_count; i++)
		close_fd(&r->listen[i]);
	if (r->spare >= 0)
		close(r->spare);
	free(r);
	g->reach = NULL;
}

/* The engine's NICs; what binds them to their devices is the host's to say. */
static int
find_nics(tcpx_engine *engine, struct reach *r)
{
	struct tcpx_nic_info info[TCPX_NET_NICS];
	struct tcpx_host_nic *all = NULL;
	size_t n = TCPX_NET_NICS;
	unsigned count = 0;
	int rc = tcpx_query_nics(engine, info, sizeof(info[0]), &n);

	if (rc == 0)
		rc = tcpx_host_nics_read(NULL, &all, &count);
	for (size_t i = 0; rc == 0 && i < n && i < TCPX_NET_NICS; i++) {
		struct tcpx_nic *nic = &r->nic[r->nic_count];

		memcpy(nic->name, info[i].name, sizeof(nic->name));
		if (tcpx_addr_parse(info[i].addr, &nic->addr))
			continue;
		for (unsigned k = 0; k < count; k++)
			if (!strcmp(all[k].ifname, nic->name))
				nic->bind_device = tcpx_host_nic_binds(&all[k]);
		r->listen[r->nic_count++] = -1;
	}
	free(all);
	return rc;
}

static int
load_settings(const struct perf_args *args, struct reach *r)
{
	struct tcpx_cfg *cfg;
	uint64_t ports;
	int rc = perf_load_settings(args, &cfg);

	if (rc)
		return rc;
	ports = tcpx_cfg_num(cfg, TCPX_SET_PORTS);
	snprintf(r->congestion, sizeof(r->congestion), "%s", tcpx_cfg_str(cfg, TCPX_SET_CONGESTION));
	r->net = (struct tcpx_net){ .port_first = (uint16_t)(ports >> 16),
				    .port_last = (uint16_t)ports, .congestion = r->congestion };
	tcpx_cfg_free(cfg);
	return 0;
}

/* A port at each NIC; "nics" of the answer. A NIC without an address has none. */
static int
listen_all(struct reach *r, json_t *list)
{
	for (uint32_t i = 0; i < r->nic_count; i++) {
		const struct tcpx_nic *nic = &r->nic[i];
		struct tcpx_addr bound, at = tcpx_nic_advertised(nic);
		char text[64];
		int rc = tcpx_sock_listen_fd(&r->net, nic, &nic->addr, &bound, &r->listen[i]);

		if (rc == -EADDRNOTAVAIL)
			continue;
		if (rc)
			return rc;
		at.port = bound.port;
		tcpx_addr_format(&at, text, sizeof(text));
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", nic->name, "addr", text));
	}
	return 0;
}

int
client_take_reach(const struct serve *s, struct client *g, const json_t *msg)
{
	json_t *list = json_array();
	struct reach *r;
	uint64_t token;
	int rc = job_number(msg, "token", 0, INT64_MAX, &token);

	client_end_reach(g);
	r = rc ? NULL : calloc(1, sizeof(*r));
	if (!rc && !r)
		rc = tcpx_fail(TCPX_SUB_TOOL, -ENOMEM, "ports for the ways of a client");
	if (r) {
		g->reach = r;
		r->token = token;
		r->spare = -1;
		r->end_ns = tcpx_clock_now(&tcpx_clock_system) + REACH_SERVE_MS * TCPX_MS;
		for (int i = 0; i < REACH_CONNS; i++)
			r->conn[i].fd = r->conn[i].back = -1;
		rc = load_settings(s->args, r);
	}
	if (!rc)
		rc = find_nics(s->engine, r);
	if (!rc)
		rc = listen_all(r, list);
	if (!rc)
		return client_say(g, "reach_at", json_pack("{s:o}", "nics", list));
	client_end_reach(g);
	json_decref(list);
	return rc;
}

/* The answer to the question that waits. The bytes that it asks for go on their own. */
static void
answer(struct reach_conn *c)
{
	struct reach_packets p = { .full = 0 };

	reach_packets(c->fd, &p);
	c->answer.full = htonl(p.full);
	c->answer.mtu = htonl(p.mtu);
	c->piece = p.full - p.head;
	close_fd(&c->back);
	c->asked = false;
	c->left = c->bytes;
	if (send(c->fd, &c->answer, sizeof(c->answer), MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    sizeof(c->answer))
		close_conn(c); /* the client has gone */
}

static char
verdict(int rc)
{
	return rc == 0 ? REACH_OPEN : rc == -ECONNREFUSED ? REACH_REFUSED :
	       rc == -ETIMEDOUT ? REACH_SILENT : REACH_FAILED;
}

/* Connects to the client, by the NIC that its connection came to. */
static void
connect_back(struct reach_conn *c, uint16_t port)
{
	struct tcpx_addr to;
	int rc;

	tcpx_sock_far(c->fd, &to);
	to.port = port;
	tcpx_addr_format(&to, c->answer.to, sizeof(c->answer.to));
	rc = tcpx_sock_connect_fd(c->nic, &to, 0, &c->back);
	if (rc)
		c->answer.back = verdict(rc);
}

/* The client's question, in one piece. */
static void
hear(const struct reach *r, struct reach_conn *c, uint64_t now)
{
	struct reach_question q;
	ssize_t n = recv(c->fd, &q, sizeof(q), MSG_PEEK | MSG_DONTWAIT);

	if (n > 0 && n < (ssize_t)sizeof(q))
		return;
	if (n < 0 && tcpx_sock_later(errno))
		return;
	if (n > 0) /* what is not read would turn our close into a reset */
		n = recv(c->fd, &q, sizeof(q), MSG_DONTWAIT);
	if (n != (ssize_t)sizeof(q) || be64toh(q.token) != r->token || ntohl(q.fill) > REACH_BYTES ||
	    ntohl(q.bytes) > REACH_BYTES || (q.port && ntohs(q.port) < REACH_PORT_MIN)) {
		close_conn(c);
		return;
	}
	memset(&c->answer, 0, sizeof(c->answer));
	c->asked = true;
	c->fill = ntohl(q.fill);
	c->bytes = ntohl(q.bytes);
	c->end_ns = now + (q.port ? REACH_TRY_MS : CONN_MS) * TCPX_MS;
	if (q.port)
		connect_back(c, ntohs(q.port));
}

/* Bytes that belong to the question are not looked at. */
static void
drop_fill(struct reach_conn *c)
{
	ssize_t n = recv(c->fd, NULL, c->fill, MSG_TRUNC | MSG_DONTWAIT);

	if (n > 0)
		c->fill -= (uint32_t)n;
	else if (n == 0 || !tcpx_sock_later(errno))
		close_conn(c);
}

static void
send_left(struct reach_conn *c)
{
	uint32_t piece = c->piece && c->piece < REACH_PIECE ? c->piece : REACH_PIECE;
	ssize_t n = send(c->fd, reach_fill, c->left < piece ? c->left : piece,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0)
		c->left -= (uint32_t)n;
	else if (!tcpx_sock_later(errno))
		close_conn(c);
}

static void
step(const struct reach *r, struct reach_conn *c, uint64_t now)
{
	int rc;

	if (c->left)
		send_left(c);
	else if (!c->asked)
		hear(r, c, now);
	if (c->fd >= 0 && c->fill)
		drop_fill(c);
	if (c->back >= 0) {
		rc = tcpx_sock_connected(c->back);
		if (rc == -EAGAIN && now > c->end_ns)
			rc = -ETIMEDOUT;
		if (rc == -EAGAIN)
			return;
		c->answer.back = verdict(rc);
		c->end_ns = now + CONN_MS * TCPX_MS;
	}
	if (c->fd >= 0 && c->asked && !c->fill)
		answer(c);
	if (now > c->end_ns)
		close_conn(c);
}

/* A connection of a NIC that has one, or fd -1. */
static void
take_conn(struct reach *r, struct reach_conn *c, uint64_t now)
{
	for (uint32_t i = 0; i < r->nic_count && c->fd < 0; i++) {
		struct tcpx_addr from;

		if (r->listen[i] < 0 ||
		    tcpx_sock_accept_fd(&r->net, r->listen[i], &r->spare, &from, &c->fd))
			continue;
		*c = (struct reach_conn){ .fd = c->fd, .back = -1, .nic = &r->nic[i],
					  .end_ns = now + CONN_MS * TCPX_MS };
		if (tcpx_sock_tune(c->fd, r->congestion))
			close_conn(c);
	}
}

void
client_step_reach(struct client *g)
{
	uint64_t now = tcpx_clock_now(&tcpx_clock_system);
	struct reach *r = g->reach;
	bool more = true; /* connections may wait */

	for (int i = 0; r && i < REACH_CONNS; i++) {
		struct reach_conn *c = &r->conn[i];

		if (c->fd < 0 && more) {
			take_conn(r, c, now);
			more = c->fd >= 0;
		}
		if (c->fd >= 0)
			step(r, c, now);
	}
	if (r && now > r->end_ns)
		client_end_reach(g);
}
