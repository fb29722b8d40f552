/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor for applications with an event loop of their own: readable exactly while an end,
 * an entry of the queue or a note waits. It costs nothing until it is first requested. And the
 * futex of threads that wait for sessions.
 */
#include "core/loop/event.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/loop/futex.h"

void
tcpx_event_level(struct tcpx_engine *e)
{
	bool want = atomic_load(&e->events.unobserved) > 0 || atomic_load(&e->events.notes) > 0 ||
		    atomic_load(&e->events.entries) > 0;
	uint64_t value = 1;
	ssize_t n = 0;

	if (atomic_load(&e->events.fd) < 0 || !engine_is_here(e))
		return;
	if (want && !e->events.raised)
		n = write(e->events.fd, &value, sizeof(value));
	else if (!want && e->events.raised)
		n = read(e->events.fd, &value, sizeof(value));
	e->events.raised = want;
	(void)n; /* never full, never empty: it holds 1 exactly while raised */
}

void
tcpx_event_changed(struct tcpx_engine *e)
{
	if (atomic_load(&e->events.fd) < 0)
		return;
	pthread_mutex_lock(&e->events.lock);
	tcpx_event_level(e);
	pthread_mutex_unlock(&e->events.lock);
}

void
tcpx_event_add(struct tcpx_engine *e)
{
	atomic_fetch_add(&e->events.unobserved, 1);
	tcpx_event_changed(e);
}

void
tcpx_event_drop(struct tcpx_engine *e)
{
	atomic_fetch_sub(&e->events.unobserved, 1);
	tcpx_event_changed(e);
}

int
tcpx_event_fd(tcpx_engine *e)
{
	int fd;

	pthread_mutex_lock(&e->events.lock);
	fd = atomic_load(&e->events.fd);
	if (fd < 0) {
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (fd < 0) {
			fd = tcpx_fail_errno(TCPX_SUB_INIT, "eventfd");
		} else {
			atomic_store(&e->events.fd, fd);
			tcpx_event_level(e);
		}
	}
	pthread_mutex_unlock(&e->events.lock);
	return fd;
}

void
tcpx_event_session(struct tcpx_engine *e)
{
	atomic_fetch_add(&e->changes.count, 1);
	if (atomic_load(&e->changes.sleepers) > 0)
		tcpx_futex_wake(&e->changes.count, 1 << 30);
}
