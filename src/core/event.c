/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor for applications with an event loop of their own: readable exactly while
 * something is unobserved. It costs nothing until it has been asked for.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/core.h"

static void
signal_fd(struct tcpx_engine *e)
{
	uint64_t one = 1;
	ssize_t n = write(e->event_fd, &one, sizeof(one));

	(void)n; /* cannot be full: it is written only when it was 0 */
}

void
tcpx_event_add(struct tcpx_engine *e)
{
	pthread_mutex_lock(&e->event_lock);
	if (e->unobserved++ == 0 && e->event_fd >= 0)
		signal_fd(e);
	pthread_mutex_unlock(&e->event_lock);
}

void
tcpx_event_drop(struct tcpx_engine *e)
{
	uint64_t all;
	ssize_t n = 0;

	pthread_mutex_lock(&e->event_lock);
	if (e->unobserved > 0 && --e->unobserved == 0 && e->event_fd >= 0)
		n = read(e->event_fd, &all, sizeof(all));
	pthread_mutex_unlock(&e->event_lock);
	(void)n;
}

int
tcpx_event_fd(tcpx_engine *e)
{
	int fd;

	pthread_mutex_lock(&e->event_lock);
	if (e->event_fd < 0) {
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		e->event_fd = fd < 0 ? tcpx_fail_errno(TCPX_SUB_INIT, "eventfd") : fd;
		if (e->event_fd >= 0 && e->unobserved > 0)
			signal_fd(e);
	}
	fd = e->event_fd;
	if (e->event_fd < 0)
		e->event_fd = -1;
	pthread_mutex_unlock(&e->event_lock);
	return fd;
}
