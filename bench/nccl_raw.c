/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plain TCP sockets carry of the same operations as nccl_p2p, by the same commands and answers: the
 * ceiling of whatever uses sockets. Two processes, a thread for each connection and direction, blocking calls;
 * only what crosses between the ranks is moved, and nothing is summed. Message k begins when message k - 1 has
 * come whole at the other rank; what answers received data, as the second half of an all-reduce or the way back
 * of a ping-pong, when that has come whole. A note of that is a count in shared memory, which costs little.
 *
 * The first command of a verb and size tries plans, compares every byte of each, and keeps the fastest: numbers
 * of connections, pages copied or lent, and, of what is small, one thread for both directions. A connection
 * uses the same STAGE_BYTES of memory at either end again and again, as NCCL does its buffers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "nccl_data.h"

enum {
	CONNS_MAX = 64,       /* each way                                                          */
	AHEAD = 4,            /* steps; a receiver is at most one ahead of another                 */
	CHOICES = 64,         /* kept                                                              */
	TRIES = 3,            /* of each plan; its best counts                                     */
	PART_MIN = 4096,      /* of a message, on a connection that is not the only one            */
	LEND_MIN = 16 << 10,
	TURNS_MAX = 32 << 10, /* fits into sockets' buffers: both may send before they receive     */
	TRIAL_MAX = 64 << 20, /* longer ones are not tried in all ways                             */
	PIPE_BYTES = 1 << 20,
	SPINS = 100           /* before a thread sleeps                                            */
};

/* A way to do a command. */
struct plan {
	struct command c;
	uint64_t bytes[2][2]; /* that a rank sends in each step of a message; 0: no step */
	unsigned conns;
	bool lend, turns;     /* turns: the sending threads receive, too                 */
	bool check;
};

/* Of both processes. The plan changes only while all workers wait to begin. */
struct common {
	struct plan plan;
	pthread_barrier_t begin, end; /* all workers and rank 0's first thread      */
	atomic_uint sleepers;
	atomic_ullong wrong;
	struct {
		_Alignas(64) atomic_uint whole; /* steps that all connections have received */
		atomic_uint came[AHEAD];        /* connections that have, of the next steps */
	} at[2];
};

struct conn {
	int out, in, pipe[2]; /* sockets of one direction each; pipe: of pages that are lent */
	size_t pipe_bytes;
	uint8_t *src, *dst, *want;
};

struct raw {
	struct common *common;
	struct conn conn[CONNS_MAX];
	unsigned conns, choices;
	size_t piece; /* of a call */
	int me;
	pid_t child;
	double stamp[ROUND_TRIPS + 1];
	struct plan chosen[CHOICES];
};

struct worker {
	struct raw *r;
	unsigned k;
	bool sends;
};

static void __attribute__((noreturn))
die(const char *what)
{
	fprintf(stderr, "nccl_raw: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double
clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- workers ---------------------------------------------------------------------- */

static void
wait_for(struct common *s, atomic_uint *a, unsigned target)
{
	unsigned seen, spins = 0;

	while ((int)((seen = atomic_load(a)) - target) < 0) {
		if (spins++ < SPINS) {
			sched_yield();
			continue;
		}
		atomic_fetch_add(&s->sleepers, 1);
		syscall(SYS_futex, a, FUTEX_WAIT, seen, NULL, NULL, 0);
		atomic_fetch_sub(&s->sleepers, 1);
	}
}

static void
send_piece(const struct conn *c, const uint8_t *from, size_t len, bool lend)
{
	while (len) {
		struct iovec v = { (void *)from, len < c->pipe_bytes ? len : c->pipe_bytes };
		ssize_t n = lend ? vmsplice(c->pipe[1], &v, 1, 0) : send(c->out, from, len, MSG_NOSIGNAL);
		ssize_t gone;

		if (n <= 0)
			die(lend ? "vmsplice" : "send");
		from += n;
		len -= (size_t)n;
		for (; lend && n; n -= gone) {
			gone = splice(c->pipe[0], NULL, c->out, NULL, (size_t)n, len ? SPLICE_F_MORE : 0);
			if (gone <= 0)
				die("splice");
		}
	}
}

static void
recv_piece(struct common *s, const struct conn *c, size_t at, size_t len)
{
	bool check = s->plan.check;
	uint64_t wrong = 0;

	if (check)
		memset(c->dst + at, 0xa5, len);
	if (recv(c->in, c->dst + at, len, MSG_WAITALL) != (ssize_t)len)
		die("recv");
	for (size_t i = at; check && i < at + len; i++)
		wrong += c->dst[i] != c->want[i];
	if (wrong)
		atomic_fetch_add(&s->wrong, wrong);
}

/* A connection's part of a step; it begins where its memory does. */
static void
move_part(struct raw *r, unsigned k, uint64_t bytes, bool out)
{
	const struct plan *p = &r->common->plan;
	uint64_t from = bytes * k / p->conns & ~4095ull;
	uint64_t end = k + 1 == p->conns ? bytes : bytes * (k + 1) / p->conns & ~4095ull;

	for (uint64_t at = 0; at < end - from; at += r->piece) {
		size_t piece = end - from - at < r->piece ? end - from - at : r->piece;

		if (out)
			send_piece(&r->conn[k], r->conn[k].src + at % STAGE_BYTES, piece, p->lend);
		else
			recv_piece(r->common, &r->conn[k], at % STAGE_BYTES, piece);
	}
}

/* @came: steps that each rank has received before the message; after it, with it. */
static void
worker_message(const struct worker *w, unsigned came[2])
{
	struct raw *r = w->r;
	struct common *s = r->common;
	const struct plan *p = &s->plan;
	unsigned before = came[!r->me];
	int me = r->me;

	for (int i = 0; i < 2; i++) {
		atomic_uint *slot = &s->at[me].came[came[me] % AHEAD];

		if (w->sends && p->bytes[i][me]) {
			wait_for(s, &s->at[!me].whole, before);
			wait_for(s, &s->at[me].whole, came[me]);
			move_part(r, w->k, p->bytes[i][me], true);
		}
		if (w->sends == p->turns && p->bytes[i][!me]) {
			move_part(r, w->k, p->bytes[i][!me], false);
			if (atomic_fetch_add(slot, 1) + 1 == p->conns) {
				atomic_store(slot, 0);
				atomic_fetch_add(&s->at[me].whole, 1);
				if (atomic_load(&s->sleepers))
					syscall(SYS_futex, &s->at[me].whole, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
			}
		}
		came[0] += p->bytes[i][1] > 0;
		came[1] += p->bytes[i][0] > 0;
	}
}

static void *__attribute__((noreturn))
worker_main(void *arg)
{
	const struct worker *w = arg;
	struct common *s = w->r->common;
	const struct plan *p = &s->plan;

	for (;;) {
		unsigned came[2] = { 0, 0 };
		bool times;

		pthread_barrier_wait(&s->begin);
		times = p->c.verb == PINGPONG && w->r->me == 0 && w->sends && w->k == 0;
		for (uint64_t i = 0; i < p->c.count && w->k < p->conns; i++) {
			if (times)
				w->r->stamp[i] = clock_s(CLOCK_MONOTONIC);
			worker_message(w, came);
			if (times) {
				wait_for(s, &s->at[0].whole, came[0]);
				w->r->stamp[i + 1] = clock_s(CLOCK_MONOTONIC);
			}
		}
		pthread_barrier_wait(&s->end);
	}
}

/* ---- rank 0: commands ------------------------------------------------------------- */

/* Returns the seconds. */
static double
run(struct raw *r, const struct plan *p, uint64_t count, bool check)
{
	struct common *s = r->common;
	double start;

	s->plan = *p;
	s->plan.c.count = count;
	s->plan.check = check;
	atomic_store(&s->at[0].whole, 0);
	atomic_store(&s->at[1].whole, 0);
	start = clock_s(CLOCK_MONOTONIC);
	pthread_barrier_wait(&s->begin);
	pthread_barrier_wait(&s->end);
	return clock_s(CLOCK_MONOTONIC) - start;
}

/* The steps of @c; false: none of it crosses between two ranks. */
static bool
plan_steps(const struct command *c, struct plan *p)
{
	bool there = c->verb == UNI || c->verb == PINGPONG;
	uint64_t half = c->size / 2, first = verb_is_collective(c->verb) ? half : c->size;

	*p = (struct plan){ .c = *c, .bytes = { { first, there ? 0 : first } } };
	if (c->verb == ALLREDUCE)
		p->bytes[1][0] = p->bytes[1][1] = half;
	if (c->verb == PINGPONG)
		p->bytes[1][1] = c->size;
	return c->verb != PATH && c->verb != PATHBI;
}

static bool
plan_fits(const struct plan *p)
{
	uint64_t part = p->bytes[0][0];

	if (p->conns > 1 && part / p->conns < PART_MIN)
		return false;
	if (p->lend && part / p->conns < LEND_MIN)
		return false;
	return p->c.verb == PINGPONG ? p->turns : !p->turns || part <= TURNS_MAX;
}

/* Returns the seconds of a message. */
static double
try_plan(struct raw *r, const struct plan *p, bool check)
{
	double count;

	if (check)
		run(r, p, 1, true);
	count = 0.02 / run(r, p, 1, false);
	count = count < 2 ? 2 : count > ROUND_TRIPS ? ROUND_TRIPS : count;
	return run(r, p, (uint64_t)count, false) / (double)(uint64_t)count;
}

/* Of the verb and size of @p, which has the steps: kept, or the fastest of all. Long messages go the way that
 * is fastest at TRIAL_MAX. */
static const struct plan *
find_plan(struct raw *r, struct plan p)
{
	struct plan *best = r->chosen, trial = p;
	struct command c = p.c;
	double least = 0;

	for (unsigned i = 0; i < r->choices; i++, best++)
		if (best->c.verb == p.c.verb && best->c.size == p.c.size)
			return best;
	if (r->choices == CHOICES)
		r->choices = 0;
	best = &r->chosen[r->choices++];
	c.size = c.size < TRIAL_MAX ? c.size : TRIAL_MAX;
	plan_steps(&c, &trial);
	for (unsigned i = 0; i < 4 * TRIES; i++) { /* all in turn: others may use the machine for a while */
		trial.lend = i & 1;
		trial.turns = i & 2;
		for (trial.conns = r->conns; trial.conns; trial.conns /= 2) {
			double each = plan_fits(&trial) ? try_plan(r, &trial, i < 4) : 0;

			if (each && (!least || each < least)) {
				least = each;
				*best = trial;
			}
		}
	}
	best->c = p.c;
	memcpy(best->bytes, p.bytes, sizeof(p.bytes));
	if (p.c.size > TRIAL_MAX)
		run(r, best, 1, true);
	return best;
}

static double
cpu_s(const struct raw *r)
{
	clockid_t childs;

	if (clock_getcpuclockid(r->child, &childs))
		die("the other process's clock");
	return clock_s(CLOCK_PROCESS_CPUTIME_ID) + clock_s(childs);
}

static void
answer(struct raw *r, const struct command *c, const struct plan *steps)
{
	static float us[ROUND_TRIPS];
	const struct plan *p;
	double seconds, cpu;

	atomic_store(&r->common->wrong, 0);
	p = find_plan(r, *steps);
	run(r, p, c->count < 4 ? c->count : 4, false); /* warm-up */
	cpu = cpu_s(r);
	seconds = run(r, p, c->count, false);
	answer_print(c, seconds, cpu_s(r) - cpu, atomic_load(&r->common->wrong));
	printf(", \"way\": \"%s\", \"connections\": %u, \"threads\": \"%s\"",
	       p->lend ? "lent" : "copied", p->conns, p->turns ? "in turns" : "one a direction");
	for (uint64_t i = 0; c->verb == PINGPONG && i < c->count; i++)
		us[i] = (float)((r->stamp[i + 1] - r->stamp[i]) * 1e6 / 2);
	if (c->verb == PINGPONG)
		round_trips_print(us, c->count);
	printf("}\n");
	fflush(stdout);
}

static void
serve_stdin(struct raw *r)
{
	struct command c;
	struct plan steps;
	char line[128];

	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		if (command_parse(line, &c) && plan_steps(&c, &steps))
			answer(r, &c, &steps);
		else
			command_refuse();
	}
}

/* ---- both ------------------------------------------------------------------------- */

static void *
memory(size_t bytes, int how)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		die("memory");
	return mem;
}

/* From and to this process. Reno, as the library takes within a host. */
static void
connect_one(int ends[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	socklen_t len = sizeof(a);

	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&a, len) || listen(listener, 1) || getsockname(listener, (void *)&a, &len) ||
	    connect(ends[0], (void *)&a, len))
		die("connect");
	ends[1] = accept(listener, NULL, NULL);
	if (setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    setsockopt(ends[0], IPPROTO_TCP, TCP_CONGESTION, "reno", 4))
		die("socket");
	close(listener);
}

static void
open_conn(struct raw *r, unsigned k, int ends[2][2])
{
	struct conn *c = &r->conn[k];

	*c = (struct conn){ .out = ends[r->me][0], .in = ends[!r->me][1] };
	close(ends[r->me][1]);
	close(ends[!r->me][0]);
	c->src = memory(3 * STAGE_BYTES, MAP_PRIVATE);
	c->dst = c->src + STAGE_BYTES;
	c->want = c->dst + STAGE_BYTES;
	memset(c->dst, 0, STAGE_BYTES);
	data_fill(c->src, (uint64_t)k * STAGE_BYTES, r->me);
	data_fill(c->want, (uint64_t)k * STAGE_BYTES, 1 - r->me);
	if (pipe(c->pipe))
		die("pipe");
	fcntl(c->pipe[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller one does, too */
	c->pipe_bytes = (size_t)fcntl(c->pipe[1], F_GETPIPE_SZ);
}

static void
open_common(struct raw *r)
{
	pthread_barrierattr_t both;

	r->common = memory(sizeof(*r->common), MAP_SHARED);
	pthread_barrierattr_init(&both);
	pthread_barrierattr_setpshared(&both, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&r->common->begin, &both, 4 * r->conns + 1);
	pthread_barrier_init(&r->common->end, &both, 4 * r->conns + 1);
}

static void
child_gone(int signal)
{
	_exit(1);
}

int
main(int argc, char **argv)
{
	static struct raw r;
	static struct worker workers[2 * CONNS_MAX];
	static int ends[CONNS_MAX][2][2];
	int conns = argc > 1 ? atoi(argv[1]) : 16, kib = argc > 2 ? atoi(argv[2]) : 512;
	double start = clock_s(CLOCK_MONOTONIC);
	pthread_t id;

	if (argc > 3 || conns < 1 || conns > CONNS_MAX || kib < 4 || STAGE_BYTES % (kib << 10)) {
		fprintf(stderr, "usage: nccl_raw [CONNECTIONS [KIB]]   up to %d each way, calls of KIB\n",
			CONNS_MAX);
		return 2;
	}
	r = (struct raw){ .conns = (unsigned)conns, .piece = (size_t)kib << 10 };
	open_common(&r);
	for (unsigned i = 0; i < 2 * r.conns; i++)
		connect_one(ends[i / 2][i % 2]);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, child_gone);
	r.child = fork();
	if (r.child < 0)
		die("fork");
	r.me = r.child == 0;
	if (r.me)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned k = 0; k < r.conns; k++)
		open_conn(&r, k, ends[k]);
	for (unsigned i = 0; i < 2 * r.conns; i++) {
		workers[i] = (struct worker){ &r, i / 2, i % 2 };
		if (pthread_create(&id, NULL, worker_main, &workers[i]))
			die("thread");
	}
	while (r.me)
		pause();
	printf("{\"ready\": true, \"nccl\": \"none\", \"setup_s\": %.2f}\n", clock_s(CLOCK_MONOTONIC) - start);
	fflush(stdout);
	serve_stdin(&r);
	signal(SIGCHLD, SIG_DFL);
	kill(r.child, SIGKILL);
	return 0;
}
