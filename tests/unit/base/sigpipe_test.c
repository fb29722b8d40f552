/* SPDX-License-Identifier: Apache-2.0 */
/* A call that raises SIGPIPE, in a thread where the signal would end the process. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/sigpipe.h"
#include "base_test.h"

static bool
is_pending(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGPIPE) == 1;
}

static void
raise_it(void)
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	assert_int_equal(write(fd[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	close(fd[1]);
}

TEST(the_signal_ends_nothing)
{
	struct tcpx_sigpipe p;
	sigset_t now;

	signal(SIGPIPE, SIG_DFL);
	tcpx_sigpipe_hold(&p);
	raise_it();
	errno = EAGAIN;
	tcpx_sigpipe_release(&p, true);
	assert_int_equal(errno, EAGAIN);
	assert_false(is_pending());
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_false(sigismember(&now, SIGPIPE));
}

TEST(what_was_pending_stays_so)
{
	sigset_t set;
	struct tcpx_sigpipe p;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	raise_it();
	tcpx_sigpipe_hold(&p);
	raise_it();
	tcpx_sigpipe_release(&p, true);
	assert_true(is_pending());
	signal(SIGPIPE, SIG_IGN); /* drops it */
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGPIPE, SIG_DFL);
}
