/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of device copies. All copies of a loop for one place and direction, on all its
 * channels, are one copy list and one launch. A batch first counts itself in a transfer
 * and then reads live; the end of a transfer does the reverse. So no copy of an ended
 * transfer is launched.
 */
#include "core/memory/batch.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/flight.h"
#include "core/memory/gpu.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/memory/slots.h"
#include "core/memory/spans.h"
#include "core/memory/staging.h"
#include "core/memory/sums.h"

#define BATCH_SPANS 4096
#define ENOUGH_BYTES (256u << 10) /* a launch costs little beside this: no waiting for more */

/* How a loop waits for a GPU. With little data a thread waits for each message, so the loop
 * spins, and stays awake a while for the next one. With much data it sleeps, since others
 * can use the CPU. */
#define LITTLE_BYTES (1u << 20)
#define POLL_NS      20000

static void
init(struct batches *b)
{
	int f, z;

	tcpx_mutex_init(&b->lock);
	tcpx_node_init(&b->flying);
	tcpx_node_init(&b->late);
	tcpx_node_init(&b->waiters);
	tcpx_node_init(&b->spare);
	for (f = 0; f < TCPX_FLOWS; f++)
		for (z = 0; z < STAGING_SIZES; z++) {
			tcpx_node_init(&b->pool[f][z].waiters);
			b->pool[f][z].flow = (enum tcpx_flow)f;
			b->pool[f][z].large = z == STAGING_LARGE;
		}
}

int
tcpx_batches_open(struct loop *l)
{
	const struct tcpx_device_ops *ops = l->engine->memory->host_ops;
	struct tcpx_queue **host;
	int f, rc = 0;

	l->batches = &l->engine->memory->batches[l->index];
	init(l->batches);
	for (f = 0; f < TCPX_FLOWS && rc == 0; f++) {
		host = &l->batches->queue[f][TCPX_ON_HOST + 1];
		rc = ops->queue_open(l->engine->memory->host, TCPX_ON_HOST, (enum tcpx_flow)f, host);
	}
	return rc;
}

static void
free_batch(struct copy_batch *b)
{
	if (!b)
		return;
	free(b->spans.at);
	free(b->sums.at);
	free(b);
}

void
tcpx_batches_fini(struct loop *l)
{
	struct batches *all = l->batches;
	int f, p;

	if (!all)
		return;
	tcpx_slots_fini(l);
	for (f = 0; f < TCPX_FLOWS; f++) {
		for (p = 0; p < CORE_PLACES; p++) {
			free_batch(all->filling[f][p]);
			all->filling[f][p] = NULL;
			if (all->queue[f][p] && !tcpx_late_is(l->engine, (enum tcpx_flow)f, p - 1))
				(p ? l->engine->memory->gpus.ops : l->engine->memory->host_ops)
					->queue_close(all->queue[f][p]);
			all->queue[f][p] = NULL;
		}
	}
	tcpx_chain_each(n, after, &all->spare) {
		tcpx_chain_remove(n);
		free_batch(tcpx_container(n, struct copy_batch, node));
	}
	tcpx_chain_each(m, after2, &all->late) {
		tcpx_chain_remove(m);
		free_batch(tcpx_container(m, struct copy_batch, node));
	}
	pthread_mutex_destroy(&all->lock);
}

/* ---- filling ---- */

static struct copy_batch *
filling(struct loop *l, enum tcpx_flow flow, int place)
{
	struct copy_batch **at = &l->batches->filling[flow][place + 1], *b;
	struct tcpx_node *n;

	if (*at)
		return *at;
	n = tcpx_chain_first(&l->batches->spare);
	if (n) {
		tcpx_chain_remove(n);
		b = tcpx_container(n, struct copy_batch, node);
	} else {
		b = calloc(1, sizeof(*b));
		if (!b)
			return NULL;
		tcpx_node_init(&b->node);
	}
	b->flow = flow;
	b->place = place;
	b->finished = b->late = false;
	b->error = 0;
	b->bytes = b->item_count = b->spans.count = b->copied = b->sums.count = 0;
	*at = b;
	return b;
}

static void launch(struct loop *l, struct copy_batch *b);

/* lock held. */
static int
add(struct copy_client *c, enum tcpx_flow flow, int place, uint64_t seq, struct payload *payload,
    uint64_t id, const struct tcpx_fraglist *src, uint64_t src_off,
    const struct tcpx_fraglist *dst, uint64_t dst_off, uint64_t len)
{
	struct copy_batch *b = filling(c->loop, flow, place);
	struct batch_item *it;
	bool packs = flow == TCPX_FLOW_PACK;
	uint32_t spans, sums;
	int rc = 0;

	if (!b)
		return -ENOMEM;
	spans = b->spans.count;
	sums = b->sums.count;
	it = &b->item[b->item_count];
	*it = (struct batch_item){ .client = c, .seq = seq };
	if (payload) {
		atomic_fetch_add(&payload->batched, 1);
		if (atomic_load(&payload->live) == id)
			rc = tcpx_spans_add(&b->spans, src, src_off, dst, dst_off, len);
		if (rc == 0 && c->sums)
			rc = tcpx_sums_add(&b->sums, b->item_count, packs ? dst : src,
					   packs ? dst_off : src_off, len);
		if (rc || atomic_load(&payload->live) != id) {
			b->spans.count = spans;
			b->sums.count = sums;
			atomic_fetch_sub(&payload->batched, 1);
		} else {
			it->payload = payload;
			it->summed = c->sums;
			b->bytes += len;
		}
	}
	if (rc)
		return rc;
	b->item_count++;
	c->loop->copies.waiting++;
	if (b->item_count == BATCH_ITEMS || b->spans.count >= BATCH_SPANS ||
	    b->bytes >= ENOUGH_BYTES)
		launch(c->loop, b);
	return 0;
}

int
tcpx_batch_add(struct copy_client *c, enum tcpx_flow flow, int place, uint64_t seq,
	       struct payload *payload, uint64_t id, const struct tcpx_fraglist *src,
	       uint64_t src_off, const struct tcpx_fraglist *dst, uint64_t dst_off, uint64_t len)
{
	pthread_mutex_t *lock = &c->loop->batches->lock;
	int rc;

	pthread_mutex_lock(lock);
	rc = add(c, flow, place, seq, payload, id, src, src_off, dst, dst_off, len);
	pthread_mutex_unlock(lock);
	return rc;
}

/* ---- launching ---- */

static int
start(struct loop *l, struct copy_batch *b)
{
	uint32_t more = b->spans.count - b->copied;
	int rc = !b->copied && tcpx_late_marked(l->engine, b->place) ? -EIO : 0;

	if (rc == 0 && (more || !b->copied))
		rc = flight_ops(l, b)->copy(flight_queue(l, b), b->spans.at + b->copied, more, &b->ticket);
	if (rc || !b->sums.count)
		return rc;
	b->copied += more;
	return flight_ops(l, b)->sum(flight_queue(l, b), b->sums.at, b->sums.count, b->sums.sum, &b->ticket);
}

static void
launch(struct loop *l, struct copy_batch *b)
{
	struct copy_batch *first = tcpx_flight_before(l, b);
	int rc;

	if (!first)
		tcpx_late_moved(flight_watch(l, b), engine_now(l->engine));
	rc = start(l, b);
	if (rc == -EAGAIN && b->item_count < BATCH_ITEMS && b->spans.count < BATCH_SPANS)
		return; /* no room on the device: the batch goes with the next turn's */
	while (rc == -EAGAIN) {
		first = tcpx_flight_before(l, b);
		if (first)
			(void)tcpx_flight_finish(l, first);
		rc = start(l, b);
	}
	tcpx_flight_begin(l, b, rc);
	l->batches->filling[b->flow][b->place + 1] = NULL;
	l->copies.waiting -= b->item_count;
}

/* lock held. */
static void
launch_all(struct loop *l)
{
	int f, p;

	for (f = 0; f < TCPX_FLOWS; f++)
		for (p = 0; p < CORE_PLACES; p++)
			if (l->batches->filling[f][p] && l->batches->filling[f][p]->item_count)
				launch(l, l->batches->filling[f][p]);
}

void
tcpx_batches_launch(struct loop *l)
{
	if (!l->copies.waiting)
		return;
	pthread_mutex_lock(&l->batches->lock);
	launch_all(l);
	pthread_mutex_unlock(&l->batches->lock);
}

/* lock held. False: a device needs longer. */
static bool
finish_all(struct loop *l)
{
	do {
		launch_all(l); /* a batch without room goes when the others are done */
		tcpx_chain_each(n, after, &l->batches->flying)
			if (!tcpx_flight_finish(l, tcpx_container(n, struct copy_batch, node)))
				return false;
	} while (l->copies.waiting);
	return true;
}

void
tcpx_batches_finish(struct loop *l)
{
	pthread_mutex_lock(&l->batches->lock);
	while (!finish_all(l)) { /* the loop may go on between two looks */
		pthread_mutex_unlock(&l->batches->lock);
		sched_yield();
		pthread_mutex_lock(&l->batches->lock);
	}
	pthread_mutex_unlock(&l->batches->lock);
}

void
tcpx_batches_poll(struct loop *l, uint64_t now_ns)
{
	const struct copy_calls *up = l->engine->up.copy;
	struct copy_batch *b;
	uint32_t i;

	/* a completion may close a channel, which finishes and reports the others */
	while (l->copies.flying && (b = tcpx_flight_take(l))) {
		now_ns = engine_now(l->engine); /* it may have landed after this pass began */
		if (b->place != TCPX_ON_HOST && b->bytes <= LITTLE_BYTES)
			loop_stay_awake(l, now_ns);
		for (i = 0; i < b->item_count; i++) {
			struct batch_item *it = &b->item[i];

			it->client->summed = it->summed;
			it->client->sum = b->sums.sum[i];
			if (b->flow == TCPX_FLOW_PACK)
				up->packed(it->client, it->seq, b->error);
			else
				up->unpacked(it->client, it->seq, b->error, now_ns);
		}
		for (i = 0; i < b->item_count && b->flow == TCPX_FLOW_UNPACK; i++)
			up->unpacked_all(b->item[i].client);
		tcpx_flight_end(l, b, now_ns);
	}
}

int64_t
tcpx_batches_timeout(const struct loop *l, uint64_t now_ns)
{
	bool busy = l->copies.waiting || l->copies.flying;
	bool events = l->index == 0 && atomic_load(&l->engine->registry.after_event);

	if (l->engine->limit.spin_ns && l->batches->flying_bytes <= LITTLE_BYTES &&
	    (busy || now_ns < l->awake_until_ns))
		return 0;
	return busy || events ? POLL_NS : -1;
}
