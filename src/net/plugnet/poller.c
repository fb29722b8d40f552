/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A poller of the sock provider and the busy channels. It drives those in turn: first without
 * sleeping, then after naps that grow. Without busy channels it sleeps in the poller of sock.
 *
 * The thread that runs the poller owns the list of busy channels.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "net/plugnet/busy.h"
#include "net/plugnet/poller.h"
#include "net/plugnet/recv.h"
#include "net/plugnet/send.h"
#include "net/registry.h"

#define KEEN_NS    (30 * 1000ull)            /* after a movement: no sleep              */
#define NAP_MAX_NS (int64_t)TCPX_MS
#define LOOK_NS    1000                      /* what a turn without a sleep costs, at least */

int
tcpx_plugnet_poller_open(struct tcpx_net *net, struct tcpx_poller **poller)
{
	struct tcpx_poller *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "poller");
	rc = tcpx_net_sock.poller_open(net->sock, &p->sock);
	if (rc) {
		free(p);
		return rc;
	}
	p->net = net;
	p->nap_ns = PLUGNET_NAP_MIN_NS;
	tcpx_node_init(&p->busy);
	*poller = p;
	return 0;
}

void
tcpx_plugnet_poller_close(struct tcpx_poller *p)
{
	if (!p)
		return;
	tcpx_net_sock.poller_close(p->sock);
	free(p);
}

void
tcpx_plugnet_poller_wake(struct tcpx_poller *p)
{
	atomic_store(&p->woken, true);
	tcpx_net_sock.poller_wake(p->sock);
}

int
tcpx_plugnet_poller_watch_fd(struct tcpx_poller *p, int fd, void *owner)
{
	return tcpx_net_sock.poller_watch_fd(p->sock, fd, owner);
}

/* Drives every busy channel and collects events. When there is no room for more events the list
 * turns, so that a channel that always has events does not starve the others. */
static int
look_at_all(struct tcpx_poller *p, struct tcpx_net_event *events, int max, uint64_t now_ns,
	    bool slept)
{
	int n = 0;

	tcpx_chain_each(node, after, &p->busy) {
		struct tcpx_chan *c = tcpx_container(node, struct tcpx_chan, in_busy);
		unsigned ready;

		if (c->sending ? tcpx_plugnet_send_look(c, now_ns) : tcpx_plugnet_recv_look(c, now_ns))
			tcpx_plugnet_poller_moved(p, now_ns);
		ready = n < max ? tcpx_plugnet_chan_ready(c, slept) : 0;
		if (ready)
			events[n++] = (struct tcpx_net_event){ c->owner, ready };
		tcpx_plugnet_chan_relist(c);
	}
	if (n == max && !tcpx_chain_empty(&p->busy)) {
		struct tcpx_node *first = p->busy.next;

		tcpx_chain_remove(first);
		tcpx_chain_add(&p->busy, first);
	}
	return n;
}

/* How long to sleep before the next turn; 0: yield only. */
static int64_t
nap(struct tcpx_poller *p, uint64_t now_ns)
{
	int64_t ns = p->nap_ns;

	if (now_ns - p->moved_ns < KEEN_NS)
		return 0;
	p->nap_ns = ns < NAP_MAX_NS / 2 ? ns + ns / 2 : NAP_MAX_NS;
	return ns;
}

/* The rest of the timeout. Time slept counts, too, in case the clock stands still. */
static int64_t
left_of(int64_t timeout_ns, uint64_t since_ns, uint64_t now_ns, int64_t slept_ns)
{
	int64_t gone = (int64_t)(now_ns - since_ns);

	if (timeout_ns < 0)
		return INT64_MAX;
	gone = gone > slept_ns ? gone : slept_ns;
	return gone < timeout_ns ? timeout_ns - gone : 0;
}

int
tcpx_plugnet_poller_wait(struct tcpx_poller *p, struct tcpx_net_event *events, int max,
			 int64_t timeout_ns)
{
	uint64_t since_ns = tcpx_clock_now(p->net->clock), now_ns = since_ns;
	int64_t ns, left, slept_ns = 0;
	int n, rc;

	while (!tcpx_chain_empty(&p->busy)) {
		n = look_at_all(p, events, max, now_ns, slept_ns > 0 || timeout_ns == 0);
		left = left_of(timeout_ns, since_ns, now_ns, slept_ns);
		if (n == max)
			return n;
		if (n > 0 || left == 0 || atomic_exchange(&p->woken, false)) {
			rc = tcpx_net_sock.poller_wait(p->sock, events + n, max - n, 0);
			return rc > 0 ? n + rc : n > 0 ? n : rc;
		}
		if (tcpx_chain_empty(&p->busy)) /* the last one is idle now */
			break;
		ns = nap(p, now_ns);
		if (ns == 0)
			sched_yield();
		ns = ns < left ? ns : left;
		rc = tcpx_net_sock.poller_wait(p->sock, events, max, ns);
		if (rc != 0)
			return rc;
		slept_ns += ns ? ns : LOOK_NS;
		now_ns = tcpx_clock_now(p->net->clock);
	}
	atomic_store(&p->woken, false); /* the sock poller keeps its own wake */
	left = left_of(timeout_ns, since_ns, now_ns, slept_ns);
	return tcpx_net_sock.poller_wait(p->sock, events, max, timeout_ns < 0 ? -1 : left);
}
