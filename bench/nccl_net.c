/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a message costs over a net plugin of NCCL's, without NCCL and without a GPU: its calls as
 * NCCL's proxies make them, between two processes. One line: microseconds for each iteration, and
 * CPU microseconds of both processes together.
 * Usage: nccl_net PLUGIN pingpong|exchange|stream BYTES COUNT
 *
 * pingpong: a message there, and one back. exchange: one each way at once, as a step of a ring of
 * two. stream: one way over COMMS comms with STEPS messages in flight on each.
 * Each process has a CPU.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "pair.h"

enum { COMMS = 4, VERSION = 11, WARM = 100 };

struct job {
	const char *mode;
	size_t bytes;
	unsigned count;
};

struct ends {
	struct player *player;
	void *send[COMMS], *recv[COMMS], *mhandle;
	uint8_t *memory; /* COMMS x STEPS messages to send, and as many to receive */
	size_t bytes;
};

static void __attribute__((noreturn))
die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, player_warnings());
	_Exit(1);
}

static void
open_ends(struct rank *r, struct ends *e, size_t bytes, int comms)
{
	size_t room = 2 * COMMS * STEPS * bytes;

	*e = (struct ends){ .player = &r->player, .bytes = bytes, .memory = calloc(1, room) };
	if (!e->memory || !pair_connect(r, e->send, e->recv, comms) ||
	    r->player.abi->reg(r->player.table, e->recv[0], e->memory, room, NCCL_PTR_HOST,
			       &e->mhandle))
		die("connecting");
	memset(e->memory, 1, room);
}

static void *
post(struct ends *e, bool sends, int comm, int step)
{
	const struct plug_abi *abi = e->player->abi;
	size_t slot = (size_t)((sends ? 0 : COMMS) + comm) * STEPS + (size_t)step;
	uint8_t *at = e->memory + slot * e->bytes;
	void *request = NULL;

	if (sends ? abi->isend(e->player->table, e->send[comm], at, e->bytes, 0, e->mhandle,
			       &request) :
		    abi->irecv(e->player->table, e->recv[comm], at, e->bytes, 0, e->mhandle,
			       &request))
		die("post");
	return request;
}

static bool
is_done(struct ends *e, void *request)
{
	int done = 0, size;

	if (e->player->abi->test(e->player->table, request, &done, &size))
		die("test");
	return done;
}

static void
wait_for(struct ends *e, void *request)
{
	while (!is_done(e, request))
		sched_yield(); /* as NCCL's thread does between two looks */
}

/* The receive first, as both proxies begin together. */
static void
pingpong(struct ends *e, int me, unsigned count)
{
	void *sent, *received;

	for (unsigned i = 0; i < count; i++) {
		received = post(e, false, 0, i % STEPS);
		if (me == 1)
			wait_for(e, received);
		sent = post(e, true, 0, i % STEPS);
		if (me == 0)
			wait_for(e, received);
		wait_for(e, sent);
	}
}

static void
exchange(struct ends *e, unsigned count)
{
	void *sent, *received;

	for (unsigned i = 0; i < count; i++) {
		received = post(e, false, 0, i % STEPS);
		sent = post(e, true, 0, i % STEPS);
		wait_for(e, received);
		wait_for(e, sent);
	}
}

static void
stream(struct ends *e, int me, unsigned count)
{
	void *request[COMMS][STEPS] = { 0 };
	unsigned posted[COMMS] = { 0 }, done[COMMS] = { 0 }, all = 0;

	while (all < COMMS * count) {
		for (int i = 0; i < COMMS; i++) {
			if (posted[i] < count && posted[i] < done[i] + STEPS &&
			    (request[i][posted[i] % STEPS] = post(e, me == 0, i, posted[i] % STEPS)))
				posted[i]++;
			if (done[i] < posted[i] && is_done(e, request[i][done[i] % STEPS])) {
				done[i]++;
				all++;
			}
		}
		sched_yield();
	}
}

static void
run(struct ends *e, int me, const struct job *j, unsigned count)
{
	if (!strcmp(j->mode, "pingpong"))
		pingpong(e, me, count);
	else if (!strcmp(j->mode, "exchange"))
		exchange(e, count);
	else
		stream(e, me, count);
}

static double
cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void
bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("no such CPU");
}

static int
play(struct rank *r)
{
	const struct job *j = r->arg;
	bool streams = !strcmp(j->mode, "stream");
	double cpu, other, messages = streams ? (double)j->count * COMMS : j->count;
	uint64_t ns;
	struct ends e;

	bind_to(r->me); /* its engine's threads, too */
	open_ends(r, &e, j->bytes, streams ? COMMS : 1);
	run(&e, r->me, j, WARM);
	pair_meet(r);
	cpu = cpu_us();
	ns = tcpx_clock_now(&tcpx_clock_system);
	run(&e, r->me, j, j->count);
	pair_meet(r);
	ns = tcpx_clock_now(&tcpx_clock_system) - ns;
	cpu = cpu_us() - cpu;
	pair_exchange(r, &cpu, &other, sizeof(cpu));
	if (r->me == 0)
		printf("%.2f %.2f\n", (double)ns / 1e3 / messages, (cpu + other) / messages);
	fflush(stdout);
	_Exit(0);
}

int
main(int argc, char **argv)
{
	struct job j;

	if (argc != 5)
		return 2;
	j = (struct job){ argv[2], strtoull(argv[3], NULL, 0), (unsigned)strtoul(argv[4], NULL, 0) };
	setenv("NCCL_SOCKET_IFNAME", "lo", 0);
	return pair_run(argv[1], VERSION, play, &j) ? 0 : 1;
}
