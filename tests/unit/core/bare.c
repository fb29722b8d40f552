/* SPDX-License-Identifier: Apache-2.0 */
/* An engine without sockets, threads or devices. See bare.h. */
#include "bare.h"

#include <stdlib.h>

#include <errno.h>

#include "base/mutex.h"
#include "core/channel/channel.h"
#include "core/memory/list.h"
#include "core/session/peer.h"

static uint64_t
bare_now(void *arg)
{
	return ((struct bare *)arg)->now_ns;
}

void
bare_open(struct bare *b, bool opener)
{
	struct tcpx_engine *e = &b->e;

	memset(b, 0, sizeof(*b));
	b->now_ns = TCPX_SEC;
	b->ops.name = "bare";
	e->clock = (struct tcpx_clock){ bare_now, b };
	e->ops = &b->ops;
	e->memory = &b->memory;
	e->pot = &b->pot;
	tcpx_kept_open(e);
	e->kept.yield = NULL;
	e->loop = b->loop;
	e->loop_count = BARE_LOOPS;
	e->nics.at[0].gpu = TCPX_ON_HOST;
	e->limit.connect_ns = e->limit.handshake_ns = e->limit.stall_ns = 10 * TCPX_SEC;
	tcpx_mutex_init(&e->registry.lock);
	assert_int_equal(tcpx_peers_init(&e->registry), 0);
	tcpx_node_init(&e->registry.sessions);
	tcpx_node_init(&e->registry.served);
	tcpx_node_init(&e->registry.to_flush);
	for (uint32_t i = 0; i < BARE_LOOPS; i++) {
		struct loop *l = &b->loop[i];

		l->engine = e;
		l->index = i;
		l->timer_ns = UINT64_MAX;
		tcpx_node_init(&l->queue.works);
		tcpx_node_init(&l->queue.ahead);
		tcpx_mutex_init(&l->queue.lock);
		l->lease.stepper = pthread_self();
		l->lease.stepping = true;
	}
	assert_int_equal(tcpx_session_new(e, opener, &b->s), 0);
	assert_int_equal(tcpx_peer_new(e, "peer", 1, &b->s->peer), 0);
	b->s->state = SESS_OPEN;
	b->s->chan.window = 4;
}

void
bare_close(struct bare *b)
{
	struct session *s = b->s;

	for (uint32_t i = 0; i < TCPX_CHANNELS_MAX; i++)
		for (int way = 0; way < 2; way++) {
			struct channel *c = way ? s->chan.tx[i] : s->chan.rx[i];

			if (!c)
				continue;
			tcpx_window_fini(&c->window);
			free(c->tx.record);
			free(c->rx.landing);
			free(c->rx.heads.at);
			free(c->wiring);
		}
	tcpx_chain_remove(&s->in_engine);
	tcpx_session_put(s);
	tcpx_session_put(s); /* the engine's */
	for (uint32_t i = 0; i < BARE_LOOPS; i++)
		pthread_mutex_destroy(&b->loop[i].queue.lock);
	pthread_mutex_destroy(&b->e.registry.lock);
}

void
bare_end(struct bare *b)
{
	for (int i = 0; i < BARE_LOOPS; i++)
		(void)bare_works(&b->loop[i]);
	bare_close(b);
}

struct channel *
bare_channel(struct bare *b, uint16_t index)
{
	struct channel *c;

	assert_int_equal(tcpx_channel_new(b->s, index, true, !b->s->opener, &c), 0);
	free(c->wiring); /* it stands */
	c->wiring = NULL;
	c->state = CHAN_UP;
	b->s->chan.tx[index] = c;
	if (b->s->chan.count <= index)
		b->s->chan.count = index + 1u;
	b->s->chan.tx_up++;
	return c;
}

struct tcpx_xfer *
bare_xfer(struct bare *b, uint64_t id, uint64_t total, uint32_t chunk)
{
	struct tcpx_xfer *x;

	assert_int_equal(tcpx_xfer_new(&b->e, &x), 0);
	x->payload.list = tcpx_list_empty(&b->e, 0);
	assert_non_null(x->payload.list);
	x->id = id;
	x->sends = true;
	x->status = -EAGAIN;
	x->payload.live = id;
	tcpx_xfer_shape(x, total, chunk);
	return x;
}

uint32_t
bare_works(struct loop *l)
{
	uint32_t count = 0;

	tcpx_chain_each(n, after, &l->queue.works) {
		tcpx_loop_cancel(l, tcpx_container(n, struct work, node));
		count++;
	}
	tcpx_chain_each(n, after, &l->queue.ahead) {
		tcpx_loop_cancel(l, tcpx_container(n, struct work, node));
		count++;
	}
	return count;
}
