/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU cost of taking completions from the engine's queue, beside that of asking each transfer.
 * Two engines of one process over the loopback, small prepared writes, all in flight at once.
 * Interleaved rounds, medians; CPU time is that of the whole process, its I/O threads too.
 *
 *	event_cost [TRANSFERS [ROUNDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tcpx/tcpx.h"

#define BATCH 64
#define BYTES 64

enum way { KNOWN, TAKEN, ASKED, PUT = ASKED, WAYS };

struct bench {
	tcpx_engine *a, *b;
	tcpx_peer *peer;
	struct tcpx_desc local, remote;
	tcpx_xfer **plain, **watched; /* the same but for the watch */
	unsigned count, rounds;
	double *took[WAYS]; /* ns a completion: to learn of it, once all have ended */
	double *whole[WAYS]; /* ns of the process a transfer: posting, moving, learning */
};

static double
clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

static void
must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "%s: %s\n", what, tcpx_strerror(rc));
	exit(1);
}

static tcpx_engine *
open_one(const char *name)
{
	const char *const settings[] = { "TCPX_NICS=lo", "TCPX_PORT=0", "TCPX_THREADS=1",
					 "TCPX_STATS=off", "TCPX_CREDIT_XFERS=1024", NULL };
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	o.name = name;
	o.settings = settings;
	must(tcpx_open(&o, &e), "tcpx_open");
	return e;
}

static void
setup(struct bench *k, uint8_t *from, uint8_t *to)
{
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	struct tcpx_desc l = { .len = BYTES }, r = { .len = BYTES };
	tcpx_list *ll, *rl;
	tcpx_peer *p;

	k->a = open_one("a");
	k->b = open_one("b");
	must(tcpx_metadata(k->b, blob, &len), "metadata");
	must(tcpx_peer_add(k->a, blob, len, &p), "peer_add");
	must(tcpx_peer_wait(p, 10000), "peer_wait");
	must(tcpx_mem_register(k->a, from, BYTES, TCPX_MEM_LOCAL, &l.region), "register");
	must(tcpx_mem_register(k->b, to, BYTES, TCPX_MEM_REMOTE_WRITE, &r.region), "register");
	len = sizeof(blob);
	must(tcpx_mem_export(k->b, r.region, blob, &len), "export");
	must(tcpx_mem_import(k->a, blob, len, &r.region), "import");
	must(tcpx_list_prepare(k->a, &l, 1, &ll), "list");
	must(tcpx_list_prepare(k->a, &r, 1, &rl), "list");
	k->peer = p;
	k->local = l;
	k->remote = r;
	for (unsigned i = 0; i < k->count; i++) {
		must(tcpx_xfer_prepare(p, TCPX_OP_WRITE, ll, rl, &k->plain[i]), "prepare");
		must(tcpx_xfer_prepare(p, TCPX_OP_WRITE, ll, rl, &k->watched[i]), "prepare");
		tcpx_xfer_watch(k->watched[i], &k->watched[i]);
	}
}

static unsigned
take_all(struct bench *k)
{
	struct tcpx_event ev[BATCH];
	unsigned got = 0;
	size_t n = BATCH;

	for (; got < k->count && tcpx_event_get(k->a, ev, sizeof(ev[0]), &n) == 0; n = BATCH)
		for (size_t i = 0; i < n; i++)
			got += ev[i].status == 0 && ev[i].user != NULL;
	return got;
}

static unsigned
test_all(tcpx_xfer **x, unsigned count)
{
	unsigned done = 0;

	for (unsigned i = 0; i < count; i++)
		done += tcpx_test(x[i]) == 0;
	return done;
}

static void
settle(tcpx_xfer *x)
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };

	do /* a query is no test: the end stays unseen */
		must(tcpx_xfer_query(x, &info), "query");
	while (info.status != 0);
}

/* Both halves of the queue's work: what the thread that ends a transfer does is here done by
 * tcpx_xfer_watch(), because all have ended. */
static void
put_round(struct bench *k, unsigned round)
{
	tcpx_xfer **x = calloc(k->count, sizeof(*x));
	double t;

	for (unsigned i = 0; i < k->count; i++)
		must(tcpx_write(k->peer, &k->local, 1, &k->remote, 1, NULL, 0, &x[i]), "write");
	for (unsigned i = 0; i < k->count; i++)
		settle(x[i]);
	t = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < k->count; i++)
		tcpx_xfer_watch(x[i], x);
	must(take_all(k) == k->count ? 0 : TCPX_ESTATE, "all are told");
	k->took[PUT][round] = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - t) / k->count;
	for (unsigned i = 0; i < k->count; i++)
		tcpx_xfer_free(x[i]);
	free(x);
}

/* Posts all; once all have ended, learns of it. */
static void
settled_round(struct bench *k, enum way way, unsigned round)
{
	tcpx_xfer **x = way == TAKEN ? k->watched : k->plain;
	unsigned got;
	double t;

	for (unsigned i = 0; i < k->count; i++)
		must(tcpx_xfer_post(x[i], NULL, 0), "post");
	for (unsigned i = 0; i < k->count; i++)
		settle(x[i]);
	t = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	got = way == TAKEN ? take_all(k) : test_all(x, k->count);
	t = clock_ns(CLOCK_THREAD_CPUTIME_ID) - t;
	k->took[way][round] = t / k->count;
	must(got == k->count ? 0 : TCPX_ESTATE, "all are told");
}

/* Posts all and learns of each end as it comes. */
static void
running_round(struct bench *k, enum way way, unsigned round)
{
	tcpx_xfer **x = way == TAKEN ? k->watched : k->plain;
	struct tcpx_event ev[BATCH];
	unsigned got = 0;
	size_t n;
	double t = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (unsigned i = 0; i < k->count; i++)
		must(tcpx_xfer_post(x[i], NULL, 0), "post");
	while (got < k->count) {
		if (way == TAKEN) {
			n = BATCH;
			must(tcpx_event_wait(k->a, 10000, ev, sizeof(ev[0]), &n), "event_wait");
			got += (unsigned)n;
		} else if (way == KNOWN) { /* in the order posted */
			must(tcpx_wait(x[got++], 10000), "wait");
		} else { /* all, again and again */
			got = test_all(x, k->count);
		}
	}
	k->whole[way][round] = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - t) / k->count;
}

int
main(int argc, char **argv)
{
	static uint8_t from[BYTES], to[BYTES];
	struct bench k = { .count = argc > 1 ? (unsigned)atoi(argv[1]) : 500,
			   .rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 101 };

	k.plain = calloc(k.count, sizeof(*k.plain));
	k.watched = calloc(k.count, sizeof(*k.watched));
	for (int w = 0; w < WAYS; w++) {
		k.took[w] = calloc(k.rounds, sizeof(double));
		k.whole[w] = calloc(k.rounds, sizeof(double));
	}
	setup(&k, from, to);
	for (unsigned i = 0; i < k.rounds; i++) {
		settled_round(&k, KNOWN, i);
		settled_round(&k, TAKEN, i);
		put_round(&k, i);
		for (int w = 0; w < WAYS; w++)
			running_round(&k, (enum way)w, i);
	}
	printf("%u transfers of %u bytes in flight, %u rounds, events in batches of %u\n\n"
	       "| ns of CPU a completion, median | tcpx_test, known to be done | "
	       "taken from the queue | put there and taken |\n"
	       "|---|---|---|---|\n| | %.0f | %.0f | %.0f |\n", k.count, BYTES, k.rounds, BATCH,
	       median(k.took[KNOWN], k.rounds), median(k.took[TAKEN], k.rounds),
	       median(k.took[PUT], k.rounds));
	printf("\n| us of CPU a transfer, post to end, both engines | median |\n|---|---|\n"
	       "| wait for each in order | %.2f |\n| from the queue | %.2f |\n"
	       "| test all until all are done | %.2f |\n", median(k.whole[KNOWN], k.rounds) / 1e3,
	       median(k.whole[TAKEN], k.rounds) / 1e3, median(k.whole[ASKED], k.rounds) / 1e3);
	tcpx_close(k.a);
	tcpx_close(k.b);
	return 0;
}
