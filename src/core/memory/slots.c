/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory/slots.h"

#include <stdlib.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/memory/flight.h"
#include "core/memory/late.h"
#include "core/memory/memory.h"
#include "core/memory/staging.h"

/* Clients that wait look again after this. */
#define AGAIN_NS (100 * TCPX_MS)

struct left_chan {
	struct left_chan *next;
	struct tcpx_chan *chan;
};

bool
tcpx_slots_wait(struct copy_client *c)
{
	bool begins = !tcpx_node_linked(&c->waiting);

	if (begins) {
		tcpx_chain_add(&c->loop->batches->waiters, &c->waiting);
		tcpx_loop_timer(c->loop, engine_now(c->loop->engine) + AGAIN_NS); /* other loops may be late, too */
	}
	return begins;
}

void
tcpx_slots_close(struct copy_client *c, struct tcpx_chan *chan)
{
	const struct tcpx_net_ops *ops = c->loop->engine->ops;
	struct batches *b = c->loop->batches;
	bool late = ops->comm && tcpx_late_reaches(c, TCPX_ON_HOST);
	struct left_chan *left;

	atomic_store(&c->late, 0);
	if (!late) {
		ops->chan_close(chan);
		return;
	}
	(void)ops->chan_watch(chan, c->loop->poller, &b->nobody, 0);
	left = malloc(sizeof(*left));
	if (!left) {
		c->loop->engine->memory->slots_left = true;
		tcpx_warn(TCPX_SUB_DEV, "no memory: a channel that a late GPU may reach is left to it");
		return;
	}
	*left = (struct left_chan){ b->left, chan };
	b->left = left;
	tcpx_loop_timer(c->loop, engine_now(c->loop->engine));
}

void
tcpx_slots_timer(struct loop *l)
{
	struct batches *b = l->batches;
	struct left_chan *left;

	if (!tcpx_chain_empty(&b->late))
		return;
	while ((left = b->left)) {
		b->left = left->next;
		l->engine->ops->chan_close(left->chan);
		free(left);
	}
	tcpx_chain_each(n, after, &b->waiters) {
		tcpx_chain_remove(n);
		tcpx_loop_post(l, tcpx_container(n, struct copy_client, waiting)->work);
	}
}

void
tcpx_slots_fini(struct loop *l)
{
	struct left_chan *left;

	tcpx_flight_timer(l, engine_now(l->engine));
	tcpx_slots_timer(l);
	while ((left = l->batches->left)) {
		l->batches->left = left->next;
		free(left);
		l->engine->memory->slots_left = true;
	}
}
