/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted poller: reports what is ready at the present virtual time, beginning at a
 * random place, and never waits.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdlib.h>

int
tcpx_loop_poller_open(struct tcpx_net *net, struct tcpx_poller **poller)
{
	struct tcpx_poller *p = calloc(1, sizeof(*p));

	if (!p)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "a scripted poller");
	p->net = net;
	tcpx_node_init(&p->watches);
	net->live++;
	*poller = p;
	return 0;
}

void
tcpx_loop_poller_close(struct tcpx_poller *p)
{
	tcpx_chain_each(n, after, &p->watches)
		tcpx_chain_remove(n);
	p->net->live--;
	free(p);
}

int
tcpx_watch_set(struct loop_watch *w, struct tcpx_poller *p, void *owner, unsigned interest)
{
	w->owner = owner;
	w->interest = interest;
	if (!tcpx_node_linked(&w->node))
		tcpx_chain_add(&p->watches, &w->node);
	return 0;
}

int
tcpx_loop_poller_wait(struct tcpx_poller *p, struct tcpx_net_event *events, int max,
		      int64_t timeout_ns)
{
	struct tcpx_node *head = &p->watches;
	uint64_t count = 0, start;
	int found = 0;

	if (p->net->promises)
		(void)tcpx_fabric_blame(p->net->fabric, "wait: %u channels owe the message said "
					"to follow at once", p->net->promises);
	for (struct tcpx_node *n = head->next; n != head; n = n->next)
		count++;
	start = tcpx_rng_below(&p->net->fabric->rng, count);
	/* The list turns: the head moves behind the first of this round. */
	for (; start > 0; start--) {
		struct tcpx_node *first = head->next;

		tcpx_chain_remove(first);
		tcpx_chain_add(head, first);
	}
	for (struct tcpx_node *n = head->next; n != head && found < max; n = n->next) {
		struct loop_watch *w = tcpx_container(n, struct loop_watch, node);
		unsigned ready = w->ready(w);

		if (ready)
			events[found++] = (struct tcpx_net_event){ w->owner, ready };
	}
	return found;
}

void
tcpx_loop_poller_wake(struct tcpx_poller *p)
{
	(void)p; /* nobody sleeps */
}
