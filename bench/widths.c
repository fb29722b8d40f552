/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that begin narrow beside those that begin wide, on the loopback.
 *
 *	widths pair ROUNDS              two processes, in turn: set-up, sockets, the first 256 MiB
 *	widths all PROCESSES narrow     each opens 4 lanes to each other one at once, and loads them
 *	widths all PROCESSES wide
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "crowd.h"
#include "tcpx/tcpx.h"

#define NICS     "TCPX_NICS=127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4"
#define BYTES    (256u << 20)
#define SOME     (4u << 20) /* no load yet */
#define REST_US  120000
#define LANES    4
#define DEEP     4
#define MESSAGE  (1u << 20)
#define LOAD_S   3.0
#define ROUNDS   200

static const char *const settings[2][5] = {
	{ NICS, "TCPX_CHANNELS=4/nic", "TCPX_STATS=off", "TCPX_NARROW=0", NULL },
	{ NICS, "TCPX_CHANNELS=4/nic", "TCPX_STATS=off", "TCPX_NARROW=1", NULL },
};

/* What processes know of each other. */
struct blob {
	uint8_t metadata[TCPX_METADATA_MAX], region[TCPX_BLOB_MAX];
	size_t metadata_len, region_len;
};

/* What a process of many has measured. */
struct figures {
	double setup_s, wide_s, Bps;
	uint64_t sockets[2], kept, resident, suspected; /* idle and loaded; bytes; channels */
};

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint64_t
count_sockets(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *f;
	uint64_t n = 0;
	char to[16];

	while (d && (f = readdir(d)))
		n += readlinkat(dirfd(d), f->d_name, to, sizeof(to)) > 7 && !memcmp(to, "socket:", 7);
	closedir(d);
	return n;
}

static uint64_t
resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static tcpx_engine *
engine_open(int narrow, const char *name, struct blob *b)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	opts.settings = settings[narrow];
	opts.name = name;
	must(tcpx_open(&opts, &e), "tcpx_open");
	b->metadata_len = sizeof(b->metadata);
	must(tcpx_metadata(e, b->metadata, &b->metadata_len), "tcpx_metadata");
	return e;
}

static uint64_t
region(tcpx_engine *e, void *mem, size_t len, unsigned access)
{
	uint64_t id;

	must(tcpx_mem_register(e, mem, len, access, &id), "tcpx_mem_register");
	return id;
}

static void *
pages(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	must(mem == MAP_FAILED ? -1 : 0, "mmap");
	return mem;
}

/* ---- pair ---- */

static double sample[2][6][ROUNDS]; /* by width: set-up ms, sockets, GB/s of 4 MiB after a rest, of the first
				     * and second 256 MiB, ms until wide */

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct tcpx_peer_info
info_of(tcpx_peer *p)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	must(tcpx_peer_query(p, &info), "tcpx_peer_query");
	return info;
}

/* One write, in GB/s. @wide_ms: looks meanwhile when all channels stand; NULL: does not look. */
static double
write_of(tcpx_peer *p, uint64_t from, uint64_t to, uint64_t len, double *wide_ms)
{
	struct tcpx_desc l = { from, 0, len }, r = { to, 0, len };
	double t0 = now();
	tcpx_xfer *x;

	must(tcpx_write(p, &l, 1, &r, 1, NULL, 0, &x), "tcpx_write");
	if (wide_ms)
		while (info_of(p).channels_tx < info_of(p).channels_wanted)
			usleep(200);
	if (wide_ms)
		*wide_ms = (now() - t0) * 1e3;
	must(tcpx_wait(x, -1), "tcpx_wait");
	tcpx_xfer_free(x);
	return (double)len / (now() - t0) / 1e9;
}

static void
one(int narrow, int round, void *mem, const struct blob *far, bool looks)
{
	struct blob own;
	tcpx_engine *e = engine_open(narrow, "near", &own);
	uint64_t from = region(e, mem, BYTES, TCPX_MEM_LOCAL), to, before = count_sockets();
	tcpx_peer *p;

	must(tcpx_mem_import(e, far->region, far->region_len, &to), "tcpx_mem_import");
	must(tcpx_peer_add(e, far->metadata, far->metadata_len, &p), "tcpx_peer_add");
	must(tcpx_peer_wait(p, -1), "tcpx_peer_wait");
	if (looks) {
		usleep(REST_US);
		sample[narrow][2][round] = write_of(p, from, to, SOME, NULL);
		usleep(REST_US);
		write_of(p, from, to, BYTES, &sample[narrow][5][round]);
	} else {
		sample[narrow][0][round] = (double)info_of(p).setup_ns / 1e6;
		sample[narrow][1][round] = (double)(count_sockets() - before);
		sample[narrow][3][round] = write_of(p, from, to, BYTES, NULL);
		sample[narrow][4][round] = write_of(p, from, to, BYTES, NULL);
	}
	tcpx_peer_free(p);
	tcpx_close(e);
}

/* The side that is written to: an engine of each width. */
static void
far_side(const struct crowd *c, void *mem)
{
	struct blob b[2], all[2][2];
	tcpx_engine *e[2];

	for (int i = 0; i < 2; i++) {
		e[i] = engine_open(i, i ? "narrow" : "wide", &b[i]);
		b[i].region_len = sizeof(b[i].region);
		must(tcpx_mem_export(e[i], region(e[i], mem, BYTES, TCPX_MEM_REMOTE_WRITE), b[i].region,
				     &b[i].region_len), "tcpx_mem_export");
	}
	crowd_say(c, b, sizeof(b), all);
	crowd_meet(c);
	tcpx_close(e[0]);
	tcpx_close(e[1]);
}

/* The medians of each, and of their ratio round by round with its quartiles. */
static void
print(const char *what, int k, int rounds)
{
	double ratio[ROUNDS];

	for (int i = 0; i < rounds; i++)
		ratio[i] = sample[1][k][i] / sample[0][k][i];
	qsort(ratio, (size_t)rounds, sizeof(double), by_size);
	for (int i = 0; i < 2; i++)
		qsort(sample[i][k], (size_t)rounds, sizeof(double), by_size);
	printf("| %s | %.2f (%.2f to %.2f) | %.2f (%.2f to %.2f) | %.3f (%.3f to %.3f) |\n", what,
	       sample[0][k][rounds / 2], sample[0][k][0], sample[0][k][rounds - 1],
	       sample[1][k][rounds / 2], sample[1][k][0], sample[1][k][rounds - 1],
	       ratio[rounds / 2], ratio[rounds / 4], ratio[rounds * 3 / 4]);
}

static void
pair(const struct crowd *c, void *arg)
{
	void *mem = pages(BYTES);
	int rounds = *(int *)arg;
	struct blob none[2] = { 0 }, all[2][2];

	if (c->me == 0) {
		far_side(c, mem);
		return;
	}
	crowd_say(c, none, sizeof(none), all);
	for (int i = -1; i < 2 * rounds; i++)
		for (int k = 0; k < 2; k++)
			one((i + k) & 1, i < 0 ? 0 : i / 2, mem, &all[0][(i + k) & 1], i & 1 && i > 0);
	crowd_meet(c);
	printf("| | wide (least to most) | narrow | ratio (quartiles) |\n|---|---|---|---|\n");
	print("set-up, ms", 0, rounds);
	print("sockets", 1, rounds);
	print("4 MiB after a rest, GB/s", 2, rounds);
	print("first 256 MiB, GB/s", 3, rounds);
	print("second 256 MiB, GB/s", 4, rounds);
	print("post until all channels stand, ms", 5, rounds);
}

/* ---- all ---- */

struct way {
	tcpx_lane *lane;
	tcpx_xfer *x[DEEP];
};

static struct way ways[2][CROWD_MAX][LANES]; /* receiving, sending */

typedef uint8_t lane_keys[CROWD_MAX][LANES][TCPX_LANE_KEY]; /* of a receiver's lanes, by sender */

static void
lanes_open(tcpx_engine *e, int me, int count, const struct blob *blob, lane_keys *key, tcpx_peer **peer)
{
	bool ready = false;

	for (int k = 1; k < count; k++) {
		int to = (me + k) % count;

		must(tcpx_peer_add(e, blob[to].metadata, blob[to].metadata_len, &peer[to]),
		     "tcpx_peer_add");
		for (int l = 0; l < LANES; l++)
			must(tcpx_lane_open(peer[to], key[to][me][l], &ways[1][to][l].lane),
			     "tcpx_lane_open");
	}
	while (!ready) {
		ready = true;
		for (int i = 0; i < 2 * count * LANES && ready; i++) {
			struct way *w = &ways[i % 2][i / 2 / LANES][i / 2 % LANES];
			int rc = w->lane ? tcpx_lane_ready(w->lane) : 0;

			must(rc == 0 || rc == -EAGAIN ? 0 : rc, "tcpx_lane_ready");
			ready = rc == 0;
		}
		usleep(1000);
	}
}

static bool
all_wide(tcpx_peer *const *peer)
{
	for (int i = 0; i < CROWD_MAX; i++)
		if (peer[i] && info_of(peer[i]).channels_tx < info_of(peer[i]).channels_wanted)
			return false;
	return true;
}

/* Posts wherever there is room; counts what has come. A test may do the work of many. */
static void
work(uint64_t id, tcpx_peer *const *peer, double since, struct figures *f)
{
	for (int i = 0; i < 2 * CROWD_MAX * LANES * DEEP; i++) {
		struct way *w = &ways[i % 2][i / 2 / DEEP / LANES][i / 2 / DEEP % LANES];
		tcpx_xfer **x = &w->x[i / 2 % DEEP];
		int rc = *x ? tcpx_test(*x) : 0;

		if (i % 16 == 0 && !f->wide_s && all_wide(peer))
			f->wide_s = now() - since;

		if (!w->lane || rc == -EAGAIN)
			continue;
		must(rc, "message");
		if (*x)
			f->Bps += i % 2 ? 0 : MESSAGE;
		tcpx_xfer_free(*x);
		*x = NULL;
		must(tcpx_lane_post(w->lane, id, 0, MESSAGE, x), "tcpx_lane_post");
	}
}

static void
print_all(const struct figures *f, int count, bool narrow)
{
	struct figures most = { 0 };

	for (int i = 0; i < count; i++) {
		most.setup_s = f[i].setup_s > most.setup_s ? f[i].setup_s : most.setup_s;
		most.wide_s = f[i].wide_s > most.wide_s ? f[i].wide_s : most.wide_s;
		for (int k = 0; k < 2; k++)
			most.sockets[k] = f[i].sockets[k] > most.sockets[k] ? f[i].sockets[k] : most.sockets[k];
		most.kept = f[i].kept > most.kept ? f[i].kept : most.kept;
		most.resident = f[i].resident > most.resident ? f[i].resident : most.resident;
		most.Bps += f[i].Bps;
		most.suspected += f[i].suspected;
	}
	printf("%d processes, %s: all lanes ready %.2f s; sockets a process %llu idle, %llu loaded; memory "
	       "a peer %.0f KiB counted, %.0f KiB resident; all wide %.0f ms after load; %.2f GB/s; %llu channels suspected\n",
	       count, narrow ? "narrow" : "wide", most.setup_s, (unsigned long long)most.sockets[0],
	       (unsigned long long)most.sockets[1], (double)most.kept / (count - 1) / 1024,
	       (double)most.resident / (count - 1) / 1024, most.wide_s * 1e3, most.Bps / 1e9,
	       (unsigned long long)most.suspected);
}

static void
all(const struct crowd *c, void *narrow)
{
	static struct blob own, blob[CROWD_MAX];
	static lane_keys listens, key[CROWD_MAX];
	struct tcpx_counters n = { .struct_size = sizeof(n) };
	struct figures f = { 0 }, figures[CROWD_MAX];
	tcpx_peer *peer[CROWD_MAX] = { NULL };
	tcpx_engine *e;
	uint64_t base, id;
	char name[16];
	double t0;

	snprintf(name, sizeof(name), "p%d", c->me);
	e = engine_open(*(bool *)narrow, name, &own);
	id = region(e, pages(MESSAGE), MESSAGE, TCPX_MEM_LOCAL);
	for (int i = 0; i < c->count * LANES; i++)
		if (i / LANES != c->me)
			must(tcpx_lane_listen(e, listens[i / LANES][i % LANES],
					      &ways[0][i / LANES][i % LANES].lane), "tcpx_lane_listen");
	crowd_say(c, &own, sizeof(own), blob);
	crowd_say(c, listens, sizeof(listens), key);
	base = resident();
	crowd_meet(c);
	t0 = now();
	lanes_open(e, c->me, c->count, blob, key, peer);
	f.setup_s = now() - t0;
	crowd_meet(c);
	must(tcpx_query(e, &n), "tcpx_query");
	f.sockets[0] = count_sockets();
	f.kept = n.memory_bytes;
	f.resident = resident() - base;
	crowd_meet(c);
	for (t0 = now(); now() < t0 + LOAD_S;)
		work(id, peer, t0, &f);
	f.Bps /= now() - t0;
	crowd_meet(c);
	must(tcpx_query(e, &n), "tcpx_query");
	f.suspected = n.channels_suspected;
	f.sockets[1] = count_sockets();
	crowd_say(c, &f, sizeof(f), figures);
	if (c->me == 0)
		print_all(figures, c->count, *(bool *)narrow);
}

int
main(int argc, char **argv)
{
	bool is_pair = argc == 3 && !strcmp(argv[1], "pair"), is_all = argc == 4 && !strcmp(argv[1], "all");
	bool narrow = is_all && !strcmp(argv[3], "narrow");
	int count = is_pair || is_all ? atoi(argv[2]) : 0;

	if (count < 2 || count > (is_pair ? ROUNDS : CROWD_MAX))
		return 2;
	return is_pair ? crowd_run(2, pair, &count) : crowd_run(count, all, &narrow);
}
