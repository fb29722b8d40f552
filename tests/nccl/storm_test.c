/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A net plugin of NCCL's under what jobs do to it: as many connections as 64 ranks have, again and
 * again in one process, connections that break, a process that exits at any moment.
 * Usage: nccl_storm PLUGIN [SEED [MOMENTS [VERSION]]]
 */
#include "cases.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pair.h"

enum {
	RANKS = 64, CHANNELS = 8,
	COMMS = (RANKS - 1) * CHANNELS, /* of a process, each way                            */
	ROUNDS = 20,
};

static const char *plugin;
static uint32_t seed = 1;
static unsigned moments = 20;
static int version; /* 0: several */

/* That of the @i-th run. */
static int
version_of(unsigned i)
{
	static const int several[] = { 11, 8, 11, 12 };

	return version ? version : several[i % 4];
}

/* ---- flows over connections ------------------------------------------------------ */

struct storm {
	struct rank *rank;
	int comms;
	void *send[COMMS], *recv[COMMS];
	struct flow flow[2 * COMMS];
};

static bool
storm_open(struct storm *s, struct rank *r, int comms, uint32_t messages, uint32_t largest)
{
	s->rank = r;
	s->comms = comms;
	if (!pair_connect(r, s->send, s->recv, comms))
		return false;
	for (int i = 0; i < 2 * comms; i++) {
		bool sends = i < comms;

		s->flow[i] = (struct flow){ .player = &r->player, .sends = sends, .total = messages,
					    .comm = sends ? s->send[i] : s->recv[i - comms],
					    .largest = largest, .seed = seed * 10000ull +
					    (uint64_t)(i % comms) * 2 + (sends == (r->me == 0)) };
		flow_open(&s->flow[i]);
	}
	return true;
}

/* One look at each. True: there is more to do. */
static bool
storm_step(struct storm *s)
{
	bool more = false;

	for (int i = 0; i < 2 * s->comms; i++)
		more |= flow_step(&s->flow[i]);
	return more;
}

static uint32_t
storm_done(const struct storm *s)
{
	uint32_t done = 0;

	for (int i = 0; i < 2 * s->comms; i++)
		done += s->flow[i].done;
	return done;
}

static bool
storm_is_right(const struct storm *s)
{
	for (int i = 0; i < 2 * s->comms; i++)
		if (s->flow[i].failed || s->flow[i].what[0]) {
			fprintf(stderr, "rank %d: result %d, %s; %s\n", s->rank->me,
				(int)s->flow[i].failed, s->flow[i].what, player_warnings());
			return false;
		}
	return true;
}

static void
storm_close(struct storm *s)
{
	for (int i = 0; i < 2 * s->comms; i++)
		flow_close(&s->flow[i]);
}

/* ---- the connections of 64 ranks ------------------------------------------------- */

static int
play_many(struct rank *r)
{
	static struct storm s;
	bool good;

	if (!storm_open(&s, r, COMMS, 2, 4096))
		return 1;
	while (storm_step(&s))
		;
	good = storm_is_right(&s);
	pair_meet(r);
	storm_close(&s);
	return !good;
}

TEST(connections_of_64_ranks_stand_at_once)
{
	assert_true(pair_run(plugin, version_of(0), play_many, NULL));
}

/* ---- again and again ------------------------------------------------------------- */

static int
count_entries(const char *path)
{
	DIR *d = opendir(path);
	int count = 0;

	while (d && readdir(d))
		count++;
	if (d)
		closedir(d);
	return count;
}

static int
count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	int count = 0, c;

	while (f && (c = fgetc(f)) != EOF)
		count += c == '\n';
	if (f)
		fclose(f);
	return count;
}

/* A sanitizer's allocator makes mappings of its own. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

struct census {
	int fds, threads, mappings;
};

static struct census
take_census(struct rank *r)
{
	pair_meet(r); /* the other has closed its comms, too */
	return (struct census){ count_entries("/proc/self/fd"), count_entries("/proc/self/task"),
				__asan_init || __tsan_init ? 0 : count_mappings() };
}

static void
most(struct census *of, const struct census *c)
{
	of->fds = c->fds > of->fds ? c->fds : of->fds;
	of->threads = c->threads > of->threads ? c->threads : of->threads;
	of->mappings = c->mappings > of->mappings ? c->mappings : of->mappings;
}

/* Each round is a communicator from its plugin's loading on. A session may still be wiring channels in the
 * first ones. */
static int
play_rounds(struct rank *r)
{
	static struct storm s;
	struct census first = { 0 }, now = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		if (round > 0)
			player_open(&r->player, plugin, version_of(0));
		if (!storm_open(&s, r, 4, 10, 256 << 10))
			return 1;
		while (storm_step(&s))
			;
		if (!storm_is_right(&s))
			return 2;
		pair_meet(r);
		storm_close(&s);
		if (round < ROUNDS - 1)
			player_close(&r->player);
		now = take_census(r);
		if (round < ROUNDS / 2)
			most(&first, &now);
	}
	if (now.fds <= first.fds && now.threads <= first.threads && now.mappings <= first.mappings)
		return 0;
	fprintf(stderr, "rank %d: descriptors %d, then %d; threads %d, %d; mappings %d, %d\n", r->me,
		first.fds, now.fds, first.threads, now.threads, first.mappings, now.mappings);
	return 3;
}

TEST(communicators_come_and_go_and_leave_nothing)
{
	bool good;

	setenv("TCPX_NARROW", "0", 1); /* a session under load opens channels in any round */
	good = pair_run(plugin, version_of(0), play_rounds, NULL);
	unsetenv("TCPX_NARROW");
	assert_true(good);
}

/* ---- connections that break ------------------------------------------------------ */

static bool
is_connection(int fd)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);

	return getpeername(fd, (struct sockaddr *)&at, &len) == 0 && at.ss_family == AF_INET;
}

/* One of this process's TCP connections: of a channel, or a control stream. */
static bool
break_one(uint32_t *rng)
{
	int from = (int)(flow_random(rng) % 1024);

	for (int i = 0; i < 1024; i++)
		if (is_connection((from + i) % 1024))
			return shutdown((from + i) % 1024, SHUT_RDWR) == 0;
	return false;
}

/* One for each twelfth of the messages, however many looks these take. */
static int
play_breaks(struct rank *r)
{
	enum { EACH = 200, ALL = 8 * EACH };
	static struct storm s;
	uint32_t rng = seed * 2654435761u + (uint32_t)r->me + 1, broken = 0;

	if (!storm_open(&s, r, 4, EACH, 256 << 10))
		return 1;
	while (storm_step(&s))
		if (storm_done(&s) * 12 / ALL > broken)
			broken += break_one(&rng);
	pair_meet(r);
	if (!storm_is_right(&s))
		return 2;
	storm_close(&s);
	fprintf(stderr, "# rank %d broke %u connections\n", r->me, broken);
	return broken < 3;
}

TEST(connections_that_break_cost_no_byte)
{
	assert_true(pair_run(plugin, version_of(0), play_breaks, NULL));
}

/* Memory goes before the comms do, while messages are repeated over other connections. */
static int
play_aborts(struct rank *r)
{
	enum { ABORTS = 3, PAIRS = 8 };
	static struct storm s;
	uint32_t rng = seed * 2654435761u + (uint32_t)r->me + 1;
	bool good = true;

	for (int round = 0; good && round < ABORTS; round++) {
		uint32_t looks = flow_random(&rng) % 2000, breaks = looks / 4 + 1;

		if (!storm_open(&s, r, PAIRS, 1000, 256 << 10))
			return 1;
		for (uint32_t i = 0; i < looks && storm_step(&s); i++)
			if (i % breaks == 0)
				(void)break_one(&rng);
		for (int i = 0; i < 2 * PAIRS; i++) {
			s.flow[i].failed = NCCL_OK; /* the other side may have been first */
			flow_abort(&s.flow[i]);
		}
		good = storm_is_right(&s);
		pair_meet(r);
	}
	return !good;
}

TEST(aborts_leave_memory_alone_while_connections_break)
{
	for (unsigned i = 1; i <= 3; i++)
		assert_true(pair_run(plugin, version_of(i), play_aborts, NULL));
}

/* ---- exit ------------------------------------------------------------------------ */

static struct {
	struct rank *rank;
	atomic_uint looks;
	atomic_bool ended;
} progress;

/* Until something fails, as the other process goes when it likes. */
static void *
run_progress(void *arg)
{
	static struct storm s;

	if (storm_open(&s, progress.rank, 2, 1000000, 512 << 10))
		while (storm_step(&s))
			atomic_fetch_add(&progress.looks, 1);
	atomic_store(&progress.ended, true);
	return NULL;
}

/* Connecting to one that has gone goes on for minutes. */
static bool
is_alone(const struct rank *r)
{
	struct pollfd p = { .fd = r->link };

	return atomic_load(&progress.looks) == 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLHUP);
}

/* As an application ends whose main() returns while NCCL's threads are at work. The first moments
 * are those of connecting. */
static int
play_exit(struct rank *r)
{
	uint32_t rng = *(const uint32_t *)r->arg * 2654435761u + (uint32_t)r->me + 1;
	bool connecting = flow_random(&rng) % 4 == 0;
	uint32_t moment = flow_random(&rng) % (connecting ? 300 : 3000);
	pthread_t thread;

	progress.rank = r;
	alarm(60);
	if (pthread_create(&thread, NULL, run_progress, NULL))
		return 1;
	for (uint32_t i = 0; !atomic_load(&progress.ended) && !is_alone(r); i++) {
		if ((connecting ? i : atomic_load(&progress.looks)) >= moment)
			break;
		sched_yield();
	}
	exit(0);
}

/* A process that finds the other one gone while it meets it ends with 3. */
TEST(a_process_exits_at_any_moment)
{
	for (uint32_t i = 0; i < moments; i++) {
		uint32_t of = seed * 1000 + i;

		assert_true(pair_run_to(plugin, version_of(i), play_exit, &of, 3));
	}
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	plugin = argv[1];
	if (argc > 2)
		seed = (uint32_t)strtoul(argv[2], NULL, 0);
	if (argc > 3)
		moments = (unsigned)strtoul(argv[3], NULL, 0);
	if (argc > 4)
		version = atoi(argv[4]);
	if (argc > 4 && (version < 6 || version > 12)) {
		fprintf(stderr, "version \"%s\": 6 to 12 are allowed\n", argv[4]);
		return 2;
	}
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	return run_cases(NULL, NULL);
}
