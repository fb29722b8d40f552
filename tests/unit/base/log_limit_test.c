/* SPDX-License-Identifier: Apache-2.0 */
/* How many lines pass, and what becomes of those that nobody reads or that a slow function takes. */
#include "base_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log_file.h"
#include "base/log_limit.h"
#include "base/log_relay.h"

/* What @count lines at @at_ms do after those before. */
static const struct {
	uint64_t at_ms;
	unsigned count;
	bool info;
	unsigned pass;
	unsigned told; /* by the summary that goes before them */
} steps[] = {
	{ 1000, 1, false, 1, 0 },
	{ 1900, 700, false, 8, 0 },    /* the tenth is a summary's */
	{ 1999, 1, false, 0, 0 },
	{ 2000, 9, false, 1, 0 },      /* that of 1000 is more than a second ago, the others are not */
	{ 2899, 1, false, 0, 0 },
	{ 2900, 100, false, 7, 702 },  /* and 1 of 2000 */
	{ 3900, 0, false, 0, 93 },
	{ 3900, 60, true, 58, 0 },     /* 50 at the start, then with the others */
	{ 20000, 60, true, 8, 2 },
};

TEST(ten_pass_in_a_second)
{
	struct tcpx_log_limit l = { .passed = 0 };

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		uint64_t now_ns = steps[i].at_ms * TCPX_MS, span_ns;
		unsigned pass = 0;
		char name[32];

		snprintf(name, sizeof(name), "step %zu", i);
		check(name, "told", (long)tcpx_log_limit_summary(&l, false, now_ns, &span_ns),
		      steps[i].told);
		for (unsigned k = 0; k < steps[i].count; k++)
			pass += tcpx_log_limit_pass(&l, steps[i].info, now_ns);
		check(name, "passed", pass, steps[i].pass);
	}
}

TEST(the_last_summary_does_not_wait_for_a_second)
{
	struct tcpx_log_limit l = { .passed = 0 };
	uint64_t span_ns;

	for (int i = 0; i < 30; i++)
		tcpx_log_limit_pass(&l, false, TCPX_SEC + (uint64_t)i * TCPX_MS);
	assert_int_equal(tcpx_log_limit_summary(&l, false, 2 * TCPX_SEC - 1, &span_ns), 0);
	assert_int_equal(tcpx_log_limit_summary(&l, true, 2 * TCPX_SEC - 1, &span_ns), 21);
	assert_int_equal(span_ns, TCPX_SEC - 1 - 9 * TCPX_MS);
	assert_int_equal(tcpx_log_limit_summary(&l, true, 2 * TCPX_SEC - 1, &span_ns), 0);
}

/* Storms and lulls: each line either passes or is in one summary, and no window of a second has
 * more than ten, wherever it begins. */
TEST(no_second_has_more)
{
	enum { LINES = 20000 };
	static uint64_t at_ns[2 * LINES];
	struct tcpx_log_limit l = { .passed = 0 };
	uint64_t now_ns = TCPX_SEC, seed = 7, told = 0, span_ns;
	uint32_t passed = 0, n = 0;
	uint64_t count;

	for (int i = 0; i <= LINES; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		now_ns += (seed >> 40) % (seed >> 60 ? 20 * TCPX_MS : 2 * TCPX_SEC);
		if (i == LINES)
			now_ns += TCPX_SEC;
		count = tcpx_log_limit_summary(&l, i == LINES || i % 100 == 0, now_ns, &span_ns);
		told += count;
		if (count)
			at_ns[n++] = now_ns;
		if (i < LINES && tcpx_log_limit_pass(&l, false, now_ns)) {
			passed++;
			at_ns[n++] = now_ns;
		}
	}
	assert_int_equal(passed + told, LINES);
	assert_in_range(passed, LINES / 20, LINES - 1);
	for (uint32_t i = LOG_A_SECOND; i < n; i++)
		assert_true(at_ns[i] - at_ns[i - LOG_A_SECOND] >= TCPX_SEC);
}

TEST(a_clock_that_goes_back_lets_no_more_pass)
{
	struct tcpx_log_limit l = { .passed = 0 };
	unsigned pass = 0;

	for (uint64_t i = 0; i < 100; i++)
		pass += tcpx_log_limit_pass(&l, false, 2 * TCPX_SEC - i * TCPX_MS);
	assert_int_equal(pass, LOG_A_SECOND - 1);
}

/* Until the descriptor takes no more. */
static unsigned
fill(int fd)
{
	char line[1000];
	unsigned n = 0;

	memset(line, '.', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	while (tcpx_log_file_put(fd, line, sizeof(line)))
		assert_true(++n < 100000);
	return n;
}

static void
check_full(const char *name, int reader, int writer)
{
	int flags = fcntl(writer, F_GETFL);
	char some[65536];

	check(name, "lines before it is full", fill(writer) > 0, true);
	check(name, "flags", fcntl(writer, F_GETFL), flags);
	assert_int_equal(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
	while (read(reader, some, sizeof(some)) > 0)
		;
	check(name, "after a reader", fill(writer) > 0, true);
	close(reader);
	check(name, "without a reader", tcpx_log_file_put(writer, "x\n", 2), false);
	close(writer);
}

TEST(nobody_waits_for_a_reader)
{
	int end[2];

	assert_int_equal(pipe(end), 0);
	check_full("pipe", end[0], end[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	check_full("socket", end[0], end[1]);
	assert_int_equal(openpty(&end[0], &end[1], NULL, NULL, NULL), 0);
	check_full("terminal", end[0], end[1]);
}

/* ---- an application's function ---- */

static struct {
	pthread_mutex_t held; /* what the application holds while it calls the library */
	atomic_uint calls;
	atomic_bool other_thread;
	pthread_t caller;
} app = { .held = PTHREAD_MUTEX_INITIALIZER };

static void
wants_the_lock(void *arg, int level, const char *line)
{
	pthread_mutex_lock(&app.held);
	app.other_thread = !pthread_equal(app.caller, pthread_self());
	app.calls++;
	pthread_mutex_unlock(&app.held);
}

TEST(a_function_is_called_outside_the_locks_of_the_caller)
{
	app.caller = pthread_self();
	app.calls = 0;
	tcpx_log_hold();
	tcpx_log_relay(wants_the_lock, NULL);
	pthread_mutex_lock(&app.held);
	tcpx_warn(TCPX_SUB_NET, "under a lock");
	assert_int_equal(app.calls, 0);
	pthread_mutex_unlock(&app.held);
	tcpx_log_release();
	assert_int_equal(app.calls, 1); /* the end of the last engine waits for it */
	assert_true(app.other_thread);
	tcpx_warn(TCPX_SUB_NET, "without an engine");
	assert_int_equal(app.calls, 2);
	assert_false(app.other_thread);
	tcpx_log_sink(NULL, NULL);
}

TEST(a_slow_function_delays_nobody)
{
	unsigned taken = 0;

	app.calls = 0;
	tcpx_relay_hold();
	tcpx_relay_set(wants_the_lock, NULL);
	pthread_mutex_lock(&app.held);
	while (tcpx_relay_put(TCPX_LOG_WARN, "line"))
		taken++;
	assert_in_range(taken, RELAY_LINES, RELAY_LINES + 1); /* one may be in the call */
	pthread_mutex_unlock(&app.held);
	tcpx_relay_set(NULL, NULL); /* the old function has had every line */
	assert_int_equal(app.calls, taken);
	tcpx_relay_release();
}
