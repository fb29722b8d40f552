/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strangers talk nonsense, 700 of them. The log is a pipe that nobody reads, or a function that
 * calls the library: nobody else notices, and few lines come of it.
 */
#include "foe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_limit.h"
#include "core/engine/engine.h"
#include "net/registry.h"

#define STRANGERS 700

/* Says it and waits until it is hung up. */
static void
nonsense(tcpx_engine *at)
{
	char byte;
	struct foe f;

	foe_dial(&f, "127.0.3.1", tcpx_port(at));
	foe_say(&f, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
	while (read(f.fd, &byte, 1) > 0)
		;
	foe_close(&f);
}

static void
assert_serves(tcpx_engine *at)
{
	tcpx_engine *guest = open_with("guest", NULL, NULL);
	tcpx_peer *p = rig_add(guest, at);

	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	assert_ok(tcpx_notify(p, "here", 4));
	assert_note(at, "guest", "here");
	tcpx_peer_free(p);
	tcpx_close(guest);
}

/* Lines of what a descriptor has. */
static unsigned
lines_of(int fd)
{
	char some[4096];
	unsigned count = 0;
	ssize_t n;

	while ((n = read(fd, some, sizeof(some))) > 0)
		for (ssize_t i = 0; i < n; i++)
			count += some[i] == '\n';
	return count;
}

TEST(a_stderr_that_nobody_reads_stops_nothing)
{
	const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_STATS=off",
					 "TCPX_DEBUG=WARN", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	int end[2], terminal = dup(STDERR_FILENO);
	char dots[4096];
	tcpx_engine *e;

	tcpx_log_sink(NULL, NULL);
	assert_int_equal(pipe(end), 0);
	assert_int_equal(fcntl(end[1], F_SETFL, O_NONBLOCK), 0);
	memset(dots, '.', sizeof(dots));
	while (write(end[1], dots, sizeof(dots)) > 0)
		;
	assert_int_equal(fcntl(end[1], F_SETFL, 0), 0);
	dup2(end[1], STDERR_FILENO);
	opts.settings = settings;
	opts.listen = "127.0.3.1:0";
	assert_ok(tcpx_open(&opts, &e));
	for (int i = 0; i < STRANGERS; i++)
		nonsense(e);
	assert_int_equal(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(counters_of(e).refused, STRANGERS);
	tcpx_close(e);
	dup2(terminal, STDERR_FILENO);
	close(terminal);
	close(end[0]);
	close(end[1]);
}

TEST(strangers_get_ten_lines_a_second)
{
	char path[] = "/tmp/tcpx-log-XXXXXX", setting[64];
	int fd = mkstemp(path);
	uint64_t from_ns, seconds;
	tcpx_engine *e;
	unsigned lines;

	assert_true(fd >= 0);
	e = open_with("host", NULL, "TCPX_DEBUG=WARN");
	snprintf(setting, sizeof(setting), "%s", path);
	assert_int_equal(tcpx_log_setup("WARN", NULL, setting), 0);
	from_ns = tcpx_clock_now(&tcpx_clock_system);
	for (int i = 0; i < STRANGERS; i++)
		nonsense(e);
	seconds = (tcpx_clock_now(&tcpx_clock_system) - from_ns) / TCPX_SEC + 1;
	assert_serves(e);
	lines = lines_of(fd);
	assert_in_range(lines, 1, LOG_A_SECOND * (seconds + 1));
	tcpx_close(e);
	tcpx_log_sink(NULL, NULL);
	close(fd);
	unlink(path);
}

/* ---- a function that calls back ---- */

static struct {
	pthread_mutex_t lock; /* no line asks an engine that is being closed */
	tcpx_engine *e;
	atomic_uint answers;
} back = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
ask_back(tcpx_engine *e)
{
	pthread_mutex_lock(&back.lock);
	back.e = e;
	pthread_mutex_unlock(&back.lock);
}

static void
calls_back(void *arg, int level, const char *line)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };
	struct tcpx_channel_info rows[4];
	size_t n = 4;

	(void)arg, (void)level, (void)line;
	pthread_mutex_lock(&back.lock);
	if (back.e && tcpx_query(back.e, &c) == 0 &&
	    tcpx_query_channels(back.e, rows, sizeof(rows[0]), &n) == 0)
		back.answers++;
	pthread_mutex_unlock(&back.lock);
}

TEST(a_function_of_the_application_may_call_the_library)
{
	const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_STATS=off",
					 "TCPX_DEBUG=INFO", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e, *second;
	tcpx_peer *p;
	unsigned before;

	opts.settings = settings;
	opts.listen = "127.0.3.1:0";
	assert_ok(tcpx_open(&opts, &e));
	opts.log = calls_back;
	opts.listen = "off";
	assert_ok(tcpx_open(&opts, &second));
	p = rig_add(second, e);
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	ask_back(second);
	before = back.answers;
	tcpx_close(e); /* the session is lost, under its lock */
	while (tcpx_peer_wait(p, WAIT_MS) == 0)
		;
	while (back.answers == before)
		sched_yield();
	ask_back(NULL);
	tcpx_peer_free(p);
	tcpx_close(second);
	tcpx_log_sink(NULL, NULL);
}

/* ---- no descriptor ---- */

static struct {
	_Atomic bool short_of;
	atomic_uint calls;
} taking;

static int
accept_some(struct tcpx_stream *listener, struct tcpx_stream **stream, struct tcpx_addr *from,
	    struct tcpx_addr *at)
{
	taking.calls += taking.short_of;
	return taking.short_of ? -EMFILE : tcpx_net_sock.accept(listener, stream, from, at);
}

TEST(a_listener_without_descriptors_rests)
{
	struct tcpx_net_ops ops = tcpx_net_sock;
	struct engine_env env = { .clock = tcpx_clock_system, .net = &ops };
	const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_STATS=off", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	uint64_t from_ns;
	tcpx_engine *e;
	struct foe f;

	ops.accept = accept_some;
	opts.settings = settings;
	opts.listen = "127.0.3.1:0";
	assert_ok(tcpx_engine_open(&opts, &env, &e));
	taking.short_of = true;
	from_ns = tcpx_clock_now(&tcpx_clock_system);
	foe_dial(&f, "127.0.3.1", tcpx_port(e));
	while (taking.calls < 5)
		sched_yield();
	assert_true(tcpx_clock_now(&tcpx_clock_system) - from_ns >= 400 * TCPX_MS);
	taking.short_of = false;
	assert_serves(e);
	foe_close(&f);
	tcpx_close(e);
}
