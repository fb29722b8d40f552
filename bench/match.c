/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What receives that wait cost a message that they are not for. Two engines of one process over the
 * loopback; a message of 8 bytes, its receive posted first, while so many of other tags wait. Rounds in
 * turn, medians of microseconds a message, and the process's CPU.
 *
 *	match_cost [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tcpx/tcpx.h"

enum { WAITING = 10000, ROUNDS_MAX = 99, MESSAGES = 400, LEN = 8 };

static const int waiting[] = { 0, 1000, WAITING };

#define WAYS (int)(sizeof(waiting) / sizeof(waiting[0]))

static void
must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "match_cost: %s: %s\n", what, tcpx_strerror_name(rc));
	exit(1);
}

static double
clock_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static tcpx_engine *
start(const char *name)
{
	static const char *const settings[] = { "TCPX_NICS=127.0.0.1", "TCPX_PORT=0", "TCPX_STATS=off",
						NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	opts.name = name;
	opts.settings = settings;
	must(tcpx_open(&opts, &e), "tcpx_open");
	return e;
}

static tcpx_peer *
meet(tcpx_engine *a, tcpx_engine *b)
{
	uint8_t blob[TCPX_METADATA_MAX];
	size_t len = sizeof(blob);
	tcpx_peer *p;

	must(tcpx_metadata(b, blob, &len), "tcpx_metadata");
	must(tcpx_peer_add(a, blob, len, &p), "tcpx_peer_add");
	must(tcpx_peer_wait(p, 10000), "tcpx_peer_wait");
	return p;
}

static void
pass(tcpx_peer *to, tcpx_peer *from, const struct tcpx_desc d[2])
{
	tcpx_xfer *in, *out;

	must(tcpx_recv(from, &d[1], 1, UINT64_MAX, &in), "tcpx_recv");
	must(tcpx_send(to, &d[0], 1, UINT64_MAX, &out), "tcpx_send");
	must(tcpx_wait(in, -1), "receiving");
	must(tcpx_wait(out, -1), "sending");
	tcpx_xfer_free(in);
	tcpx_xfer_free(out);
}

int
main(int argc, char **argv)
{
	static double took[WAYS][ROUNDS_MAX], cpu[WAYS][ROUNDS_MAX];
	static tcpx_xfer *posted[WAITING];
	static uint8_t mem[2][LEN];
	int rounds = argc > 1 ? atoi(argv[1]) : 9;
	tcpx_engine *a = start("a"), *b = start("b");
	tcpx_peer *to = meet(a, b), *from = meet(b, a);
	struct tcpx_desc d[2] = { { 0, 0, LEN }, { 0, 0, LEN } };

	if (rounds < 1 || rounds > ROUNDS_MAX)
		rounds = ROUNDS_MAX;
	must(tcpx_mem_register(a, mem[0], LEN, TCPX_MEM_LOCAL, &d[0].region), "tcpx_mem_register");
	must(tcpx_mem_register(b, mem[1], LEN, TCPX_MEM_LOCAL, &d[1].region), "tcpx_mem_register");
	pass(to, from, d);
	for (int r = 0; r < rounds; r++) {
		int n = 0;

		for (int way = 0; way < WAYS; way++) {
			for (; n < waiting[way]; n++)
				must(tcpx_recv(from, &d[1], 1, (uint64_t)n, &posted[n]), "tcpx_recv");
			took[way][r] = -clock_us(CLOCK_MONOTONIC);
			cpu[way][r] = -clock_us(CLOCK_PROCESS_CPUTIME_ID);
			for (int i = 0; i < MESSAGES; i++)
				pass(to, from, d);
			took[way][r] = (took[way][r] + clock_us(CLOCK_MONOTONIC)) / MESSAGES;
			cpu[way][r] = (cpu[way][r] + clock_us(CLOCK_PROCESS_CPUTIME_ID)) / MESSAGES;
		}
		while (n > 0)
			tcpx_xfer_free(posted[--n]);
	}
	for (int way = 0; way < WAYS; way++) {
		qsort(took[way], (size_t)rounds, sizeof(double), compare);
		qsort(cpu[way], (size_t)rounds, sizeof(double), compare);
		printf("%5d receives wait: %7.2f us a message, CPU %7.2f us\n", waiting[way],
		       took[way][rounds / 2], cpu[way][rounds / 2]);
	}
	tcpx_close(a);
	tcpx_close(b);
	return 0;
}
