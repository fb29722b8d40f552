/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory/flight.h"

#include <errno.h>

#include "base/clock.h"
#include "core/memory/late.h"
#include "core/memory/payload.h"
#include "core/memory/staging.h"

#define LATE_POLL_NS (100 * TCPX_MS) /* a device that is late */
#define WAIT_NS      TCPX_MS         /* with the lock held    */

/* The batch no longer touches any memory. */
static void
uncount(struct copy_batch *b)
{
	uint32_t i;

	for (i = 0; i < b->item_count; i++)
		if (b->item[i].payload) {
			atomic_fetch_sub(&b->item[i].payload->batched, 1);
			b->item[i].payload = NULL;
		}
}

static void
done(struct loop *l, struct copy_batch *b, int rc)
{
	b->error = rc;
	b->finished = true;
	uncount(b);
	tcpx_late_moved(flight_watch(l, b), engine_now(l->engine));
}

/* The device has not finished @b yet. If it is late, all that it has in flight in that direction
 * is given up. */
static void
look(struct loop *l, const struct copy_batch *b)
{
	enum tcpx_flow flow = b->flow;
	int place = b->place;

	if (place == TCPX_ON_HOST ||
	    !tcpx_late_look(flight_watch(l, b), tcpx_late_patience(l->engine), engine_now(l->engine)))
		return;
	tcpx_chain_each(n, after, &l->batches->flying) {
		struct copy_batch *o = tcpx_container(n, struct copy_batch, node);

		if (o->finished || o->flow != flow || o->place != place)
			continue;
		o->late = true;
		for (uint32_t i = 0; i < o->item_count; i++)
			atomic_fetch_or(&o->item[i].client->late, 1u << place);
		tcpx_late_count(l->engine, flow, place, 1);
		done(l, o, -EIO);
	}
}

/* What the device answers about it. */
static bool
seen(struct loop *l, struct copy_batch *b, int rc)
{
	if (rc == -EAGAIN)
		look(l, b);
	else
		done(l, b, rc);
	return b->finished;
}

bool
tcpx_flight_finish(struct loop *l, struct copy_batch *b)
{
	if (b->finished)
		return true;
	return seen(l, b, flight_ops(l, b)->finish(flight_queue(l, b), b->ticket, WAIT_NS));
}

struct copy_batch *
tcpx_flight_before(struct loop *l, const struct copy_batch *b)
{
	tcpx_chain_each(n, after, &l->batches->flying) {
		struct copy_batch *o = tcpx_container(n, struct copy_batch, node);

		if (o->flow == b->flow && o->place == b->place && !o->finished)
			return o;
	}
	return NULL;
}

void
tcpx_flight_begin(struct loop *l, struct copy_batch *b, int rc)
{
	b->error = rc;
	b->finished = rc != 0;
	if (rc)
		uncount(b);
	else
		count_add(&l->engine->memory->copied[b->flow][b->place + 1], b->bytes);
	l->batches->flying_bytes += b->bytes;
	tcpx_chain_add(&l->batches->flying, &b->node);
	l->copies.flying++;
}

static bool
over(struct loop *l, struct copy_batch *b)
{
	if (b->finished)
		return true;
	return seen(l, b, flight_ops(l, b)->poll(flight_queue(l, b), b->ticket));
}

struct copy_batch *
tcpx_flight_take(struct loop *l)
{
	struct copy_batch *found = NULL;

	pthread_mutex_lock(&l->batches->lock);
	tcpx_chain_each(n, after, &l->batches->flying) {
		struct copy_batch *b = tcpx_container(n, struct copy_batch, node);

		if (!over(l, b))
			continue;
		tcpx_chain_remove(n);
		l->copies.flying--;
		l->batches->flying_bytes -= b->bytes;
		found = b;
		break;
	}
	pthread_mutex_unlock(&l->batches->lock);
	return found;
}

void
tcpx_flight_end(struct loop *l, struct copy_batch *b, uint64_t now_ns)
{
	if (b->late) {
		tcpx_staging_wake_all(l, b->flow);
		tcpx_loop_timer(l, now_ns + LATE_POLL_NS);
	}
	pthread_mutex_lock(&l->batches->lock);
	tcpx_chain_add(b->late ? &l->batches->late : &l->batches->spare, &b->node);
	pthread_mutex_unlock(&l->batches->lock);
}

void
tcpx_flight_timer(struct loop *l, uint64_t now_ns)
{
	if (tcpx_chain_empty(&l->batches->late))
		return;
	pthread_mutex_lock(&l->batches->lock);
	tcpx_chain_each(n, after, &l->batches->late) {
		struct copy_batch *b = tcpx_container(n, struct copy_batch, node);

		if (flight_ops(l, b)->poll(flight_queue(l, b), b->ticket) == -EAGAIN)
			continue;
		tcpx_chain_remove(n);
		tcpx_chain_add(&l->batches->spare, n);
		tcpx_late_count(l->engine, b->flow, b->place, -1);
	}
	if (!tcpx_chain_empty(&l->batches->late))
		tcpx_loop_timer(l, now_ns + LATE_POLL_NS);
	pthread_mutex_unlock(&l->batches->lock);
}
