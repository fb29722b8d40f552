/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who runs a loop. Its I/O thread does, unless a waiting application thread borrows it:
 * then nothing is handed between threads. A returned loop stays lent for LEASE_NS, because
 * its borrower is likely to come back; one that was polled for POLL_NS. Nobody holds the
 * lease between calls: the first that locks a lent loop has it.
 */
#include "core/loop/lease.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "core/context/context.h"
#include "core/loop/affinity.h"
#include "core/loop/futex.h"
#include "core/loop/loop.h"

#define SLACK_NS 1000ul

static void
take(struct loop *l, enum lease_holder holder)
{
	atomic_store_explicit(&l->lease.holder, holder, memory_order_release);
	atomic_store_explicit(&l->lease.stepper, pthread_self(), memory_order_relaxed);
	atomic_store_explicit(&l->lease.stepping, true, memory_order_release);
}

static void
give(struct loop *l)
{
	atomic_store_explicit(&l->lease.stepping, false, memory_order_release);
	atomic_store_explicit(&l->lease.holder, LEASE_NONE, memory_order_release);
	pthread_mutex_unlock(&l->lease.lock);
}

/* The last borrower wakes an I/O thread that sleeps until the borrowers are gone. */
static void
leave(struct loop *l)
{
	if (atomic_fetch_sub(&l->lease.borrowers, 1) == 1 && atomic_load(&l->lease.park) == 1) {
		atomic_store(&l->lease.park, 0);
		tcpx_futex_wake(&l->lease.park, 1);
	}
}

static bool
borrow(struct loop *l)
{
	bool woken = false;

	if (l->engine->manual || tcpx_loop_is_mine(l))
		return false;
	atomic_fetch_add(&l->lease.borrowers, 1);
	while (pthread_mutex_trylock(&l->lease.lock) != 0) {
		if (atomic_load(&l->lease.holder) == LEASE_APP) {
			leave(l);
			return false;
		}
		/* The I/O thread gives way as soon as it sees a borrower. Another borrower
		 * may be faster and stay long, so this thread does not sleep on the mutex. */
		if (!woken)
			l->engine->ops->poller_wake(l->poller);
		woken = true;
		sched_yield();
	}
	take(l, LEASE_APP);
	count_add(&l->engine->count.lease_borrows, 1);
	return true;
}

/* The I/O thread leaves the loop alone for keep_ns from at_ns. Most calls change the time alone. */
static void
lend(struct loop *l, uint64_t at_ns, uint64_t keep_ns)
{
	if (atomic_load_explicit(&l->lease.keep_ns, memory_order_relaxed) != keep_ns)
		atomic_store(&l->lease.keep_ns, keep_ns);
	atomic_store_explicit(&l->lease.lent_ns, at_ns, memory_order_release);
}

static void
give_back(struct loop *l)
{
	lend(l, l->now_ns, LEASE_NS);
	give(l);
	leave(l);
}

bool
tcpx_lease_is_lent(const struct loop *l)
{
	return atomic_load_explicit(&l->lease.look_ns, memory_order_relaxed) != UINT64_MAX;
}

bool
tcpx_lease_is_due(const struct loop *l, bool by_others)
{
	bool carries = atomic_load_explicit(&l->lease.carries, memory_order_relaxed);

	return engine_now(l->engine) - atomic_load_explicit(&l->lease.lent_ns, memory_order_relaxed) >=
	       (by_others && !carries ? SELDOM_NS : DUE_NS);
}

/* Threads that count at the same time may lose a test. */
bool
tcpx_lease_spins(struct loop *l)
{
	struct lease *s = &l->lease;
	uint64_t now_ns = engine_now(l->engine);
	uint64_t before_ns = atomic_exchange_explicit(&s->vain_ns, now_ns, memory_order_relaxed);
	uint32_t vain = atomic_load_explicit(&s->vain, memory_order_relaxed);

	vain = now_ns - before_ns < LEASE_NS ? vain + 1 : 0;
	atomic_store_explicit(&s->vain, vain, memory_order_relaxed);
	return vain >= TESTS_BEFORE_HELP;
}

/* A thread that ended in a system call of the loop would keep the lease for ever. */
static int
hold_cancel(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

void
tcpx_lease_help(struct loop *l)
{
	int before;

	if (!engine_is_here(l->engine) || l->engine->manual)
		return;
	before = hold_cancel();
	if (borrow(l)) {
		tcpx_loop_step(l, 0);
		give_back(l);
	} else {
		sched_yield();
	}
	pthread_setcancelstate(before, NULL);
}

/* The I/O thread, which may sleep in the poller, gives way before its next turn. It is woken once. */
static void
ask(struct loop *l)
{
	lend(l, engine_now(l->engine), POLL_NS);
	if (!atomic_exchange(&l->lease.asked, true)) {
		count_add(&l->engine->count.lease_borrows, 1);
		tcpx_loop_wake(l);
	}
}

int
tcpx_poll(tcpx_engine *e)
{
	struct loop *l = &e->loop[0];
	int before, holder, rc = engine_check(e);

	if (rc)
		return rc;
	holder = atomic_load_explicit(&l->lease.holder, memory_order_acquire);
	if (holder == LEASE_IO)
		ask(l);
	if (holder != LEASE_NONE || e->manual || pthread_mutex_trylock(&l->lease.lock) != 0)
		return -EAGAIN;
	before = hold_cancel();
	take(l, LEASE_APP);
	tcpx_loop_step(l, 0);
	lend(l, l->now_ns, POLL_NS);
	give(l);
	pthread_setcancelstate(before, NULL);
	return 0;
}

/* Takes back the loan first and changes the word afterwards; the I/O thread clears the word and
 * then looks at the loan. So one of the two notices. */
void
tcpx_poll_done(tcpx_engine *e)
{
	struct loop *l = &e->loop[0];
	uint64_t polled = POLL_NS;

	if (!engine_is_here(e) || !atomic_compare_exchange_strong(&l->lease.keep_ns, &polled, 0))
		return;
	atomic_store(&l->lease.park, 2);
	tcpx_futex_wake(&l->lease.park, 1);
}

static uint64_t
deadline_of(uint64_t now_ns, int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : now_ns + (uint64_t)timeout_ms * TCPX_MS;
}

static int64_t
left(uint64_t deadline_ns, uint64_t now_ns)
{
	if (deadline_ns == UINT64_MAX)
		return -1;
	return deadline_ns > now_ns ? (int64_t)(deadline_ns - now_ns) : 0;
}

/* With the lease: spins for this machine's budget, then sleeps in the poller. Returns the
 * time; without deadline and budget nobody needs it, and it stays @now_ns. */
static uint64_t
run_until(struct loop *l, bool (*done)(void *), void *arg, uint64_t deadline_ns,
	  uint64_t now_ns)
{
	uint64_t spin_end_ns = now_ns + l->engine->limit.spin_ns;
	bool timed = deadline_ns != UINT64_MAX || l->engine->limit.spin_ns;

	while (!done(arg) && now_ns < deadline_ns) {
		tcpx_loop_step(l, now_ns < spin_end_ns ? 0 : left(deadline_ns, now_ns));
		if (timed)
			now_ns = l->now_ns;
	}
	return now_ns;
}

static int
wait_for(struct loop *l, bool (*done)(void *), void *arg, _Atomic uint32_t *word,
	 _Atomic int *sleepers, int timeout_ms)
{
	uint64_t now_ns = engine_now(l->engine);
	uint64_t deadline_ns = deadline_of(now_ns, timeout_ms);
	uint32_t value;
	int64_t ns;

	while (!done(arg)) {
		if (now_ns >= deadline_ns)
			return -EAGAIN;
		if (borrow(l)) {
			now_ns = run_until(l, done, arg, deadline_ns, now_ns);
			give_back(l);
			continue;
		}
		/* another thread does the I/O; look again now and then in case it leaves */
		ns = left(deadline_ns, now_ns);
		if (ns < 0 || ns > (int64_t)LEASE_NS)
			ns = LEASE_NS;
		atomic_fetch_add(sleepers, 1);
		value = atomic_load(word);
		if (!done(arg))
			tcpx_futex_wait(word, value, ns);
		atomic_fetch_sub(sleepers, 1);
		now_ns = engine_now(l->engine);
	}
	return 0;
}

int
tcpx_lease_wait(struct loop *l, bool (*done)(void *), void *arg, _Atomic uint32_t *word,
		_Atomic int *sleepers, int timeout_ms)
{
	int before, rc = engine_check(l->engine);

	if (rc)
		return rc;
	before = hold_cancel();
	rc = wait_for(l, done, arg, word, sleepers, timeout_ms);
	pthread_setcancelstate(before, NULL);
	return rc;
}

/* How the I/O thread sleeps while applications run the loop. */
struct nap {
	uint64_t seen_ns; /* lent_ns at the last look                                     */
	uint64_t ns;      /* until the next: a fifth of the time in use, because each look
			   * interrupts an application on a busy CPU for 20 us */
};

/* Publishes how long the I/O thread will sleep, at most until a borrower wants to be
 * woken. The borrower publishes its time first and reads this one afterwards, so one of
 * the two notices. */
static uint64_t
promise(struct loop *l, uint64_t until_ns)
{
	uint64_t wake_ns = atomic_load(&l->lease.wake_ns);

	do {
		until_ns = wake_ns < until_ns ? wake_ns : until_ns;
		atomic_store(&l->lease.look_ns, until_ns);
		wake_ns = atomic_load(&l->lease.wake_ns);
	} while (wake_ns < until_ns);
	return until_ns;
}

/* When a loop that nobody borrows may be the I/O thread's again. A time that moves while it is
 * compared may lie ahead of now_ns. */
static bool
kept(const struct loop *l, uint64_t now_ns)
{
	uint64_t keep_ns = atomic_load(&l->lease.keep_ns);

	return keep_ns && (int64_t)(now_ns - atomic_load(&l->lease.lent_ns)) < (int64_t)keep_ns;
}

/* Until the next look. A polled loop is looked at when its time is over. */
static uint64_t
nap_end(const struct loop *l, struct nap *nap, uint64_t now_ns)
{
	uint64_t end_ns = now_ns + nap->ns;

	if (atomic_load(&l->lease.keep_ns) == POLL_NS)
		return nap->seen_ns + POLL_NS;
	if (nap->ns < NAP_MAX_NS)
		nap->ns += nap->ns / 4;
	return end_ns;
}

/* A borrow that has lasted for a whole nap is a real wait: nothing is to be looked at
 * until it returns. */
static void
park(struct loop *l, struct nap *nap, uint64_t now_ns)
{
	uint64_t lent_ns = atomic_load(&l->lease.lent_ns), wake_ns;

	if (atomic_load(&l->lease.borrowers) > 0 && nap->seen_ns == lent_ns) {
		atomic_store(&l->lease.park, 1);
		if (atomic_load(&l->lease.borrowers) > 0 && !atomic_load(&l->thread.stop))
			tcpx_futex_wait(&l->lease.park, 1, left(promise(l, UINT64_MAX), now_ns));
	} else {
		nap->seen_ns = lent_ns;
		tcpx_futex_wait(&l->lease.park, 0,
				left(promise(l, nap_end(l, nap, now_ns)), now_ns));
	}
	atomic_store(&l->lease.park, 0);
	atomic_store(&l->lease.look_ns, UINT64_MAX);
	wake_ns = atomic_load(&l->lease.wake_ns);
	if (wake_ns <= engine_now(l->engine) &&
	    atomic_compare_exchange_strong(&l->lease.wake_ns, &wake_ns, UINT64_MAX))
		l->engine->ops->poller_wake(l->poller);
}

static bool
lent(const struct loop *l, uint64_t now_ns)
{
	return atomic_load(&l->lease.borrowers) > 0 || kept(l, now_ns);
}

static bool
wanted(const struct loop *l)
{
	return atomic_load(&l->thread.stop) || atomic_load(&l->lease.borrowers) > 0 ||
	       atomic_load(&l->lease.asked);
}

static void *
io_thread(void *arg)
{
	struct loop *l = arg;
	struct nap nap = { .ns = LEASE_NS };
	uint64_t now_ns;

	tcpx_bind_begin(l);
	prctl(PR_SET_TIMERSLACK, SLACK_NS); /* waits for a GPU last microseconds */
	while (!atomic_load(&l->thread.stop)) {
		now_ns = engine_now(l->engine);
		if (lent(l, now_ns)) {
			park(l, &nap, now_ns);
			continue;
		}
		nap.ns = LEASE_NS;
		pthread_mutex_lock(&l->lease.lock);
		take(l, LEASE_IO);
		/* a poll that began at the end of its time may have been first */
		while (!wanted(l) && !kept(l, now_ns))
			tcpx_loop_turn(l, -1);
		atomic_store(&l->lease.asked, false);
		give(l);
	}
	tcpx_bind_end(l);
	return NULL;
}

int
tcpx_loop_start(struct loop *l)
{
	char name[16];
	int rc;

	rc = pthread_create(&l->thread.id, NULL, io_thread, l);
	if (rc == EAGAIN) /* which says "not yet" elsewhere */
		return tcpx_fail(TCPX_SUB_INIT, -ENOMEM, "I/O thread %u: the limit of threads is reached",
				 l->index);
	if (rc)
		return tcpx_fail(TCPX_SUB_INIT, -rc, "I/O thread %u", l->index);
	l->thread.runs = true;
	snprintf(name, sizeof(name), "tcpx-io-%u", l->index);
	pthread_setname_np(l->thread.id, name);
	return 0;
}

void
tcpx_loop_started(struct loop *l)
{
	while (!atomic_load(&l->thread.tid))
		tcpx_futex_wait(&l->thread.tid, 0, -1);
}

void
tcpx_loop_stop(struct loop *l)
{
	if (!l->thread.runs)
		return;
	atomic_store(&l->thread.stop, true);
	l->engine->ops->poller_wake(l->poller);
	atomic_store(&l->lease.park, 2);
	tcpx_futex_wake(&l->lease.park, 1);
	pthread_join(l->thread.id, NULL);
	l->thread.runs = false;
}
