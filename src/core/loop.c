/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of an I/O loop: work asked for by other threads, what the poller reports, and
 * deadlines. Whoever holds the lease runs it; a source closed during a turn stays in
 * memory until the turn's events are through.
 */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

static void stirred(struct work *w, uint64_t now_ns);

int
tcpx_loop_init(struct loop *l, struct tcpx_engine *e, uint32_t index)
{
	int rc;

	l->engine = e;
	l->index = index;
	l->timer_ns = l->look_ns = l->wake_ns = UINT64_MAX;
	tcpx_node_init(&l->work);
	tcpx_node_init(&l->sessions);
	tcpx_node_init(&l->guests);
	tcpx_node_init(&l->graves);
	tcpx_node_init(&l->unsaid);
	l->stir.run = stirred;
	tcpx_batches_init(&l->batches);
	pthread_mutex_init(&l->lease, NULL);
	tcpx_mutex_init(&l->work_lock);
	rc = e->ops->poller_open(e->net, &l->poller);
	if (rc == 0) {
		rc = tcpx_batches_open_host(l);
		if (rc)
			tcpx_loop_fini(l);
		return rc;
	}
	pthread_mutex_destroy(&l->lease);
	pthread_mutex_destroy(&l->work_lock);
	return rc;
}

static void
bury_all(struct loop *l)
{
	tcpx_chain_each(n, after, &l->graves) {
		struct grave *g = tcpx_container(n, struct grave, node);

		tcpx_chain_remove(n);
		g->bury(g);
	}
}

void
tcpx_loop_bury(struct loop *l, struct grave *g, void (*bury)(struct grave *g))
{
	g->bury = bury;
	tcpx_chain_add(&l->graves, &g->node);
}

void
tcpx_loop_fini(struct loop *l)
{
	if (!l->poller)
		return;
	tcpx_batches_fini(l);
	bury_all(l);
	l->engine->ops->poller_close(l->poller);
	l->poller = NULL;
	pthread_mutex_destroy(&l->lease);
	pthread_mutex_destroy(&l->work_lock);
}

bool
tcpx_loop_is_mine(const struct loop *l)
{
	return atomic_load_explicit(&l->stepping, memory_order_acquire) &&
	       pthread_equal(atomic_load_explicit(&l->stepper, memory_order_relaxed),
			     pthread_self());
}

void
tcpx_loop_wake(struct loop *l)
{
	if (tcpx_loop_is_mine(l))
		return;
	/* a runner that is awake sees the flag on its way to sleep: no system call */
	atomic_store(&l->poked, true);
	if (atomic_load(&l->asleep))
		l->engine->ops->poller_wake(l->poller);
}

void
tcpx_loop_post(struct loop *l, struct work *w)
{
	bool wake = false;

	pthread_mutex_lock(&l->work_lock);
	if (!w->queued) {
		w->queued = true;
		wake = true;
		tcpx_chain_add(&l->work, &w->node);
		atomic_store(&l->has_work, true);
	}
	pthread_mutex_unlock(&l->work_lock);
	if (wake)
		tcpx_loop_wake(l);
}

void
tcpx_loop_cancel(struct loop *l, struct work *w)
{
	pthread_mutex_lock(&l->work_lock);
	if (w->queued) {
		w->queued = false;
		tcpx_chain_remove(&w->node);
		atomic_store(&l->has_work, !tcpx_chain_empty(&l->work));
	}
	pthread_mutex_unlock(&l->work_lock);
}

void
tcpx_loop_timer(struct loop *l, uint64_t at_ns)
{
	if (at_ns < l->timer_ns)
		l->timer_ns = at_ns;
}

/* Callers' events are looked at by the loop of the control streams. */
static void
run_events(struct loop *l)
{
	if (l->index != 0 || !atomic_load(&l->engine->eventful))
		return;
	tcpx_chain_each(n, after, &l->sessions) {
		struct session *s = tcpx_container(n, struct session, in_loop);

		pthread_mutex_lock(&s->lock);
		tcpx_post_events(s);
		pthread_mutex_unlock(&s->lock);
	}
}

/* Each of those that sleep wakes those behind it in the tree; past one that is awake one goes
 * on by oneself. */
void
tcpx_loop_stir(struct loop *l, uint32_t end)
{
	uint32_t i;

	for (i = 2 * l->index + 1; i <= 2 * l->index + 2 && i < end; i++) {
		struct loop *next = &l->engine->loop[i];

		if (!atomic_load(&next->asleep)) {
			tcpx_loop_stir(next, end);
			continue;
		}
		atomic_store(&next->stir_end, end);
		tcpx_loop_post(next, &next->stir);
	}
}

static void
stirred(struct work *w, uint64_t now_ns)
{
	struct loop *l = tcpx_container(w, struct loop, stir);

	tcpx_batches_heat(l, now_ns);
	tcpx_loop_stir(l, atomic_load(&l->stir_end));
}

static struct work *
next_work(struct loop *l)
{
	struct tcpx_node *n;
	struct work *w = NULL;

	pthread_mutex_lock(&l->work_lock);
	n = tcpx_chain_first(&l->work);
	if (n) {
		w = tcpx_container(n, struct work, node);
		tcpx_chain_remove(n);
		w->queued = false;
	}
	atomic_store(&l->has_work, !tcpx_chain_empty(&l->work));
	pthread_mutex_unlock(&l->work_lock);
	return w;
}

/* Runs what was queued when the turn began; work that asks for itself again (a channel
 * with more chunks) waits for the next turn, so that every source gets its share. */
static bool
run_work(struct loop *l, uint64_t now_ns)
{
	struct tcpx_node *last, *n;
	struct work *w;
	bool any = false;

	if (!atomic_load(&l->has_work))
		return false;
	pthread_mutex_lock(&l->work_lock);
	last = tcpx_chain_empty(&l->work) ? NULL : l->work.prev;
	pthread_mutex_unlock(&l->work_lock);
	while (last && (w = next_work(l))) {
		n = &w->node;
		any = true;
		w->run(w, now_ns);
		if (n == last)
			break;
	}
	return any;
}

static bool
run_timers(struct loop *l, uint64_t now_ns)
{
	if (now_ns < l->timer_ns)
		return false;
	l->timer_ns = UINT64_MAX;
	tcpx_guest_timer(l, now_ns);
	tcpx_chain_each(n, after, &l->sessions) {
		struct session *s = tcpx_container(n, struct session, in_loop);

		pthread_mutex_lock(&s->lock);
		tcpx_session_timer(s, now_ns);
		pthread_mutex_unlock(&s->lock);
		if (atomic_load(&s->state) == SESS_FAILED)
			tcpx_session_reap(s);
	}
	tcpx_staging_timer(l, now_ns);
	if (l->index == 0)
		tcpx_peer_linger(l->engine, now_ns);
	return true;
}

/* Answers to frames wait until here: what the application sends on the news (a reply to a
 * note, say) goes out first, and takes the answers along. */
static void
say(struct loop *l)
{
	tcpx_chain_each(n, after, &l->unsaid) {
		struct session *s = tcpx_container(n, struct session, unsaid);

		tcpx_chain_remove(n);
		if (!atomic_load_explicit(&s->owes, memory_order_relaxed))
			continue;
		pthread_mutex_lock(&s->lock);
		tcpx_control_flush(s);
		pthread_mutex_unlock(&s->lock);
	}
}

void
tcpx_loop_step(struct loop *l, int64_t timeout_ns)
{
	const struct tcpx_net_ops *ops = l->engine->ops;
	struct tcpx_event ev[CORE_EVENTS];
	uint64_t now_ns = engine_now(l->engine);
	int64_t device_ns;
	bool ran;
	int i, n;

	ran = run_work(l, now_ns);
	ran |= run_timers(l, now_ns);
	run_events(l);
	tcpx_batches_launch(l);
	say(l);
	/* a borrower looks whether that was what it waits for before it sleeps */
	if (atomic_load(&l->has_work) || (ran && atomic_load(&l->holder) == LEASE_APP))
		timeout_ns = 0;
	else if (l->timer_ns != UINT64_MAX &&
		 (timeout_ns < 0 || l->timer_ns < now_ns + (uint64_t)timeout_ns))
		timeout_ns = l->timer_ns > now_ns ? (int64_t)(l->timer_ns - now_ns) : 0;
	device_ns = tcpx_batches_timeout(l, now_ns);
	if (device_ns >= 0 && (timeout_ns < 0 || timeout_ns > device_ns))
		timeout_ns = device_ns;

	atomic_store(&l->asleep, timeout_ns != 0);
	if (atomic_load(&l->poked) && atomic_exchange(&l->poked, false))
		timeout_ns = 0;
	n = ops->poller_wait(l->poller, ev, CORE_EVENTS, tcpx_lease_sleep(l, now_ns, timeout_ns));
	tcpx_lease_slept(l);
	atomic_store_explicit(&l->asleep, false, memory_order_release);
	l->now_ns = now_ns = engine_now(l->engine);
	for (i = 0; i < n; i++) {
		struct source *src = ev[i].owner;

		if (src->on_ready)
			src->on_ready(src, ev[i].ready, now_ns);
	}
	tcpx_batches_launch(l);
	tcpx_batches_poll(l, now_ns);
	if (!tcpx_chain_empty(&l->graves))
		bury_all(l);
}
