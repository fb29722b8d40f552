/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loop sleeps in: level-triggered epoll, and an eventfd that wakes it. Events come
 * straight from the kernel and are not stored, so an fd that was dropped from the set causes
 * no further event.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "net/sock/poller.h"

#define BATCH 256

/* The C library may be older than the kernel. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/*
 * A thread in poll() is woken on the sender's CPU, because the kernel knows that the sender
 * is about to sleep. A thread in epoll_wait() is woken on an idle CPU, which takes 20 us and
 * more on a virtual machine. So the hot stream, the one that received last, leaves the set
 * and is polled beside it, until HOT_MISSES sleeps in a row ended by other events. That costs a
 * call for each of those, so the stream has to receive HOT_AFTER times with nothing else in
 * between. With a single CPU the set alone is cheaper.
 *
 * System calls are made directly: those of the C library are cancellation points, which cost
 * two locked instructions in a process with threads. ThreadSanitizer knows those of the library,
 * though: what is watched was made before.
 */
#ifdef __SANITIZE_THREAD__
#define EPOLL_WAIT(fd, ready, max, ms) epoll_wait(fd, ready, max, ms)
#else
#define EPOLL_WAIT(fd, ready, max, ms) (int)syscall(SYS_epoll_pwait, fd, ready, max, ms, NULL, 0)
#endif
#define HOT_MISSES 8
#define HOT_AFTER  2

/*
 * A thread that polls need not ask whether the hot stream is ready: it receives, which is one call in
 * place of two. It does so while nothing else is ready, and looks at the set each fourth time.
 */
#define GUESS_AFTER 8 /* times that the stream has received, and nothing else was ready */
#define GUESSES     3

/*
 * With more than one CPU a peer that answers at once does so sooner than this thread falls
 * asleep and wakes. So the first sleep after a stream has sent begins with looks, for a time
 * that covers the waking of the peer. Each time in vain doubles the sleeps without looks that
 * follow.
 */
#define LOOK_NS       50000ull
#define LOOK_SKIP_MAX 1023

struct tcpx_poller {
	int epoll_fd;
	int wake_fd;
	bool coarse;       /* the kernel has no epoll_pwait2() */
	bool one_cpu;      /* this process may use a single CPU */
	atomic_bool woken; /* wake_fd has been written and not yet read */
	pthread_mutex_t hot_lock; /* guards hot_fd and its interest in the set */
	_Atomic int hot_fd; /* -1: none */
	void *hot_owner;
	unsigned hot_misses;
	void *heard;        /* owner of the stream that received last */
	unsigned alone;     /* times that it has received since something else was ready */
	unsigned guesses;   /* left until the set is looked at */
	atomic_bool asked;    /* a stream has sent since the last look */
	unsigned skip, skips; /* looks left out: left, and after the last in vain */
};

int
tcpx_sock_poller_open(struct tcpx_net *net, struct tcpx_poller **poller)
{
	struct tcpx_poller *p = calloc(1, sizeof(*p));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };
	cpu_set_t cpus;
	int rc;

	if (!p)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "poller");
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->epoll_fd < 0) {
		rc = tcpx_fail_errno(TCPX_SUB_NET, "epoll set for a poller");
		goto free_poller;
	}
	p->hot_fd = -1;
	p->one_cpu = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1;
	tcpx_mutex_init(&p->hot_lock);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake_fd < 0) {
		rc = tcpx_fail_errno(TCPX_SUB_NET, "eventfd for a poller");
		goto close_epoll;
	}
	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->wake_fd, &ev) < 0) {
		rc = tcpx_fail_errno(TCPX_SUB_NET, "eventfd into the epoll set");
		goto close_wake;
	}
	*poller = p;
	return 0;

close_wake:
	close(p->wake_fd);
close_epoll:
	close(p->epoll_fd);
free_poller:
	free(p);
	return rc;
}

void
tcpx_sock_poller_close(struct tcpx_poller *p)
{
	if (!p)
		return;
	close(p->wake_fd);
	close(p->epoll_fd);
	pthread_mutex_destroy(&p->hot_lock);
	free(p);
}

/* Milliseconds, rounded up: a shorter sleep would spin at the end of a wait. */
static int
timeout_ms(int64_t timeout_ns)
{
	int64_t ms;

	if (timeout_ns < 0)
		return -1;
	ms = timeout_ns / (int64_t)TCPX_MS + (timeout_ns % (int64_t)TCPX_MS != 0);
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Of what is broken the kernel reports always: without interest it does so once. */
static int
set_interest(struct tcpx_poller *p, int op, int fd, void *owner, unsigned interest)
{
	struct epoll_event ev = {
		.events = (interest & TCPX_READABLE ? EPOLLIN : 0) |
			  (interest & TCPX_WRITABLE ? EPOLLOUT : 0) | (interest ? 0 : EPOLLET),
		.data.ptr = owner,
	};

	return epoll_ctl(p->epoll_fd, op, fd, &ev);
}

/* Returns the hot fd to the set. hot_lock held. */
static void
hot_drop(struct tcpx_poller *p)
{
	if (p->hot_fd >= 0 && !p->one_cpu)
		set_interest(p, EPOLL_CTL_MOD, p->hot_fd, p->hot_owner, TCPX_READABLE);
	p->hot_fd = -1;
}

void
tcpx_sock_poller_hot(struct tcpx_poller *p, int fd, const struct tcpx_sock_watch *w)
{
	bool hot = atomic_load_explicit(&p->hot_fd, memory_order_relaxed) == fd;

	if (p->heard != w->owner)
		p->alone = 0;
	p->heard = w->owner;
	p->alone++;
	if (hot)
		p->hot_misses = 0;
	if (hot || w->interest != TCPX_READABLE || p->alone < HOT_AFTER)
		return;
	pthread_mutex_lock(&p->hot_lock);
	hot_drop(p);
	if (p->one_cpu || set_interest(p, EPOLL_CTL_MOD, fd, w->owner, 0) == 0) {
		p->hot_owner = w->owner;
		p->hot_fd = fd;
		p->hot_misses = 0;
	}
	pthread_mutex_unlock(&p->hot_lock);
}

/* True: one of them is ready. */
static bool
poll_both(struct pollfd both[2], int64_t timeout_ns)
{
	struct timespec ts = { timeout_ns / (int64_t)TCPX_SEC, timeout_ns % (int64_t)TCPX_SEC };
	long n = syscall(SYS_ppoll, both, 2, timeout_ns < 0 ? NULL : &ts, NULL, 0);

	if (n < 0)
		both[0].revents = both[1].revents = 0;
	return n > 0;
}

/* Does a look instead of a sleep promise an answer? */
static bool
may_look(struct tcpx_poller *p, int64_t timeout_ns)
{
	if (p->one_cpu || (timeout_ns >= 0 && timeout_ns < (int64_t)LOOK_NS) ||
	    !atomic_load_explicit(&p->asked, memory_order_relaxed))
		return false;
	atomic_store_explicit(&p->asked, false, memory_order_relaxed);
	if (p->skip == 0)
		return true;
	p->skip--;
	return false;
}

static void
looked(struct tcpx_poller *p, bool in_vain)
{
	if (!in_vain)
		p->skips = 0;
	else
		p->skip = p->skips = p->skips < LOOK_SKIP_MAX ? 2 * p->skips + 1 : LOOK_SKIP_MAX;
}

/* True: one of them is ready. */
static bool
look_both(struct tcpx_poller *p, struct pollfd both[2])
{
	uint64_t start_ns = tcpx_clock_now(&tcpx_clock_system);
	bool ready;

	do
		ready = poll_both(both, 0);
	while (!ready && tcpx_clock_now(&tcpx_clock_system) - start_ns < LOOK_NS);
	looked(p, !ready);
	return ready;
}

static int
look_at_set(struct tcpx_poller *p, struct epoll_event *ready, int max)
{
	uint64_t start_ns = tcpx_clock_now(&tcpx_clock_system);
	int n;

	do
		n = EPOLL_WAIT(p->epoll_fd, ready, max, 0);
	while (n == 0 && tcpx_clock_now(&tcpx_clock_system) - start_ns < LOOK_NS);
	looked(p, n == 0);
	return n;
}

void
tcpx_sock_poller_asked(struct tcpx_poller *p)
{
	atomic_store_explicit(&p->asked, true, memory_order_relaxed);
}

/* Sleeps until the hot stream or the set is ready. Returns 1 and fills *event if the stream
 * is ready. *rest: the set is ready. */
static int
wait_hot(struct tcpx_poller *p, int fd, int64_t timeout_ns, struct tcpx_net_event *event, bool *rest)
{
	struct pollfd both[2] = { { .fd = fd, .events = POLLIN },
				  { .fd = p->epoll_fd, .events = POLLIN } };
	bool hot;

	if (!may_look(p, timeout_ns) || !look_both(p, both))
		poll_both(both, timeout_ns);
	*rest = both[1].revents != 0;
	hot = atomic_load(&p->hot_fd) == fd; /* other threads may drop it, only this one sets it */
	if (hot && both[0].revents) {
		*event = (struct tcpx_net_event){ p->hot_owner, TCPX_READABLE };
		return 1;
	}
	if (hot && timeout_ns != 0 && ++p->hot_misses >= HOT_MISSES) {
		pthread_mutex_lock(&p->hot_lock);
		hot_drop(p);
		pthread_mutex_unlock(&p->hot_lock);
	}
	return 0;
}

static int
wait_events(struct tcpx_poller *p, struct epoll_event *ready, int max, int64_t timeout_ns)
{
	if (!p->coarse && timeout_ns > 0) {
		int64_t ts[2] = { timeout_ns / (int64_t)TCPX_SEC,
				  timeout_ns % (int64_t)TCPX_SEC }; /* a kernel timespec */
		long n = syscall(SYS_epoll_pwait2, p->epoll_fd, ready, max, ts, NULL, 0);

		/* older sandboxes return EPERM for system calls they do not know */
		if (n >= 0 || (errno != ENOSYS && errno != EPERM))
			return (int)n;
		p->coarse = true;
		tcpx_debug(TCPX_SUB_NET, "no epoll_pwait2 here: timeouts in milliseconds");
	}
	return EPOLL_WAIT(p->epoll_fd, ready, max, timeout_ms(timeout_ns));
}

/*
 * Reads first, then clears the flag. A wake in between finds the flag set and writes nothing;
 * this wait is about to return and serves it. The exchange makes the waker's earlier writes
 * visible here. The other order could leave the flag set over an empty eventfd, and no later
 * wake would arrive.
 */
static void
wake_absorb(struct tcpx_poller *p)
{
	uint64_t count;

	while (read(p->wake_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	atomic_exchange(&p->woken, false);
}

void
tcpx_sock_poller_wake(struct tcpx_poller *p)
{
	uint64_t one = 1;

	if (atomic_exchange(&p->woken, true))
		return;
	while (write(p->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static unsigned
ready_of(uint32_t events)
{
	return (events & EPOLLIN ? TCPX_READABLE : 0) | (events & EPOLLOUT ? TCPX_WRITABLE : 0) |
	       (events & (EPOLLERR | EPOLLHUP) ? TCPX_BROKEN : 0);
}

/* Owners are aligned: the lowest bit marks an inner one. */
static struct tcpx_sock_inner *
inner_of(void *owner)
{
	return (uintptr_t)owner & 1 ? (void *)((uintptr_t)owner & ~(uintptr_t)1) : NULL;
}

int
tcpx_sock_poller_inner(struct tcpx_poller *p, int fd, struct tcpx_sock_inner *inner)
{
	return tcpx_sock_poller_watch_fd(p, fd, (void *)((uintptr_t)inner | 1));
}

int
tcpx_sock_poller_edges(struct tcpx_poller *p, int fd, void *owner)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = owner };

	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "watch of fd %d", fd);
	return 0;
}

void
tcpx_sock_poller_drop(struct tcpx_poller *p, int fd)
{
	epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* Without a look: *event says that the hot stream may be ready. Its owner stays while this thread
 * waits here. False: look. */
static bool
guess(struct tcpx_poller *p, struct tcpx_net_event *event)
{
	bool hot = false;

	if (!p->guesses || p->hot_owner != p->heard)
		return false;
	p->guesses--;
	pthread_mutex_lock(&p->hot_lock);
	if (atomic_load(&p->hot_fd) >= 0) {
		*event = (struct tcpx_net_event){ p->hot_owner, TCPX_READABLE };
		hot = true;
	}
	pthread_mutex_unlock(&p->hot_lock);
	return hot;
}

static int
wait(struct tcpx_poller *p, struct tcpx_net_event *events, int max, int64_t timeout_ns)
{
	struct epoll_event ready[BATCH];
	int fd = p->one_cpu ? -1 : atomic_load_explicit(&p->hot_fd, memory_order_relaxed);
	bool rest = true;
	int count = 0;
	int n = 0;

	if (fd >= 0 && max > 0) {
		count = wait_hot(p, fd, timeout_ns, events, &rest);
		timeout_ns = 0;
		max -= count;
	}
	if (!rest)
		return count;
	max = max < BATCH ? max : BATCH;
	if (fd < 0 && may_look(p, timeout_ns))
		n = look_at_set(p, ready, max);
	if (n == 0)
		n = wait_events(p, ready, max, timeout_ns);
	if (n < 0)
		return errno == EINTR ? count : tcpx_fail_errno(TCPX_SUB_NET, "wait of a poller "
								"for %d events", max);
	for (int i = 0; i < n; i++) {
		if (ready[i].data.ptr == p)
			wake_absorb(p);
		else if (inner_of(ready[i].data.ptr))
			inner_of(ready[i].data.ptr)->ready(inner_of(ready[i].data.ptr));
		else
			events[count++] = (struct tcpx_net_event){
				.owner = ready[i].data.ptr,
				.ready = ready_of(ready[i].events),
			};
	}
	return count;
}

int
tcpx_sock_poller_wait(struct tcpx_poller *p, struct tcpx_net_event *events, int max,
		      int64_t timeout_ns)
{
	int n;

	if (timeout_ns == 0 && max > 0 && guess(p, events))
		return 1;
	n = wait(p, events, max, timeout_ns);
	if (n > 1 || (n == 1 && events[0].owner != p->heard))
		p->alone = 0;
	p->guesses = p->alone >= GUESS_AFTER ? GUESSES : 0;
	return n;
}

int
tcpx_sock_poller_watch_fd(struct tcpx_poller *p, int fd, void *owner)
{
	if (set_interest(p, EPOLL_CTL_ADD, fd, owner, TCPX_READABLE) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "watch of fd %d", fd);
	return 0;
}

int
tcpx_sock_watch_set(struct tcpx_sock_watch *w, int fd, struct tcpx_poller *p, void *owner,
		    unsigned interest)
{
	int rc;

	if (w->poller && w->poller != p)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE,
				 "watch of fd %d in a second poller: one for its life", fd);
	if (w->poller && w->owner == owner && w->interest == interest)
		return 0;
	pthread_mutex_lock(&p->hot_lock);
	if (p->hot_fd == fd)
		p->hot_fd = -1;
	rc = set_interest(p, w->poller ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, owner, interest);
	pthread_mutex_unlock(&p->hot_lock);
	if (rc < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "watch of fd %d", fd);
	*w = (struct tcpx_sock_watch){ .poller = p, .owner = owner, .interest = interest };
	return 0;
}

void
tcpx_sock_watch_drop(struct tcpx_sock_watch *w, int fd)
{
	struct tcpx_poller *p = w->poller;

	if (!p)
		return;
	pthread_mutex_lock(&p->hot_lock);
	if (p->hot_fd == fd)
		p->hot_fd = -1;
	epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	pthread_mutex_unlock(&p->hot_lock);
	w->poller = NULL;
}
