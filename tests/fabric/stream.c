/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control streams of the scripted network, and the listeners that accept them. A
 * listener may stand at any address; one at a wildcard is reached by every NIC of its
 * engine.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
is_wildcard(const struct tcpx_addr *a)
{
	static const uint8_t zero[16];

	return !memcmp(a->ip, zero, sizeof(zero));
}

static bool
net_owns(const struct tcpx_net *net, const struct tcpx_addr *a)
{
	for (uint32_t i = 0; i < net->nic_count; i++)
		if (tcpx_addr_same_ip(&net->nics[i].addr, a))
			return true;
	return false;
}

static struct loop_listener *
find_listener(struct tcpx_fabric *f, const struct tcpx_addr *to)
{
	for (struct tcpx_node *n = f->listeners.next; n != &f->listeners; n = n->next) {
		struct loop_listener *l = tcpx_container(n, struct loop_listener, node);

		if (l->addr.port == to->port &&
		    (tcpx_addr_same_ip(&l->addr, to) ||
		     (is_wildcard(&l->addr) && net_owns(l->net, to))))
			return l;
	}
	return NULL;
}

static unsigned
listener_ready(struct loop_watch *w)
{
	struct loop_listener *l = tcpx_container(w, struct loop_listener, watch);

	for (uint32_t i = 0; i < l->waiting_count; i++)
		if (!tcpx_link_up(l->waiting[i]))
			return w->interest & TCPX_READABLE;
	return 0;
}

int
tcpx_loop_listen(struct tcpx_net *net, const struct tcpx_addr *addr, struct tcpx_addr *bound,
		 struct tcpx_stream **listener)
{
	struct tcpx_fabric *f = net->fabric;
	struct tcpx_stream *s;
	struct loop_listener *l;

	for (struct tcpx_node *n = f->listeners.next; addr->port && n != &f->listeners;
	     n = n->next) {
		l = tcpx_container(n, struct loop_listener, node);
		if (l->addr.port == addr->port && tcpx_addr_same_ip(&l->addr, addr) &&
		    (l->net == net || !is_wildcard(addr)))
			return tcpx_fail(TCPX_SUB_NET, -EADDRINUSE, "listen on port %u",
					 addr->port);
	}
	s = calloc(1, sizeof(*s));
	l = calloc(1, sizeof(*l));
	if (!s || !l) {
		free(s);
		free(l);
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "a scripted listener");
	}
	s->listener = l;
	tcpx_node_init(&l->watch.node);
	l->watch.ready = listener_ready;
	l->net = net;
	l->addr = *addr;
	if (!l->addr.port)
		l->addr.port = f->next_port++;
	tcpx_chain_add(&f->listeners, &l->node);
	net->live++;
	*bound = l->addr;
	*listener = s;
	return 0;
}

static int
stream_new(struct tcpx_net *net, struct loop_link *l, int side, struct tcpx_stream **stream)
{
	struct tcpx_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "a scripted stream");
	tcpx_end_init(&s->end, net, l, side);
	*stream = s;
	return 0;
}

int
tcpx_loop_accept(struct tcpx_stream *listener, struct tcpx_stream **stream,
		 struct tcpx_addr *from, struct tcpx_addr *at)
{
	struct loop_listener *l = listener->listener;

	for (uint32_t i = 0; i < l->waiting_count; i++) {
		struct loop_link *link = l->waiting[i];
		int rc;

		if (tcpx_link_up(link))
			continue;
		rc = stream_new(l->net, link, 1, stream);
		if (rc)
			return rc;
		link->accepted = true;
		link->fabric->activity++;
		*from = link->pipe[0].from->addr;
		from->port = (uint16_t)(40000 + link->index);
		*at = link->pipe[1].from->addr;
		at->port = l->addr.port;
		memmove(&l->waiting[i], &l->waiting[i + 1],
			(--l->waiting_count - i) * sizeof(*l->waiting));
		return 0;
	}
	return -EAGAIN;
}

static void
listener_close(struct loop_listener *l)
{
	for (uint32_t i = 0; i < l->waiting_count; i++) {
		tcpx_link_break(l->waiting[i], 1);
		tcpx_link_close(l->waiting[i], 1);
	}
	free(l->waiting);
	tcpx_chain_remove(&l->watch.node);
	tcpx_chain_remove(&l->node);
	l->net->live--;
	free(l);
}

int
tcpx_loop_connect(struct tcpx_net *net, int nic, const struct tcpx_addr *to, uint16_t packet,
		  struct tcpx_stream **stream)
{
	struct loop_listener *listener = find_listener(net->fabric, to);
	struct loop_link **more;
	struct loop_link *link;
	int rc;

	(void)packet;
	rc = tcpx_link_new(net, TCPX_FABRIC_CONTROL, nic, to, &link);
	if (rc)
		return rc;
	rc = stream_new(net, link, 0, stream);
	if (rc) {
		tcpx_link_close(link, 0);
		return rc;
	}
	if (!listener && !link->refused)
		link->refused = -ECONNREFUSED;
	if (link->refused)
		return 0;
	more = realloc(listener->waiting, (listener->waiting_count + 1) * sizeof(*more));
	if (!more) {
		link->refused = -ECONNREFUSED;
		return 0;
	}
	listener->waiting = more;
	more[listener->waiting_count++] = link;
	link->open[1] = true;
	return 0;
}

int
tcpx_loop_stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
		       unsigned interest)
{
	return s->listener ? tcpx_watch_set(&s->listener->watch, p, owner, interest) :
			     tcpx_end_watch(&s->end, p, owner, interest);
}

ssize_t
tcpx_loop_stream_send(struct tcpx_stream *s, const void *data, size_t len)
{
	struct loop_link *l = s->end.link;
	int side = s->end.side;
	int up = tcpx_link_up(l);
	size_t n;

	if (up || !len)
		return up;
	if (tcpx_link_dead(l, side) || tcpx_pipe_ended(&l->pipe[!side]))
		return l->reset_code ? l->reset_code : -EPIPE;
	n = tcpx_pipe_write(&l->pipe[side], data, len);
	return n ? (ssize_t)n : -EAGAIN;
}

/* Of a connection: HELLO and RESUME are not summed. */
#define SPARED 1024

ssize_t
tcpx_loop_stream_recv(struct tcpx_stream *s, void *data, size_t len)
{
	struct loop_link *l = s->end.link;
	struct loop_pipe *in = &l->pipe[!s->end.side];
	int up = tcpx_link_up(l);
	size_t n, spared;

	if (up)
		return up;
	if (tcpx_link_dead(l, s->end.side))
		return l->reset_code;
	n = tcpx_pipe_read(in, data, len);
	spared = s->got < SPARED ? SPARED - s->got : 0;
	s->got += n;
	if (n > spared)
		tcpx_fabric_flip(l->fabric, TCPX_FABRIC_CONTROL, (uint8_t *)data + spared, n - spared);
	if (n)
		return (ssize_t)n;
	return tcpx_pipe_ended(in) ? 0 : -EAGAIN;
}

int
tcpx_loop_stream_acked(struct tcpx_stream *s)
{
	const struct loop_link *l = s->end.link;

	return tcpx_link_when(l, l->pipe[s->end.side].last_ns) <= l->fabric->now_ns;
}

void
tcpx_loop_stream_name(struct tcpx_stream *s, struct tcpx_addr *at)
{
	*at = s->end.link->pipe[s->end.side].from->addr;
}

void
tcpx_loop_stream_close(struct tcpx_stream *s)
{
	if (s->listener)
		listener_close(s->listener);
	else
		tcpx_end_close(&s->end);
	free(s);
}
