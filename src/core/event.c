/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor for applications with an event loop of their own: readable exactly while
 * something is unobserved. It costs nothing until it has been asked for.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/core.h"

/* Makes the descriptor's level agree with the count. event_lock held. */
static void
level(struct tcpx_engine *e)
{
	bool want = atomic_load(&e->unobserved) > 0 || atomic_load(&e->notes.count) > 0;
	uint64_t value = 1;
	ssize_t n = 0;

	if (want && !e->event_raised)
		n = write(e->event_fd, &value, sizeof(value));
	else if (!want && e->event_raised)
		n = read(e->event_fd, &value, sizeof(value));
	e->event_raised = want;
	(void)n; /* never full, never empty: it holds 1 exactly while raised */
}

void
tcpx_event_changed(struct tcpx_engine *e)
{
	if (atomic_load(&e->event_fd) < 0)
		return;
	pthread_mutex_lock(&e->event_lock);
	level(e);
	pthread_mutex_unlock(&e->event_lock);
}

void
tcpx_event_add(struct tcpx_engine *e)
{
	atomic_fetch_add(&e->unobserved, 1);
	tcpx_event_changed(e);
}

void
tcpx_event_drop(struct tcpx_engine *e)
{
	atomic_fetch_sub(&e->unobserved, 1);
	tcpx_event_changed(e);
}

int
tcpx_event_fd(tcpx_engine *e)
{
	int fd;

	pthread_mutex_lock(&e->event_lock);
	fd = atomic_load(&e->event_fd);
	if (fd < 0) {
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (fd < 0) {
			fd = tcpx_fail_errno(TCPX_SUB_INIT, "eventfd");
		} else {
			atomic_store(&e->event_fd, fd);
			level(e);
		}
	}
	pthread_mutex_unlock(&e->event_lock);
	return fd;
}
