/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A poller of the sock provider, and the channels that have something outstanding: they are
 * looked at in turn, for a while without sleeping and then after naps that grow. With none
 * of them it sleeps as the sock provider does.
 *
 * The list of busy channels belongs to who runs the poller; only waking is for others.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "net/tcpx.h"

#define KEEN_NS    (30 * 1000ull)            /* after a movement: look without sleeping */
#define NAP_MIN_NS (20 * 1000ll)             /* a chunk of 512 KiB at 200 Gb/s          */
#define NAP_MAX_NS (int64_t)TCPX_MS
#define LOOK_NS    1000                      /* what one without a sleep costs, at least */

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
	p->nap_ns = NAP_MIN_NS;
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

void
tcpx_plugnet_poller_moved(struct tcpx_poller *p, uint64_t now_ns)
{
	p->moved_ns = now_ns;
	p->nap_ns = NAP_MIN_NS;
}

/* Looks at every busy channel; events for those that have something to tell. The list is
 * turned, so that one that always has does not hide the others when there is no room. */
static int
look_at_all(struct tcpx_poller *p, struct tcpx_event *events, int max, uint64_t now_ns,
	    bool slept)
{
	int n = 0;

	tcpx_chain_each(node, after, &p->busy) {
		struct tcpx_chan *c = tcpx_container(node, struct tcpx_chan, in_busy);
		unsigned ready;

		if (tcpx_plugnet_chan_look(c, now_ns))
			tcpx_plugnet_poller_moved(p, now_ns);
		ready = n < max ? tcpx_plugnet_chan_ready(c, slept) : 0;
		if (ready)
			events[n++] = (struct tcpx_event){ c->owner, ready };
		tcpx_plugnet_chan_mind(c);
	}
	if (n == max && !tcpx_chain_empty(&p->busy)) {
		struct tcpx_node *first = p->busy.next;

		tcpx_chain_remove(first);
		tcpx_chain_add(&p->busy, first);
	}
	return n;
}

/* For how long to sleep before the next look; 0: only give way to others. */
static int64_t
nap(struct tcpx_poller *p, uint64_t now_ns)
{
	int64_t ns = p->nap_ns;

	if (now_ns - p->moved_ns < KEEN_NS)
		return 0;
	p->nap_ns = ns < NAP_MAX_NS / 2 ? ns + ns / 2 : NAP_MAX_NS;
	return ns;
}

/* So much of the timeout is left; a clock that stands still does not make it longer. */
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
tcpx_plugnet_poller_wait(struct tcpx_poller *p, struct tcpx_event *events, int max,
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
		if (tcpx_chain_empty(&p->busy)) /* by that look */
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
	atomic_store(&p->woken, false); /* the sock poller knows of a wake by itself */
	left = left_of(timeout_ns, since_ns, now_ns, slept_ns);
	return tcpx_net_sock.poller_wait(p->sock, events, max, timeout_ns < 0 ? -1 : left);
}
