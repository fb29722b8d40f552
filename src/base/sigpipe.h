/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that may raise SIGPIPE, in a thread that is perhaps the application's: a plugin's sends, and
 * splice(), which has no flag against it. The signal is blocked for the call and consumed after it,
 * unless one was pending before.
 */
#ifndef BASE_SIGPIPE_H
#define BASE_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct tcpx_sigpipe {
	sigset_t before; /* the thread's mask            */
	bool pending;    /* one was pending: it stays so */
};

void tcpx_sigpipe_hold(struct tcpx_sigpipe *p);
/* In the same thread. raised: one may have come; errno stays as it is. */
void tcpx_sigpipe_release(const struct tcpx_sigpipe *p, bool raised);

#endif
