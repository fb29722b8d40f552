/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where channels arrive: one data listener for each NIC and the channels expected on it. A
 * connection is pending until its preamble names an expected channel with the right token. A
 * pending connection that is silent, wrong or late is closed and disturbs no other. A step for all
 * is taken when the set is ready, where a poller watches it, and by chan_accept(). Late ones are
 * looked for in the latter alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/admit.h"
#include "base/chain.h"
#include "base/ownfd.h"
#include "net/sock/chan.h"
#include "net/sock/fd.h"
#include "net/sock/port.h"
#include "net/sock/sock.h"
#include "net/sock/wire.h"

#define PREAMBLE_NS       (5 * TCPX_SEC)
#define LOG_NS        TCPX_SEC /* at most one warning in this time */
#define ACCEPTS_A_STEP 64
#define STEP_NS       (100 * 1000ull)  /* between looks, however many channels are awaited */
#define SWEEP_NS      (100 * TCPX_MS)  /* between looks for late ones                      */
#define REST_NS       (100 * TCPX_MS)  /* without descriptors                              */

static void port_ready(struct tcpx_sock_inner *inner);

int
tcpx_sock_ports_open(struct tcpx_net *net)
{
	net->ports = calloc(net->nic_count + 1, sizeof(*net->ports));
	if (!net->ports)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "data ports of %u NICs", net->nic_count);
	for (uint32_t i = 0; i < net->nic_count; i++) {
		struct tcpx_sock_port *p = &net->ports[i];

		p->net = net;
		p->nic = &net->nics[i];
		p->fd = p->set = -1;
		p->spare = -1;
		p->inner.ready = port_ready;
		pthread_mutex_init(&p->lock, NULL);
	}
	return 0;
}

void
tcpx_sock_ports_close(struct tcpx_net *net)
{
	for (uint32_t i = 0; i < net->nic_count; i++) {
		struct tcpx_sock_port *p = &net->ports[i];

		while (p->pending_count)
			tcpx_ownfd_close(p->pending[--p->pending_count].fd);
		if (p->fd >= 0) {
			tcpx_ownfd_close(p->fd);
			close(p->set);
			close(p->spare);
		}
		free(p->pending);
		pthread_mutex_destroy(&p->lock);
	}
	free(net->ports);
}

/* What to look for at the listener. */
static int
set_mod(struct tcpx_sock_port *p, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = p->fd };

	return epoll_ctl(p->set, EPOLL_CTL_MOD, p->fd, &ev) < 0 ? -errno : 0;
}

static int
set_add(struct tcpx_sock_port *p, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(p->set, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* The listener, and the set of what is ready at this port. */
static int
listen_here(struct tcpx_sock_port *p)
{
	struct tcpx_addr at = p->nic->addr;
	int rc;

	at.port = p->nic->advertised.port;
	rc = tcpx_sock_listen_fd(p->net, p->nic, &at, &p->addr, &p->fd);
	if (rc == -EADDRINUSE)
		return tcpx_fail(TCPX_SUB_NET, rc, "port %u of TCPX_ADVERTISE, for data of %s, is in use",
				 at.port, p->nic->name);
	if (rc)
		return rc;
	p->set = epoll_create1(EPOLL_CLOEXEC);
	rc = p->set < 0 ? -errno : set_add(p, p->fd);
	if (rc == 0)
		return 0;
	rc = tcpx_fail(TCPX_SUB_NET, rc, "data port of %s: %s", p->nic->name, tcpx_err_text(rc));
	if (p->set >= 0)
		close(p->set);
	tcpx_ownfd_close(p->fd);
	p->fd = p->set = -1;
	return rc;
}

/* Under the lock. */
static int
port_open(struct tcpx_sock_port *p)
{
	struct rlimit files = { 0 };
	int rc;

	if (p->fd >= 0)
		return 0;
	getrlimit(RLIMIT_NOFILE, &files);
	p->room = tcpx_admit_room(files.rlim_cur, p->net->nic_count, TCPX_SOCK_PENDING);
	if (!p->pending)
		p->pending = calloc(TCPX_SOCK_PENDING, sizeof(*p->pending));
	if (!p->pending)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "data port of %s", p->nic->name);
	rc = listen_here(p);
	if (!rc)
		p->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return rc;
}

static void
pending_forget(struct tcpx_sock_port *p, struct tcpx_sock_pending *g)
{
	*g = p->pending[--p->pending_count];
}

static void
pending_refuse(struct tcpx_sock_port *p, struct tcpx_sock_pending *g, const char *why,
	     uint64_t now_ns)
{
	char from[64];

	p->refused++;
	if (!p->refused_logged || now_ns - p->logged_ns >= LOG_NS) {
		tcpx_addr_format(&g->from, from, sizeof(from));
		tcpx_warn(TCPX_SUB_NET, "%s: data port %u refused %llu connections, "
			  "the last from %s: %s", p->nic->name, p->addr.port,
			  (unsigned long long)(p->refused - p->refused_logged), from, why);
		p->refused_logged = p->refused;
		p->logged_ns = now_ns;
	}
	tcpx_ownfd_close(g->fd);
	pending_forget(p, g);
}

/* Takes the same time wherever the first difference lies. */
static bool
token_same(const uint8_t a[16], const uint8_t b[16])
{
	uint8_t diff = 0;

	for (int i = 0; i < 16; i++)
		diff |= a[i] ^ b[i];
	return !diff;
}

static struct tcpx_chan_listener *
port_find(struct tcpx_sock_port *p, const struct tcpx_chan_id *id)
{
	struct tcpx_chan_listener *found = NULL;

	for (struct tcpx_chan_listener *cl = p->expected; cl; cl = cl->next)
		if (token_same(cl->id.token, id->token) && tcpx_sock_id_same(&cl->id, id))
			found = cl;
	return found;
}

/* Why the connection is refused; NULL: it stays pending, or it is the channel of *found. */
static const char *
pending_judge(struct tcpx_sock_port *p, const struct tcpx_sock_pending *g, uint64_t now_ns,
	    struct tcpx_chan_listener **found)
{
	struct tcpx_chan_listener *cl;
	struct tcpx_chan_id id;

	if (!tcpx_sock_preamble_begins(g->bytes, g->got))
		return "not a preamble";
	if (g->got < TCPX_SOCK_PREAMBLE_BYTES)
		return now_ns < g->deadline_ns ? NULL : "no preamble within 5 s";
	if (g->got > TCPX_SOCK_PREAMBLE_BYTES)
		return "bytes after the preamble";
	if (!tcpx_sock_preamble_parse(g->bytes, &id))
		return "preamble of another version";
	cl = port_find(p, &id);
	if (!cl)
		return "channel or token not expected here";
	if (cl->used)
		return "token used before";
	*found = cl;
	return NULL;
}

static void
pending_step(struct tcpx_sock_port *p, struct tcpx_sock_pending *g, uint64_t now_ns)
{
	struct tcpx_chan_listener *cl = NULL;
	const char *why;
	ssize_t n;

	n = recv(g->fd, g->bytes + g->got, sizeof(g->bytes) - g->got, 0);
	if (n == 0 || (n < 0 && !tcpx_sock_later(errno))) {
		pending_refuse(p, g, "closed before its preamble", now_ns);
		return;
	}
	if (n > 0)
		g->got += (uint32_t)n;
	why = pending_judge(p, g, now_ns, &cl);
	if (why) {
		pending_refuse(p, g, why, now_ns);
	} else if (cl) {
		cl->used = true;
		cl->fd = g->fd;
		if (cl->owner)
			p->net->gate.arrived(cl->owner);
		epoll_ctl(p->set, EPOLL_CTL_DEL, g->fd, NULL);
		pending_forget(p, g);
	}
}

/* A flood displaces its own silent connections: a good one sends its preamble within a step
 * or two. */
static struct tcpx_sock_pending *
pending_victim(struct tcpx_sock_port *p, uint64_t now_ns)
{
	struct tcpx_admit_guest guest[TCPX_SOCK_PENDING];

	for (uint32_t i = 0; i < p->pending_count; i++)
		guest[i] = (struct tcpx_admit_guest){ .from = p->pending[i].from,
			.since_ns = p->pending[i].deadline_ns - PREAMBLE_NS };
	return &p->pending[tcpx_admit_victim(guest, p->pending_count, 0, now_ns)];
}

static struct tcpx_sock_pending *
pending_of(struct tcpx_sock_port *p, int fd)
{
	for (uint32_t i = 0; i < p->pending_count; i++)
		if (p->pending[i].fd == fd)
			return &p->pending[i];
	return NULL;
}

static void
port_accept(struct tcpx_sock_port *p, uint64_t now_ns)
{
	struct tcpx_sock_pending *g;
	struct tcpx_addr from;
	int fd, rc;

	for (int i = 0; i < ACCEPTS_A_STEP; i++) {
		rc = tcpx_sock_accept_fd(p->net, p->fd, &p->spare, &from, &fd);
		if (rc == -EMFILE && set_mod(p, 0) == 0)
			p->rest_until_ns = now_ns + REST_NS;
		if (rc)
			return;
		if (p->pending_count == p->room)
			pending_refuse(p, pending_victim(p, now_ns), "too many without a preamble",
				       now_ns);
		g = &p->pending[p->pending_count++];
		*g = (struct tcpx_sock_pending){
			.fd = fd,
			.from = from,
			.deadline_ns = now_ns + PREAMBLE_NS,
		};
		if (set_add(p, fd) != 0)
			pending_refuse(p, g, "it cannot be watched", now_ns);
		else
			pending_step(p, g, now_ns);
	}
}

static void
sweep(struct tcpx_sock_port *p, uint64_t now_ns)
{
	p->swept_ns = now_ns;
	for (uint32_t i = p->pending_count; i-- > 0;)
		if (now_ns >= p->pending[i].deadline_ns)
			pending_refuse(p, &p->pending[i], "no preamble within 5 s", now_ns);
}

static void
end_rest(struct tcpx_sock_port *p, uint64_t now_ns)
{
	if (p->rest_until_ns && now_ns >= p->rest_until_ns && set_mod(p, EPOLLIN) == 0)
		p->rest_until_ns = 0;
}

/* Under the lock: reads what has come, then accepts new ones. What is silent costs nothing. */
static void
port_look(struct tcpx_sock_port *p, uint64_t now_ns)
{
	struct epoll_event ev[ACCEPTS_A_STEP];
	struct tcpx_sock_pending *g;
	bool accepts = false;
	int n;

	p->stepped_ns = now_ns;
	end_rest(p, now_ns);
	n = epoll_wait(p->set, ev, ACCEPTS_A_STEP, 0);
	for (int i = 0; i < n; i++) {
		accepts |= ev[i].data.fd == p->fd;
		g = pending_of(p, ev[i].data.fd);
		if (g)
			pending_step(p, g, now_ns);
	}
	if (accepts)
		port_accept(p, now_ns);
}

/* The same, and closes late ones; however many channels ask, every STEP_NS. A test's clock may
 * stand. */
static void
port_step(struct tcpx_sock_port *p)
{
	uint64_t now_ns = tcpx_clock_now(p->net->clock);

	if (now_ns != p->stepped_ns && now_ns - p->stepped_ns < STEP_NS)
		return;
	if (now_ns - p->swept_ns >= SWEEP_NS)
		sweep(p, now_ns);
	port_look(p, now_ns);
}

static void
port_ready(struct tcpx_sock_inner *inner)
{
	struct tcpx_sock_port *p = tcpx_container(inner, struct tcpx_sock_port, inner);

	pthread_mutex_lock(&p->lock);
	if (p->poller) /* else the last listener has gone meanwhile */
		port_look(p, tcpx_clock_now(p->net->clock));
	pthread_mutex_unlock(&p->lock);
}

int
tcpx_sock_chan_listener_watch(struct tcpx_chan_listener *cl, struct tcpx_poller *poller, void *owner)
{
	struct tcpx_sock_port *p = cl->port;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	if (!p->poller)
		rc = tcpx_sock_poller_inner(poller, p->set, &p->inner);
	if (rc == 0) {
		p->poller = poller;
		cl->owner = owner;
		end_rest(p, tcpx_clock_now(p->net->clock)); /* a set at rest wakes nobody */
		if (cl->fd >= 0)
			p->net->gate.arrived(owner);
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int
tcpx_sock_chan_listen(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
		      uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **out)
{
	struct tcpx_chan_listener *cl;
	struct tcpx_sock_port *p;
	struct tcpx_addr advertised;
	int rc;

	if (!tcpx_sock_nic(net, nic))
		return -EINVAL;
	cl = calloc(1, sizeof(*cl));
	if (!cl)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "channel %u", id->channel);
	p = &net->ports[nic];
	cl->port = p;
	cl->id = *id;
	cl->fd = -1;

	pthread_mutex_lock(&p->lock);
	rc = port_open(p);
	if (!rc) {
		cl->next = p->expected;
		p->expected = cl;
	}
	pthread_mutex_unlock(&p->lock);
	if (rc) {
		free(cl);
		return rc;
	}
	advertised = p->nic->advertised.family ? p->nic->advertised : p->addr;
	advertised.port = p->addr.port;
	tcpx_sock_handle_format(&advertised, id, handle);
	*out = cl;
	return 0;
}

int
tcpx_sock_chan_accept(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **out)
{
	struct tcpx_sock_port *p = cl->port;
	struct tcpx_chan *chan;
	bool taken;
	int rc, fd;

	if (sending == !!cl->id.sending_side_is_opener)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL,
				 "channel %u accepted as %s: the opener is that side",
				 cl->id.channel, sending ? "sending" : "receiving");
	pthread_mutex_lock(&p->lock);
	taken = cl->used && cl->fd < 0;
	port_step(p);
	fd = cl->fd;
	cl->fd = -1;
	pthread_mutex_unlock(&p->lock);
	if (taken)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "channel %u was accepted before",
				 cl->id.channel);
	if (fd < 0)
		return -EAGAIN;

	rc = tcpx_sock_chan_new(p->net, &cl->id, fd, sending, &chan);
	if (rc)
		return rc;
	/* an empty send buffer takes four bytes: less means that the peer has closed */
	if (send(fd, tcpx_sock_answer, TCPX_SOCK_ANSWER_BYTES, MSG_NOSIGNAL) !=
	    TCPX_SOCK_ANSWER_BYTES) {
		tcpx_debug(TCPX_SUB_NET, "channel %u: the peer left during set-up",
			   cl->id.channel);
		tcpx_sock_chan_close(chan);
		return TCPX_ECHANNEL;
	}
	*out = chan;
	return 0;
}

void
tcpx_sock_chan_listener_close(struct tcpx_chan_listener *cl)
{
	struct tcpx_chan_listener **at;
	struct tcpx_sock_port *p;

	if (!cl)
		return;
	p = cl->port;
	pthread_mutex_lock(&p->lock);
	for (at = &p->expected; *at != cl; at = &(*at)->next)
		;
	*at = cl->next;
	/* nobody looks for late ones at a port that expects nothing: new ones wait in the kernel */
	while (!p->expected && p->pending_count)
		tcpx_ownfd_close(p->pending[--p->pending_count].fd);
	if (!p->expected && p->poller) {
		tcpx_sock_poller_drop(p->poller, p->set);
		p->poller = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	if (cl->fd >= 0)
		tcpx_ownfd_close(cl->fd);
	free(cl);
}
