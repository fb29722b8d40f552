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
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tcpx/tcpx.h"

#define NICS     "TCPX_NICS=127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4"
#define BYTES    (256u << 20)
#define MANY     16
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

static struct shared {
	pthread_barrier_t barrier;
	struct blob blob[MANY]; /* pair: of the two engines */
	uint8_t key[MANY][MANY][LANES][TCPX_LANE_KEY]; /* by receiver, sender */
	double setup_s[MANY], wide_s[MANY], bytes[MANY]; /* the last: a second */
	uint64_t sockets[MANY][2], kept[MANY], resident[MANY];
} *shared;

static void
must(int rc, const char *what)
{
	char text[256];

	if (rc == 0)
		return;
	tcpx_last_error(NULL, text, sizeof(text));
	printf("# %s: %s (%s)\n", what, tcpx_strerror_name(rc), text);
	fflush(stdout);
	_exit(1);
}

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

static double sample[2][5][ROUNDS]; /* by width: set-up ms, sockets, first and second GB/s, wide ms */

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

/* One write of all. @wide_ms: looks meanwhile when all channels stand; NULL: does not look. */
static double
write_all(tcpx_peer *p, uint64_t from, uint64_t to, double *wide_ms)
{
	struct tcpx_desc l = { from, 0, BYTES }, r = { to, 0, BYTES };
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
	return BYTES / (now() - t0) / 1e9;
}

static void
one(int narrow, int round, void *mem, bool looks)
{
	struct blob own, *far = &shared->blob[narrow];
	tcpx_engine *e = engine_open(narrow, "near", &own);
	uint64_t from = region(e, mem, BYTES, TCPX_MEM_LOCAL), to, before = count_sockets();
	tcpx_peer *p;

	must(tcpx_mem_import(e, far->region, far->region_len, &to), "tcpx_mem_import");
	must(tcpx_peer_add(e, far->metadata, far->metadata_len, &p), "tcpx_peer_add");
	must(tcpx_peer_wait(p, -1), "tcpx_peer_wait");
	if (looks) {
		write_all(p, from, to, &sample[narrow][4][round]);
	} else {
		sample[narrow][0][round] = (double)info_of(p).setup_ns / 1e6;
		sample[narrow][1][round] = (double)(count_sockets() - before);
		sample[narrow][2][round] = write_all(p, from, to, NULL);
		sample[narrow][3][round] = write_all(p, from, to, NULL);
	}
	tcpx_peer_free(p);
	tcpx_close(e);
}

static void
far_side(void *mem)
{
	tcpx_engine *e[2];

	for (int i = 0; i < 2; i++) {
		struct blob *b = &shared->blob[i];

		e[i] = engine_open(i, i ? "narrow" : "wide", b);
		b->region_len = sizeof(b->region);
		must(tcpx_mem_export(e[i], region(e[i], mem, BYTES, TCPX_MEM_REMOTE_WRITE), b->region,
				     &b->region_len), "tcpx_mem_export");
	}
	pthread_barrier_wait(&shared->barrier);
	pthread_barrier_wait(&shared->barrier);
	tcpx_close(e[0]);
	tcpx_close(e[1]);
	_exit(0);
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

static int
pair(int rounds)
{
	void *mem[2] = { pages(BYTES), pages(BYTES) };
	int status;

	if (fork() == 0)
		far_side(mem[1]);
	pthread_barrier_wait(&shared->barrier);
	for (int i = -1; i < 2 * rounds; i++)
		for (int k = 0; k < 2; k++)
			one((i + k) & 1, i < 0 ? 0 : i / 2, mem[0], i & 1 && i > 0);
	pthread_barrier_wait(&shared->barrier);
	wait(&status);
	printf("| | wide (least to most) | narrow | ratio (quartiles) |\n|---|---|---|---|\n");
	print("set-up, ms", 0, rounds);
	print("sockets", 1, rounds);
	print("first 256 MiB, GB/s", 2, rounds);
	print("second 256 MiB, GB/s", 3, rounds);
	print("post until all channels stand, ms", 4, rounds);
	return status != 0;
}

/* ---- all ---- */

struct way {
	tcpx_lane *lane;
	tcpx_xfer *x[DEEP];
};

static struct way ways[2][MANY][LANES]; /* receiving, sending */

static void
lanes_open(tcpx_engine *e, int me, int count, tcpx_peer **peer)
{
	bool ready = false;

	for (int k = 1; k < count; k++) {
		int to = (me + k) % count;

		must(tcpx_peer_add(e, shared->blob[to].metadata, shared->blob[to].metadata_len, &peer[to]),
		     "tcpx_peer_add");
		for (int l = 0; l < LANES; l++)
			must(tcpx_lane_open(peer[to], shared->key[to][me][l], &ways[1][to][l].lane),
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
	for (int i = 0; i < MANY; i++)
		if (peer[i] && info_of(peer[i]).channels_tx < info_of(peer[i]).channels_wanted)
			return false;
	return true;
}

/* Posts wherever there is room; counts what has come. A test may do the work of many. */
static void
work(uint64_t id, int me, tcpx_peer *const *peer, double since)
{
	for (int i = 0; i < 2 * MANY * LANES * DEEP; i++) {
		struct way *w = &ways[i % 2][i / 2 / DEEP / LANES][i / 2 / DEEP % LANES];
		tcpx_xfer **x = &w->x[i / 2 % DEEP];
		int rc = *x ? tcpx_test(*x) : 0;

		if (i % 16 == 0 && !shared->wide_s[me] && all_wide(peer))
			shared->wide_s[me] = now() - since;

		if (!w->lane || rc == -EAGAIN)
			continue;
		must(rc, "message");
		if (*x)
			shared->bytes[me] += i % 2 ? 0 : MESSAGE;
		tcpx_xfer_free(*x);
		*x = NULL;
		must(tcpx_lane_post(w->lane, id, 0, MESSAGE, x), "tcpx_lane_post");
	}
}

static void
process(int me, int count, int narrow)
{
	tcpx_engine *e;
	struct tcpx_counters c = { .struct_size = sizeof(c) };
	tcpx_peer *peer[MANY] = { NULL };
	uint64_t base, id;
	char name[16];
	double t0, t1;

	snprintf(name, sizeof(name), "p%d", me);
	e = engine_open(narrow, name, &shared->blob[me]);
	id = region(e, pages(MESSAGE), MESSAGE, TCPX_MEM_LOCAL);
	for (int i = 0; i < count * LANES; i++)
		if (i / LANES != me)
			must(tcpx_lane_listen(e, shared->key[me][i / LANES][i % LANES],
					      &ways[0][i / LANES][i % LANES].lane), "tcpx_lane_listen");
	base = resident();
	pthread_barrier_wait(&shared->barrier);
	t0 = now();
	lanes_open(e, me, count, peer);
	shared->setup_s[me] = now() - t0;
	pthread_barrier_wait(&shared->barrier);
	must(tcpx_query(e, &c), "tcpx_query");
	shared->sockets[me][0] = count_sockets();
	shared->kept[me] = c.memory_bytes;
	shared->resident[me] = resident() - base;
	pthread_barrier_wait(&shared->barrier);
	for (t1 = now(); now() < t1 + LOAD_S;)
		work(id, me, peer, t1);
	shared->bytes[me] /= now() - t1;
	pthread_barrier_wait(&shared->barrier);
	shared->sockets[me][1] = count_sockets();
	pthread_barrier_wait(&shared->barrier);
	_exit(0);
}

static int
all(int count, int narrow)
{
	double setup = 0, wide = 0, bytes = 0;
	uint64_t idle = 0, loaded = 0, kept = 0, own = 0;
	int status, bad = 0;

	for (int i = 0; i < count; i++)
		if (fork() == 0)
			process(i, count, narrow);
	while (wait(&status) > 0)
		bad |= status != 0;
	for (int i = 0; i < count; i++) {
		setup = shared->setup_s[i] > setup ? shared->setup_s[i] : setup;
		wide = shared->wide_s[i] > wide ? shared->wide_s[i] : wide;
		idle = shared->sockets[i][0] > idle ? shared->sockets[i][0] : idle;
		loaded = shared->sockets[i][1] > loaded ? shared->sockets[i][1] : loaded;
		kept = shared->kept[i] > kept ? shared->kept[i] : kept;
		own = shared->resident[i] > own ? shared->resident[i] : own;
		bytes += shared->bytes[i];
	}
	printf("%d processes, %s: all lanes ready %.2f s; sockets a process %llu idle, %llu loaded; memory "
	       "a peer %.0f KiB counted, %.0f KiB resident; all wide %.0f ms after load; %.2f GB/s\n",
	       count, narrow ? "narrow" : "wide", setup, (unsigned long long)idle,
	       (unsigned long long)loaded, (double)kept / (count - 1) / 1024,
	       (double)own / (count - 1) / 1024, wide * 1e3, bytes / 1e9);
	return bad;
}

int
main(int argc, char **argv)
{
	bool is_pair = argc == 3 && !strcmp(argv[1], "pair"), is_all = argc == 4 && !strcmp(argv[1], "all");
	int count = is_pair || is_all ? atoi(argv[2]) : 0;
	pthread_barrierattr_t a;

	if (count < 2 || count > (is_pair ? ROUNDS : MANY))
		return 2;
	shared = pages(sizeof(*shared));
	pthread_barrierattr_init(&a);
	pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &a, is_pair ? 2 : (unsigned)count);
	return is_pair ? pair(count) : all(count, !strcmp(argv[3], "narrow"));
}
