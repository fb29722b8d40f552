/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The poller: waking before, during and between waits; timeouts; closing what has
 * events pending.
 */
#include "sock_rig.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static int pwait2_error; /* 0: the kernel has the call */
static int pwait2_calls;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long
__wrap_syscall(long number, ...)
{
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (size_t i = 0; i < COUNT(arg); i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_epoll_pwait2 && pwait2_error) {
		pwait2_calls++;
		errno = pwait2_error;
		return -1;
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static uint64_t
now(void)
{
	return tcpx_clock_now(&tcpx_clock_system);
}

TEST_WITH(wake_before_a_wait_ends_it_at_once, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_net_event ev[1];
	uint64_t start = now();

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 1000; i++)
			r->ops->poller_wake(r->poller);
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 1, RIG_WAIT_NS), 0);
	}
	assert_true(now() - start < RIG_WAIT_NS);
	/* all of them together were one: the next wait sleeps its time */
	start = now();
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 1, 3000000), 0);
	assert_true(now() - start >= 3000000);
}

TEST_WITH(timeouts_are_never_cut_short, rig_open, rig_close)
{
	static const int64_t timeouts[] = { 0, 1, 20000, 999999, 1000001, 2500000 };
	struct rig *r = *state;
	struct tcpx_net_event ev[1];

	for (size_t i = 0; i < COUNT(timeouts); i++) {
		uint64_t start = now();

		assert_int_equal(r->ops->poller_wait(r->poller, ev, 1, timeouts[i]), 0);
		assert_true(now() - start >= (uint64_t)timeouts[i]);
		assert_true(now() - start < RIG_WAIT_NS);
	}
}

/* An older kernel counts in milliseconds, and a sandbox that forbids the newer call makes one
 * of any. */
TEST_WITH(an_older_kernel_cuts_no_timeout_short, rig_open, rig_close)
{
	static const int errors[] = { ENOSYS, EPERM };
	struct rig *r = *state;

	for (size_t i = 0; i < COUNT(errors); i++) {
		pwait2_error = errors[i];
		pwait2_calls = 0;
		timeouts_are_never_cut_short(state);
		assert_int_equal(pwait2_calls, 1); /* and is not asked again */
		pwait2_error = 0;
		r->ops->poller_close(r->poller);
		assert_int_equal(r->ops->poller_open(r->net, &r->poller), 0);
	}
}

struct waker {
	struct rig *r;
	bool always;      /* wakes without end, or once for every round */
	atomic_int round; /* of the sleeper */
	atomic_bool stop;
};

static void *
waker_run(void *arg)
{
	struct waker *w = arg;
	int seen = 0;

	while (!atomic_load(&w->stop)) {
		int round = atomic_load(&w->round);

		if (w->always || round != seen)
			w->r->ops->poller_wake(w->r->poller);
		seen = round;
	}
	return NULL;
}

static void
sleep_and_be_woken(struct rig *r, bool always, bool asked, int rounds)
{
	struct waker w = { .r = r, .always = always };
	struct tcpx_net_event ev[4];
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, waker_run, &w), 0);
	for (int i = 0; i < rounds; i++) {
		uint64_t start = now();

		if (asked)
			tcpx_sock_poller_asked(r->poller);
		atomic_fetch_add(&w.round, 1);
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 4, RIG_WAIT_NS), 0);
		assert_true(now() - start < RIG_WAIT_NS);
	}
	atomic_store(&w.stop, true);
	pthread_join(thread, NULL);
}

TEST_WITH(wake_during_a_wait_ends_it, rig_open, rig_close)
{
	sleep_and_be_woken(*state, false, false, 2000);
}

TEST_WITH(no_wake_is_lost_while_another_is_taken_in, rig_open, rig_close)
{
	sleep_and_be_woken(*state, true, false, 20000);
}

TEST_WITH(no_wake_is_lost_while_it_looks_for_an_answer, rig_open, rig_close)
{
	sleep_and_be_woken(*state, false, true, 2000);
	sleep_and_be_woken(*state, true, true, 20000);
}

/* More waits than a look in vain puts off others, so that both happen. */
TEST_WITH(a_look_in_vain_never_cuts_a_timeout_short, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_net_event ev[1];

	for (int i = 0; i < 40; i++) {
		uint64_t start = now();

		tcpx_sock_poller_asked(r->poller);
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 1, 200000), 0);
		assert_true(now() - start >= 200000);
		assert_true(now() - start < RIG_WAIT_NS);
	}
}

/* From the set at first, then as the hot stream. */
TEST_WITH(an_answer_is_heard_while_it_looks, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_watch watch = { 0 };
	struct tcpx_net_event ev[2];
	char byte;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(tcpx_sock_watch_set(&watch, pair[0], r->poller, pair, TCPX_READABLE), 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(write(pair[1], "x", 1), 1);
		tcpx_sock_poller_asked(r->poller);
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, RIG_WAIT_NS), 1);
		assert_ptr_equal(ev[0].owner, pair);
		assert_int_equal(ev[0].ready, TCPX_READABLE);
		assert_int_equal(read(pair[0], &byte, 1), 1);
		if (i % 10 == 5)
			tcpx_sock_poller_hot(r->poller, pair[0], &watch);
	}
	tcpx_sock_watch_drop(&watch, pair[0]);
	close(pair[0]);
	close(pair[1]);
}

/* Does an epoll set of this process ask whether fd may be read? */
static bool
is_asked_by_the_set(int fd)
{
	char path[64], line[256];
	bool asked = false;
	unsigned events;
	int tfd;

	for (int set = 3; set < 64; set++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", set);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "tfd: %d events: %x", &tfd, &events) == 2 && tfd == fd)
				asked |= events & POLLIN;
		if (f)
			fclose(f);
	}
	return asked;
}

static int
poll_once(struct rig *r, struct tcpx_net_event *ev)
{
	return r->ops->poller_wait(r->poller, ev, 2, 0);
}

/* Streams whose first ends the poller watches, each for its pair. */
static void
open_pairs(struct rig *r, int pair[][2], struct tcpx_sock_watch *watch, int count)
{
	for (int i = 0; i < count; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
		assert_int_equal(tcpx_sock_watch_set(&watch[i], pair[i][0], r->poller, pair[i],
						     TCPX_READABLE), 0);
	}
}

static void
close_pairs(int pair[][2], struct tcpx_sock_watch *watch, int count)
{
	for (int i = 0; i < count; i++) {
		tcpx_sock_watch_drop(&watch[i], pair[i][0]);
		close(pair[i][0]);
		close(pair[i][1]);
	}
}

/* The stream of a thread that polls is reported without a look, three times of four, while nothing else
 * is ready: reading it is the look. */
TEST_WITH(a_stream_that_alone_receives_is_taken_for_ready, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_watch watch[2] = { { 0 } };
	struct tcpx_net_event ev[2];
	char byte;
	int pair[2][2], n;

	open_pairs(r, pair, watch, 2);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++) {
			assert_int_equal(write(pair[0][1], "x", 1), 1);
			assert_int_equal(poll_once(r, ev), 1);
			assert_int_equal(read(pair[0][0], &byte, 1), 1);
			assert_int_equal(poll_once(r, ev), 0);
			tcpx_sock_poller_hot(r->poller, pair[0][0], &watch[0]);
		}
		for (int i = 0; i < 12; i++) {
			n = poll_once(r, ev);
			assert_int_equal(n, i % 4 != 0);
			assert_true(n == 0 || ev[0].owner == pair[0]);
		}
		assert_int_equal(write(pair[1][1], "x", 1), 1);
		for (n = 0; poll_once(r, ev) != 1 || ev[0].owner != pair[1]; n++)
			assert_in_range(n, 0, 3);
		assert_int_equal(read(pair[1][0], &byte, 1), 1);
		assert_int_equal(poll_once(r, ev), 0);
		assert_int_equal(poll_once(r, ev), 0);
	}
	for (int i = 0; i < 8; i++)
		tcpx_sock_poller_hot(r->poller, pair[0][0], &watch[0]);
	assert_int_equal(poll_once(r, ev), 0);
	tcpx_sock_watch_drop(&watch[0], pair[0][0]);
	assert_int_equal(poll_once(r, ev), 0);
	tcpx_sock_watch_drop(&watch[1], pair[1][0]);
	for (int i = 0; i < 4; i++)
		close(pair[i / 2][i % 2]);
}

/* Polled beside the set it would cost a call for each event of the others. */
TEST_WITH(a_stream_beside_others_is_not_hot, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_watch watch[2] = { { 0 } };
	struct tcpx_net_event ev[2];
	cpu_set_t cpus;
	char byte;
	int pair[2][2];

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	open_pairs(r, pair, watch, 2);
	for (int round = 0; round < 3; round++) { /* both at once */
		for (int i = 0; i < 2; i++)
			assert_int_equal(write(pair[i][1], "x", 1), 1);
		assert_int_equal(poll_once(r, ev), 2);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(read(pair[i][0], &byte, 1), 1);
			tcpx_sock_poller_hot(r->poller, pair[i][0], &watch[i]);
			assert_true(is_asked_by_the_set(pair[i][0]));
		}
	}
	for (int i = 0; i < 22; i++) { /* in turns; the last three are of the stream */
		int k = i % 2 && i < 19;

		assert_int_equal(write(pair[k][1], "x", 1), 1);
		assert_int_equal(poll_once(r, ev), 1);
		assert_ptr_equal(ev[0].owner, pair[k]);
		assert_int_equal(read(pair[k][0], &byte, 1), 1);
		if (k == 0)
			tcpx_sock_poller_hot(r->poller, pair[0][0], &watch[0]);
		assert_int_equal(is_asked_by_the_set(pair[0][0]), i < 19 || CPU_COUNT(&cpus) == 1);
	}
	close_pairs(pair, watch, 2);
}

/* It returns to the set though others receive, none twice in a row. */
TEST_WITH(a_hot_stream_that_falls_idle_is_dropped, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_watch watch[3] = { { 0 } };
	struct tcpx_net_event ev[2];
	cpu_set_t cpus;
	char byte;
	int pair[3][2];

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	open_pairs(r, pair, watch, 3);
	for (int i = 0; i < 12; i++) {
		int k = i < 3 ? 0 : 1 + i % 2;

		assert_int_equal(is_asked_by_the_set(pair[0][0]),
				 i < 2 || i > 10 || CPU_COUNT(&cpus) == 1);
		assert_int_equal(write(pair[k][1], "x", 1), 1);
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, TCPX_SEC), 1);
		assert_ptr_equal(ev[0].owner, pair[k]);
		assert_int_equal(read(pair[k][0], &byte, 1), 1);
		tcpx_sock_poller_hot(r->poller, pair[k][0], &watch[k]);
	}
	close_pairs(pair, watch, 3);
}

TEST_WITH(what_is_closed_with_events_pending_is_not_heard_of, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_watch watch[8] = { { 0 } };
	struct tcpx_net_event ev[8];
	int near[8], far[8];

	for (int i = 0; i < 8; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		near[i] = pair[0];
		far[i] = pair[1];
		assert_int_equal(tcpx_sock_watch_set(&watch[i], near[i], r->poller, &near[i],
						     TCPX_READABLE), 0);
		assert_int_equal(write(far[i], "x", 1), 1);
	}
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 8, RIG_WAIT_NS), 8);
	for (int i = 0; i < 8; i += 2) {
		int copy = dup(near[i]); /* as a forked child has it */

		tcpx_sock_watch_drop(&watch[i], near[i]);
		close(near[i]);
		near[i] = copy;
	}
	for (int round = 0; round < 4; round++) {
		assert_int_equal(r->ops->poller_wait(r->poller, ev, 8, 0), 4);
		for (int i = 0; i < 4; i++)
			assert_int_equal(((int *)ev[i].owner - near) % 2, 1);
	}
	for (int i = 0; i < 8; i++) {
		tcpx_sock_watch_drop(&watch[i], near[i]);
		close(near[i]);
		close(far[i]);
	}
}

TEST_WITH(hang_up_is_told_once_without_interest, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_watch watch = { 0 };
	struct tcpx_net_event ev[2];
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(tcpx_sock_watch_set(&watch, pair[0], r->poller, pair, 0), 0);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, 0), 0);
	close(pair[1]);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, RIG_WAIT_NS), 1);
	assert_int_equal(ev[0].ready, TCPX_BROKEN);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, 0), 0);
	assert_int_equal(tcpx_sock_watch_set(&watch, pair[0], r->poller, pair, TCPX_READABLE), 0);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, RIG_WAIT_NS), 1);
	tcpx_sock_watch_drop(&watch, pair[0]);
	close(pair[0]);
}

TEST_WITH(a_small_batch_still_hears_everybody, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_watch watch[3] = { { 0 } };
	struct tcpx_net_event ev[1];
	unsigned heard = 0;
	int pair[3][2];

	for (int i = 0; i < 3; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
		assert_int_equal(tcpx_sock_watch_set(&watch[i], pair[i][0], r->poller, pair[i],
						     TCPX_WRITABLE), 0);
	}
	for (int i = 0; i < 12; i++) {
		r->ops->poller_wake(r->poller);
		if (r->ops->poller_wait(r->poller, ev, 1, RIG_WAIT_NS) == 1)
			heard |= 1u << ((int(*)[2])ev[0].owner - pair);
	}
	assert_int_equal(heard, 7);
	close_pairs(pair, watch, 3);
}
