/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sigpipe.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static sigset_t
only_sigpipe(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	return set;
}

void
tcpx_sigpipe_hold(struct tcpx_sigpipe *p)
{
	sigset_t sigpipe = only_sigpipe(), pending;

	pthread_sigmask(SIG_BLOCK, &sigpipe, &p->before);
	sigpending(&pending);
	p->pending = sigismember(&pending, SIGPIPE) == 1;
}

void
tcpx_sigpipe_release(const struct tcpx_sigpipe *p, bool raised)
{
	static const struct timespec at_once;
	sigset_t sigpipe = only_sigpipe();
	int err = errno;

	if (raised && !p->pending)
		while (sigtimedwait(&sigpipe, NULL, &at_once) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &p->before, NULL);
	errno = err;
}
