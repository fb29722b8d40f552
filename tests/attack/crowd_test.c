/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many peers of one engine: at once, one after the other, and open together. Each is an engine, in
 * other processes than the one that they connect to. CROWD_LOAD="AT_ONCE ONE_BY_ONE TOGETHER" runs
 * more of them, and holds what they cost to the limits that are stated here.
 */
#include "foe.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAMILIES 8    /* processes that the peers are spread over */
#define PROBES   40   /* set-ups that are timed                   */
#define RATE_NS  2000000000ull
#define ROUNDS   3
#define ATTEMPTS 5

static struct {
	int at_once, one_by_one, together;
	bool judged;
} load = { 64, 60, 64, false };

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static tcpx_engine *
wide_open(const char *name, bool listens, const char *channels)
{
	const char *const settings[] = { "TCPX_NICS=127.0.1.1", channels, "TCPX_THREADS=1",
					 "TCPX_STATS=off", "TCPX_CONNECT_MS=60s", "TCPX_NARROW=0", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	opts.name = name;
	opts.settings = settings;
	opts.listen = listens ? "127.0.3.1:0" : "off";
	assert_ok(tcpx_open(&opts, &e));
	return e;
}

static tcpx_engine *
one_open(const char *name, bool listens)
{
	return wide_open(name, listens, "TCPX_CHANNELS=1");
}

static tcpx_peer *
dial(tcpx_engine *e, uint16_t port)
{
	tcpx_peer *p;
	char at[32];

	snprintf(at, sizeof(at), "127.0.3.1:%u", port);
	assert_ok(tcpx_peer_connect(e, at, &p));
	return p;
}

static size_t
resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- peers in processes of their own ---- */

struct family {
	pid_t pid;
	int in, out; /* this end's */
};

struct report {
	int ok;
	double slowest;
};

/* A process of @count engines: opens them, and answers each byte. At the first all connect, at the
 * second all are closed. */
static void
family_run(int count, uint16_t port, int in, int out)
{
	tcpx_engine **e = calloc((size_t)count, sizeof(*e));
	tcpx_peer **p = calloc((size_t)count, sizeof(*p));
	struct report r = { 0, 0 };
	double began;
	char go = 0;

	for (int i = 0; i < count; i++)
		e[i] = one_open("one of many", false);
	if (write(out, &go, 1) != 1 || read(in, &go, 1) != 1)
		_exit(1);
	began = now();
	for (int i = 0; i < count; i++)
		p[i] = dial(e[i], port);
	for (int i = 0; i < count; i++)
		r.ok += tcpx_peer_wait(p[i], 60000) == 0;
	r.slowest = now() - began;
	if (write(out, &r, sizeof(r)) != sizeof(r) || read(in, &go, 1) != 1)
		_exit(1);
	for (int i = 0; i < count; i++) {
		tcpx_peer_free(p[i]);
		tcpx_close(e[i]);
	}
	_exit(0);
}

/* Before this process has threads. @port comes with the first byte's two. */
static struct family
family_begin(int count)
{
	struct family f;
	int to[2], from[2];
	uint16_t port;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	f.pid = fork();
	assert_true(f.pid >= 0);
	if (f.pid == 0) {
		close(to[1]);
		close(from[0]);
		if (read(to[0], &port, sizeof(port)) == sizeof(port))
			family_run(count, port, to[0], from[1]);
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	f.in = from[0];
	f.out = to[1];
	return f;
}

static void
families_begin(struct family *f, int count)
{
	for (int i = 0; i < FAMILIES; i++)
		f[i] = family_begin(count / FAMILIES);
}

static void
families_open(struct family *f, uint16_t port)
{
	char ready;

	for (int i = 0; i < FAMILIES; i++)
		assert_int_equal(write(f[i].out, &port, sizeof(port)), sizeof(port));
	for (int i = 0; i < FAMILIES; i++)
		assert_int_equal(read(f[i].in, &ready, 1), 1);
}

/* All connect. */
static struct report
families_go(struct family *f)
{
	struct report all = { 0, 0 }, r;

	for (int i = 0; i < FAMILIES; i++)
		assert_int_equal(write(f[i].out, "g", 1), 1);
	for (int i = 0; i < FAMILIES; i++) {
		assert_int_equal(read(f[i].in, &r, sizeof(r)), sizeof(r));
		all.ok += r.ok;
		if (r.slowest > all.slowest)
			all.slowest = r.slowest;
	}
	return all;
}

static void
families_end(struct family *f)
{
	int status;

	for (int i = 0; i < FAMILIES; i++)
		assert_int_equal(write(f[i].out, "e", 1), 1);
	for (int i = 0; i < FAMILIES; i++) {
		assert_int_equal(waitpid(f[i].pid, &status, 0), f[i].pid);
		assert_int_equal(status, 0);
		close(f[i].in);
		close(f[i].out);
	}
}

/* ---- the cases ---- */

TEST(all_that_come_at_once_get_in)
{
	struct family f[FAMILIES];
	struct report r;
	tcpx_engine *hub;

	families_begin(f, load.at_once);
	hub = one_open("hub", true);
	families_open(f, tcpx_port(hub));
	r = families_go(f);
	print_message("# %d of %d engines that connect at once have a session, the last after %.2f s\n",
		      r.ok, load.at_once, r.slowest);
	assert_int_equal(r.ok, load.at_once / FAMILIES * FAMILIES);
	families_end(f);
	tcpx_close(hub);
}

static void
come_and_go(tcpx_engine *hub, int count)
{
	for (int i = 0; i < count; i++) {
		tcpx_engine *e = one_open("guest", false);
		tcpx_peer *p = dial(e, tcpx_port(hub));

		assert_ok(tcpx_peer_wait(p, 60000));
		assert_ok(tcpx_notify(p, "here", 4));
		assert_note(hub, "guest", "here");
		tcpx_peer_free(p);
		tcpx_close(e);
	}
	while (counters_of(hub).sessions)
		sched_yield();
}

/* A session that is counted no more may have its last reference, and some memory, for a moment. */
static void
assert_memory_returns(tcpx_engine *hub, uint64_t memory)
{
	uint64_t end_ns = tcpx_clock_now(&tcpx_clock_system) + 60 * TCPX_SEC;

	while (counters_of(hub).memory_bytes != memory && tcpx_clock_now(&tcpx_clock_system) < end_ns)
		sched_yield();
	assert_int_equal(counters_of(hub).memory_bytes, memory);
}

TEST(those_that_have_gone_leave_nothing_behind)
{
	tcpx_engine *hub = one_open("hub", true);
	size_t before, after;
	uint64_t memory = counters_of(hub).memory_bytes;
	int fds, threads;

	come_and_go(hub, load.one_by_one / 10);
	assert_memory_returns(hub, memory);
	before = resident();
	fds = fd_count();
	threads = thread_count();
	come_and_go(hub, load.one_by_one);
	after = resident();
	print_message("# %d sessions one after the other: %+ld KiB resident, %+d descriptors\n",
		      load.one_by_one, ((long)after - (long)before) / 1024, fd_count() - fds);
	assert_memory_returns(hub, memory);
	assert_int_equal(fd_count(), fds);
	assert_threads(threads);
	if (load.judged)
		assert_in_range(after, 0, before + (1 << 20));
	tcpx_close(hub);
}

/* As many channels as one may have. */
TEST(nor_do_those_with_many_channels)
{
	enum { WIDE = 6, CHANNELS = 64 };
	tcpx_engine *hub = wide_open("hub", true, "TCPX_CHANNELS=64"), *e[WIDE];
	uint64_t memory = counters_of(hub).memory_bytes, each;
	tcpx_peer *p[WIDE];
	int fds = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < WIDE; i++) {
			e[i] = wide_open("guest", false, "TCPX_CHANNELS=64");
			p[i] = dial(e[i], tcpx_port(hub));
		}
		for (int i = 0; i < WIDE; i++) {
			assert_ok(tcpx_peer_wait(p[i], 60000));
			assert_ok(tcpx_notify(p[i], "here", 4));
			assert_note(hub, "guest", "here");
		}
		assert_true(fd_count() > WIDE * CHANNELS);
		each = (counters_of(hub).memory_bytes - memory) / WIDE;
		if (round == 0)
			print_message("# a session of %d channels each way: %llu KiB\n", CHANNELS,
				      (unsigned long long)each / 1024);
		assert_in_range(each, 1, 2 << 20);
		for (int i = 0; i < WIDE; i++) {
			tcpx_peer_free(p[i]);
			tcpx_close(e[i]);
		}
		while (counters_of(hub).sessions)
			sched_yield();
		fds = round == 0 ? fd_count() : fds;
		assert_int_equal(fd_count(), fds);
		assert_memory_returns(hub, memory);
	}
	tcpx_close(hub);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* CPU time of this process: hub and busy engine, and not those who are many. */
static double
cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Seconds, and of CPU: the medians of some that connect alone. */
static double
set_up(tcpx_engine *hub, double *cpu)
{
	double s[PROBES], c[PROBES];

	for (int i = 0; i < PROBES; i++) {
		tcpx_engine *e = one_open("probe", false);
		double began = now(), cpu_began = cpu_now();
		tcpx_peer *p = dial(e, tcpx_port(hub));

		assert_ok(tcpx_peer_wait(p, 60000));
		s[i] = now() - began;
		c[i] = cpu_now() - cpu_began;
		tcpx_peer_free(p);
		tcpx_close(e);
	}
	qsort(s, PROBES, sizeof(s[0]), by_size);
	qsort(c, PROBES, sizeof(c[0]), by_size);
	*cpu = c[PROBES / 2];
	return s[PROBES / 2];
}

/* WRITEs of 16 bytes a second, one at a time: the best of some rounds. *cpu: the least of one, in
 * seconds. */
static double
rate(tcpx_engine *e, tcpx_peer *p, uint64_t far, double *cpu)
{
	double most = 0;
	struct mem mine;

	mem_open(&mine, e, 4096, TCPX_MEM_LOCAL);
	for (int k = 0; k < (load.judged ? ROUNDS : 1); k++) {
		double began = now(), cpu_began = cpu_now(), s, each;
		int n = 0;

		do {
			struct tcpx_desc a = { mine.id, 0, 16 }, b = { far, 0, 16 };
			tcpx_xfer *x;

			assert_ok(tcpx_write(p, &a, 1, &b, 1, NULL, 0, &x));
			assert_ok(finish(x));
			n++;
			s = now() - began;
		} while (load.judged ? s < RATE_NS / 1e9 : n < 200);
		if (n / s > most)
			most = n / s;
		each = (cpu_now() - cpu_began) / n;
		if (k == 0 || each < *cpu)
			*cpu = each;
	}
	mem_close(&mine);
	return most;
}

TEST(those_that_are_open_cost_the_others_nothing)
{
	struct family f[FAMILIES];
	tcpx_engine *hub, *busy;
	double rate_before, rate_after = 0, up_before, up_after = 0;
	double cpu_before, cpu_after, up_cpu_before, up_cpu_after;
	size_t before, each;
	struct report r;
	tcpx_peer *p;
	struct mem far;

	families_begin(f, load.together);
	hub = one_open("hub", true);
	busy = one_open("busy", false);
	p = dial(busy, tcpx_port(hub));
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	mem_open(&far, hub, 4096, TCPX_MEM_REMOTE_WRITE);
	far.far = mem_tell(&far, hub, busy);
	families_open(f, tcpx_port(hub));
	rate_before = rate(busy, p, far.far, &cpu_before);
	up_before = set_up(hub, &up_cpu_before);
	before = resident();
	r = families_go(f);
	assert_int_equal(r.ok, load.together / FAMILIES * FAMILIES);
	while ((int)counters_of(hub).sessions < r.ok + 1)
		sched_yield();
	each = (resident() - before) / (size_t)r.ok;
	for (int i = 0; i < ATTEMPTS; i++) { /* other processes may disturb some */
		double up = set_up(hub, &up_cpu_after), a_second = rate(busy, p, far.far, &cpu_after);

		up_after = i == 0 || up < up_after ? up : up_after;
		rate_after = i == 0 || a_second > rate_after ? a_second : rate_after;
		if (!load.judged || (rate_after >= 0.8 * rate_before && up_after <= 1.2 * up_before))
			break;
	}
	print_message("# %d sessions open after %.2f s: %zu KiB resident each; set-up of one more "
		      "%.2f ms, alone %.2f ms; WRITEs of 16 bytes a second beside them %.0f, alone %.0f\n",
		      r.ok, r.slowest, each / 1024, up_after * 1e3, up_before * 1e3, rate_after,
		      rate_before);
	print_message("# CPU of a WRITE beside them %.2f us, alone %.2f; of a set-up %.0f us, alone %.0f\n",
		      cpu_after * 1e6, cpu_before * 1e6, up_cpu_after * 1e6, up_cpu_before * 1e6);
	if (load.judged) {
		assert_in_range(each, 0, 128 << 10);
		assert_true(rate_after >= 0.8 * rate_before);
		assert_true(up_after <= 3 * up_before); /* not 1.2 times: docs/results/hostile.md */
	}
	mem_close(&far);
	families_end(f);
	tcpx_peer_free(p);
	tcpx_close(busy);
	tcpx_close(hub);
}

int
main(void)
{
	const char *numbers = getenv("CROWD_LOAD");
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	load.judged = numbers && sscanf(numbers, "%d %d %d", &load.at_once, &load.one_by_one,
					&load.together) == 3;
	return run_cases(NULL, NULL);
}
