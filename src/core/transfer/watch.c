/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx_xfer_watch(): each end of a watched transfer is put in the engine's queue once. Who sees
 * both the end and the watch puts it there: the thread that ends it, or the one that watches.
 */
#include "core/transfer/watch.h"

#include <errno.h>

#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/queue.h"
#include "core/transfer/transfer.h"

void
tcpx_watch_observe(struct tcpx_xfer *x)
{
	if (!atomic_exchange(&x->waiters.observed, true))
		tcpx_event_drop(x->engine);
}

void
tcpx_watch_posted(struct tcpx_xfer *x)
{
	struct tcpx_engine *e = x->engine;

	if (!atomic_load(&x->watch.on)) {
		atomic_store(&x->watch.due, true);
		atomic_store_explicit(&x->status, -EAGAIN, memory_order_release);
		return;
	}
	/* a thread that still reports the last end sees all of this or nothing */
	pthread_mutex_lock(&e->events.lock);
	tcpx_queue_remove(e, &x->watch.entry);
	atomic_store(&x->watch.due, true);
	atomic_store(&x->status, -EAGAIN);
	pthread_mutex_unlock(&e->events.lock);
}

void
tcpx_watch_ended(struct tcpx_xfer *x)
{
	struct tcpx_engine *e = x->engine;
	bool put = false;
	int status;

	if (!atomic_load(&x->watch.on))
		return;
	pthread_mutex_lock(&e->events.lock);
	status = atomic_load(&x->status);
	if (status != -EAGAIN && atomic_load(&x->watch.on) &&
	    atomic_exchange(&x->watch.due, false)) {
		x->watch.entry.status = status;
		x->watch.entry.bytes = status == 0 ? x->total : atomic_load(&x->bytes_done);
		tcpx_queue_add(e, &x->watch.entry);
		put = true;
	}
	pthread_mutex_unlock(&e->events.lock);
	tcpx_watch_observe(x); /* the entry stands for it */
	if (put)
		tcpx_queue_wake(e);
}

void
tcpx_watch_forget(struct tcpx_xfer *x)
{
	if (!atomic_load(&x->watch.on))
		return;
	pthread_mutex_lock(&x->engine->events.lock);
	atomic_store(&x->watch.on, false);
	tcpx_queue_remove(x->engine, &x->watch.entry);
	pthread_mutex_unlock(&x->engine->events.lock);
}

void
tcpx_xfer_watch(tcpx_xfer *x, void *user)
{
	pthread_mutex_lock(&x->engine->events.lock);
	x->watch.entry.user = user;
	atomic_store(&x->watch.on, true);
	pthread_mutex_unlock(&x->engine->events.lock);
	if (atomic_load(&x->status) != -EAGAIN)
		tcpx_watch_ended(x);
}
