/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of an I/O loop: work queued by other threads, poller events, and deadlines. The
 * lease holder runs it. What is about sessions comes first: chunks take a turn's time, and a peer waits
 * for each answer. A source closed during a turn stays in memory until the turn's
 * events are handled.
 */
#include "core/loop/loop.h"

#include "base/mutex.h"
#include "base/sigpipe.h"
#include "core/context/context.h"

#define LATE_NS TCPX_SEC       /* the process, or its machine, stood still               */
#define SOON_NS (20 * TCPX_MS) /* a borrower that sleeps for less sets its own timer */

static void woken(struct work *w, uint64_t now_ns);

int
tcpx_loop_init(struct loop *l, struct tcpx_engine *e, uint32_t index)
{
	int rc;

	l->engine = e;
	l->index = index;
	l->timer_ns = l->lease.look_ns = l->lease.wake_ns = UINT64_MAX;
	tcpx_node_init(&l->queue.works);
	tcpx_node_init(&l->queue.ahead);
	tcpx_node_init(&l->deferred);
	l->below.work.run = woken;
	pthread_mutex_init(&l->lease.lock, NULL);
	tcpx_mutex_init(&l->queue.lock);
	rc = e->ops->poller_open(e->net, &l->poller);
	if (rc) {
		pthread_mutex_destroy(&l->lease.lock);
		pthread_mutex_destroy(&l->queue.lock);
	}
	return rc;
}

static void
free_deferred(struct loop *l)
{
	tcpx_chain_each(n, after, &l->deferred) {
		struct deferred *g = tcpx_container(n, struct deferred, node);

		tcpx_chain_remove(n);
		g->free_it(g);
	}
}

void
tcpx_loop_defer_free(struct loop *l, struct deferred *g, void (*free_it)(struct deferred *g))
{
	g->free_it = free_it;
	tcpx_chain_add(&l->deferred, &g->node);
}

void
tcpx_loop_fini(struct loop *l)
{
	if (!l->poller)
		return;
	free_deferred(l);
	l->engine->ops->poller_close(l->poller);
	l->poller = NULL;
	pthread_mutex_destroy(&l->lease.lock);
	pthread_mutex_destroy(&l->queue.lock);
}

bool
tcpx_loop_is_mine(const struct loop *l)
{
	return atomic_load_explicit(&l->lease.stepping, memory_order_acquire) &&
	       pthread_equal(atomic_load_explicit(&l->lease.stepper, memory_order_relaxed),
			     pthread_self());
}

void
tcpx_loop_wake(struct loop *l)
{
	if (tcpx_loop_is_mine(l))
		return;
	/* an awake runner sees the flag before it sleeps: no system call */
	atomic_store(&l->wake_asked, true);
	if (atomic_load(&l->asleep))
		l->engine->ops->poller_wake(l->poller);
}

/* queue.lock held */
static void
queue_changed(struct work_queue *q)
{
	atomic_store(&q->any, !tcpx_chain_empty(&q->works));
	atomic_store(&q->any_ahead, !tcpx_chain_empty(&q->ahead));
}

void
tcpx_loop_post(struct loop *l, struct work *w)
{
	bool wake = false;

	pthread_mutex_lock(&l->queue.lock);
	if (!w->queued) {
		w->queued = true;
		wake = true;
		tcpx_chain_add(w->ahead ? &l->queue.ahead : &l->queue.works, &w->node);
		queue_changed(&l->queue);
	}
	pthread_mutex_unlock(&l->queue.lock);
	if (wake)
		tcpx_loop_wake(l);
}

void
tcpx_loop_cancel(struct loop *l, struct work *w)
{
	pthread_mutex_lock(&l->queue.lock);
	if (w->queued) {
		w->queued = false;
		tcpx_chain_remove(&w->node);
		queue_changed(&l->queue);
	}
	pthread_mutex_unlock(&l->queue.lock);
}

void
tcpx_loop_timer(struct loop *l, uint64_t at_ns)
{
	if (at_ns < l->timer_ns)
		l->timer_ns = at_ns;
}

/* Wakes loops as a binary tree: a sleeping loop wakes its own children; this walk descends
 * past loops that are awake. */
void
tcpx_loop_wake_below(struct loop *l, uint32_t end)
{
	uint32_t i;

	for (i = 2 * l->index + 1; i <= 2 * l->index + 2 && i < end; i++) {
		struct loop *next = &l->engine->loop[i];

		if (!atomic_load(&next->asleep)) {
			tcpx_loop_wake_below(next, end);
			continue;
		}
		atomic_store(&next->below.end, end);
		tcpx_loop_post(next, &next->below.work);
	}
}

static void
woken(struct work *w, uint64_t now_ns)
{
	struct loop *l = tcpx_container(w, struct loop, below.work);

	loop_stay_awake(l, now_ns);
	tcpx_loop_wake_below(l, atomic_load(&l->below.end));
}

/* The next work before @end, which is taken out when it is reached: NULL. */
static struct work *
next_work(struct loop *l, struct tcpx_node *works, struct tcpx_node *end)
{
	struct tcpx_node *n;
	struct work *w = NULL;

	pthread_mutex_lock(&l->queue.lock);
	n = tcpx_chain_first(works);
	tcpx_chain_remove(n);
	if (n != end) {
		w = tcpx_container(n, struct work, node);
		w->queued = false;
	}
	queue_changed(&l->queue);
	pthread_mutex_unlock(&l->queue.lock);
	return w;
}

/* Runs the work of a kind that is queued by now. Work that queues itself again (a channel with
 * more chunks) waits for the next time, so that every source gets its share. A node of its own
 * marks the end: any work may be cancelled meanwhile. */
static bool
run_work(struct loop *l, bool ahead, uint64_t now_ns)
{
	struct tcpx_node end, *works = ahead ? &l->queue.ahead : &l->queue.works;
	struct work *w;
	bool any = false;

	if (!atomic_load(ahead ? &l->queue.any_ahead : &l->queue.any))
		return false;
	pthread_mutex_lock(&l->queue.lock);
	tcpx_chain_add(works, &end);
	pthread_mutex_unlock(&l->queue.lock);
	while ((w = next_work(l, works, &end))) {
		any = true;
		w->run(w, now_ns);
	}
	return any;
}

/* True: there were some. */
static bool
run_events(const struct tcpx_net_event *ev, int count, bool ahead, uint64_t now_ns)
{
	bool any = false;

	for (int i = 0; i < count; i++) {
		struct source *src = ev[i].owner;

		if (src->ahead == ahead && src->on_ready) {
			src->on_ready(src, ev[i].ready, now_ns);
			any = true;
		}
	}
	return any;
}

/* Time in which nothing ran is nobody's fault: all deadlines move by it, before anything sets one
 * or judges by one. */
static void
look_at_clock(struct loop *l, uint64_t now_ns)
{
	uint64_t due_ns = l->timer_ns > l->seen_ns ? l->timer_ns : l->seen_ns;

	l->now_ns = l->seen_ns = now_ns;
	if (now_ns > due_ns && now_ns - due_ns > LATE_NS)
		l->engine->up.loop->late(l, &(struct pause){ now_ns - due_ns, now_ns });
}

/* After the turn's events, so that nobody is missed whose bytes were here already. */
static void
run_timers(struct loop *l, uint64_t now_ns)
{
	if (now_ns < l->timer_ns)
		return;
	l->timer_ns = UINT64_MAX;
	l->engine->up.loop->timers(l, now_ns);
}

/* Callers' events to look at, or frames to flush: loop 0 has them. */
static bool
has_control_work(const struct loop *l)
{
	struct registry *r = &l->engine->registry;

	return l->index == 0 && (!tcpx_chain_empty(&r->to_flush) ||
				 atomic_load_explicit(&r->after_event, memory_order_relaxed));
}

static bool
has_copies(const struct loop *l)
{
	return atomic_load_explicit(&l->copies.waiting, memory_order_relaxed) ||
	       atomic_load_explicit(&l->copies.flying, memory_order_relaxed);
}

/* The log's summary has no other moment than a turn. */
static int64_t
tell_left_out(const struct loop *l, int64_t timeout_ns)
{
	if (l->index != 0 || l->engine->manual || !tcpx_log_owes())
		return timeout_ns;
	tcpx_log_tell();
	return timeout_ns < 0 || timeout_ns > (int64_t)TCPX_SEC ? (int64_t)TCPX_SEC : timeout_ns;
}

/* How long the poller may sleep. A borrower's own timer costs 5 % of half a round trip. So it publishes when it
 * wants to be woken, and sleeps without limit if the I/O thread will look in time. */
static int64_t
sleep_of(struct loop *l, uint64_t now_ns, int64_t timeout_ns)
{
	uint64_t wake_ns = now_ns + (uint64_t)timeout_ns;

	if (timeout_ns < (int64_t)SOON_NS || atomic_load(&l->lease.holder) != LEASE_APP)
		return timeout_ns;
	atomic_store(&l->lease.wake_ns, wake_ns);
	return atomic_load(&l->lease.look_ns) <= wake_ns ? -1 : timeout_ns;
}

void
tcpx_loop_turn(struct loop *l, int64_t timeout_ns)
{
	const struct loop_calls *up = l->engine->up.loop;
	struct tcpx_net_event ev[CORE_EVENTS];
	uint64_t now_ns = engine_now(l->engine);
	int64_t limit_ns;
	bool ran;
	int n;

	look_at_clock(l, now_ns);
	ran = run_work(l, true, now_ns);
	ran |= run_work(l, false, now_ns);
	if (has_control_work(l) || has_copies(l))
		up->before_sleep(l);
	/* a borrower checks its condition before it sleeps */
	if (atomic_load(&l->queue.any) || atomic_load(&l->queue.any_ahead) ||
	    (ran && atomic_load(&l->lease.holder) == LEASE_APP))
		timeout_ns = 0;
	else if (l->timer_ns != UINT64_MAX &&
		 (timeout_ns < 0 || l->timer_ns < now_ns + (uint64_t)timeout_ns))
		timeout_ns = l->timer_ns > now_ns ? (int64_t)(l->timer_ns - now_ns) : 0;
	limit_ns = -1;
	if (has_control_work(l) || has_copies(l) || now_ns < l->awake_until_ns)
		limit_ns = up->sleep_limit(l, now_ns);
	if (limit_ns >= 0 && (timeout_ns < 0 || timeout_ns > limit_ns))
		timeout_ns = limit_ns;

	timeout_ns = tell_left_out(l, timeout_ns);

	atomic_store(&l->asleep, timeout_ns != 0);
	if (atomic_load(&l->wake_asked) && atomic_exchange(&l->wake_asked, false))
		timeout_ns = 0;
	n = l->engine->ops->poller_wait(l->poller, ev, CORE_EVENTS,
					sleep_of(l, now_ns, timeout_ns));
	atomic_store_explicit(&l->lease.wake_ns, UINT64_MAX, memory_order_release);
	atomic_store_explicit(&l->asleep, false, memory_order_release);
	now_ns = engine_now(l->engine);
	look_at_clock(l, now_ns);
	(void)run_events(ev, n, true, now_ns);
	run_work(l, true, now_ns);
	atomic_store_explicit(&l->lease.carries, run_events(ev, n, false, now_ns),
			      memory_order_relaxed);
	if (has_copies(l))
		up->after_events(l, now_ns);
	run_timers(l, now_ns);
	if (!tcpx_chain_empty(&l->deferred))
		free_deferred(l);
}

void
tcpx_loop_step(struct loop *l, int64_t timeout_ns)
{
	bool quiet = l->engine->facts.raises_sigpipe;
	struct tcpx_sigpipe sigpipe;

	if (quiet)
		tcpx_sigpipe_hold(&sigpipe);
	tcpx_loop_turn(l, timeout_ns);
	if (quiet)
		tcpx_sigpipe_release(&sigpipe, true);
}
