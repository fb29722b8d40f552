/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers are killed at random moments, while they connect, move memory, send notes and close. Each
 * transfer of the survivor ends, its process holds as much as before, and a peer beside them is
 * served as fast as beside the same processes that end in order.
 * Usage: deaths_test [KILLS [SEED]]
 */
#include "deaths/part.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "nth/calls.h"

#define WINDOW	(1000 * TCPX_MS) /* of one figure of speed         */
#define GUARD	(60 * TCPX_SEC) /* far above any deadline         */
#define CODES	16

extern char **environ;

struct child {
	pid_t pid;
	int in, out; /* pipes to and from it */
};

/* What a process holds. */
struct holds {
	int fds, threads;
	long mapped;
	struct tcpx_counters c;
};

struct survivor {
	tcpx_engine *e;
	struct areas mine;
	struct blob who;
	struct child beside;
	tcpx_peer *to_beside;
	pthread_t thread;
	uint64_t beside_id;
	_Atomic uint64_t bytes; /* moved to the bystander */
	_Atomic bool over, broken;
	struct one {
		struct child c;
		char name[TCPX_NAME_MAX];
		uint64_t life_ns, end_ns; /* when it is to end, then when it did */
		bool ended;
		struct traffic t;
	} victim[PEERS];
	uint32_t victims;
	/* figures */
	uint64_t done, failed, longest_ns;
	uint32_t met, unmet;
	struct {
		int code;
		uint64_t count;
	} ends[CODES];
};

static uint64_t
now(void)
{
	return tcpx_clock_now(&tcpx_clock_system);
}

/* ---- processes ---- */

static struct child
spawn(const char *what, uint32_t seed)
{
	char number[16];
	char *argv[] = { (char *)"deaths_test", (char *)what, number, NULL };
	posix_spawn_file_actions_t files;
	struct child c;
	int in[2], out[2];

	snprintf(number, sizeof(number), "%u", seed);
	MUST(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	MUST(posix_spawn(&c.pid, "/proc/self/exe", &files, NULL, argv, environ) == 0);
	posix_spawn_file_actions_destroy(&files);
	close(in[0]);
	close(out[1]);
	c.in = in[1];
	c.out = out[0];
	return c;
}

static int
reap(struct child *c)
{
	int status = -1;

	close(c->in);
	MUST(waitpid(c->pid, &status, 0) == c->pid);
	close(c->out);
	return status;
}

static int
entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	MUST(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static struct holds
held(const struct survivor *s)
{
	struct holds h = { entries("/proc/self/fd"), entries("/proc/self/task"), nth_mapped(),
			   { .struct_size = sizeof(h.c) } };

	MUST(tcpx_query(s->e, &h.c) == 0);
	return h;
}

static bool
same(const struct holds *a, const struct holds *b)
{
	return a->fds == b->fds && a->threads == b->threads && a->mapped == b->mapped &&
	       a->c.sessions == b->c.sessions && a->c.regions == b->c.regions &&
	       a->c.memory_bytes == b->c.memory_bytes;
}

static void
say(const char *when, const struct holds *h)
{
	printf("# %s: %d descriptors, %d threads, %ld mappings, %u sessions, %u regions, %llu bytes\n",
	       when, h->fds, h->threads, h->mapped, h->c.sessions, h->c.regions,
	       (unsigned long long)h->c.memory_bytes);
}

/* ---- the bystander ---- */

static void *
serve_bystander(void *arg)
{
	struct survivor *s = arg;
	struct tcpx_desc l = { s->mine.read_id, 0, LEN }, f = { s->beside_id, 0, LEN };
	tcpx_xfer *x;

	while (!atomic_load(&s->over)) {
		if (tcpx_write(s->to_beside, &l, 1, &f, 1, NULL, 0, &x)) {
			atomic_store(&s->broken, true);
			break;
		}
		if (tcpx_wait(x, -1))
			atomic_store(&s->broken, true);
		else
			atomic_fetch_add(&s->bytes, LEN);
		tcpx_xfer_free(x);
	}
	return NULL;
}

static void
survivor_open(struct survivor *s)
{
	struct blob who, write;
	size_t len = sizeof(s->who.data);

	memset(s, 0, sizeof(*s));
	s->e = part_open("survivor");
	part_areas(s->e, &s->mine);
	MUST(tcpx_metadata(s->e, s->who.data, &len) == 0);
	s->who.len = (uint32_t)len;
	s->beside = spawn("bystander", 0);
	MUST(part_get(s->beside.out, &who) && part_get(s->beside.out, &write));
	MUST(tcpx_peer_add(s->e, who.data, who.len, &s->to_beside) == 0);
	MUST(tcpx_mem_import(s->e, write.data, write.len, &s->beside_id) == 0);
	MUST(tcpx_peer_wait(s->to_beside, (int)(GUARD / TCPX_MS)) == 0);
	MUST(pthread_create(&s->thread, NULL, serve_bystander, s) == 0);
}

static void
survivor_close(struct survivor *s)
{
	atomic_store(&s->over, true);
	pthread_join(s->thread, NULL);
	tcpx_peer_free(s->to_beside);
	part_areas_free(s->e, &s->mine);
	tcpx_close(s->e);
	MUST(reap(&s->beside) == 0);
}

/* ---- a victim ---- */

static void
ended(struct survivor *s, int code)
{
	uint32_t i = 0;

	s->done += code == 0;
	s->failed += code != 0;
	while (s->ends[i].count && s->ends[i].code != code)
		i++;
	MUST(i < CODES - 1);
	s->ends[i].code = code;
	s->ends[i].count++;
}

/* The victim is no more, or another engine now. */
static void
leave(struct survivor *s, struct traffic *t)
{
	if (!t->peer)
		return;
	traffic_cancel(t);
	MUST(tcpx_mem_deregister(s->e, t->read_id) == 0);
	MUST(tcpx_mem_deregister(s->e, t->write_id) == 0);
	tcpx_peer_free(t->peer);
	t->peer = NULL;
}

/* What a victim says first leads to its memory. */
static void
take_note(struct survivor *s, const tcpx_note *n)
{
	size_t len, begin = sizeof(HELLO) - 1;
	const uint8_t *text = tcpx_note_data(n, &len);
	struct one *v = NULL;
	struct traffic *t;
	tcpx_peer *p;

	for (uint32_t i = 0; i < s->victims; i++)
		if (!s->victim[i].ended && !strcmp(s->victim[i].name, tcpx_note_sender(n)))
			v = &s->victim[i];
	if (!v || len <= begin || memcmp(text, HELLO, begin) != 0 || tcpx_note_peer(s->e, n, &p))
		return;
	t = &v->t;
	if (v->end_ns > now() + v->life_ns)
		v->end_ns = now() + v->life_ns;
	leave(s, t);
	t->peer = p;
	MUST(tcpx_mem_import(s->e, text + begin + 1, text[begin], &t->read_id) == 0);
	begin += 1u + text[begin];
	MUST(tcpx_mem_import(s->e, text + begin, len - begin, &t->write_id) == 0);
}

static void
exchange(struct survivor *s, struct traffic *t)
{
	int rc;

	if (!t->peer)
		return;
	(void)traffic_post(t);
	rc = traffic_look(t);
	if (rc)
		ended(s, rc);
}

static void
hangs(const struct one *v, int i)
{
	struct tcpx_xfer_info x = TCPX_XFER_INFO_INIT;
	struct tcpx_peer_info p = TCPX_PEER_INFO_INIT;

	(void)tcpx_xfer_query(v->t.x[i], &x);
	(void)tcpx_peer_query(v->t.peer, &p);
	printf("# %s: kind %u, %llu of %llu bytes, stage \"%s\"; peer: %s, \"%s\"\n", v->name,
	       v->t.kind[i], (unsigned long long)x.bytes_done, (unsigned long long)x.bytes_total,
	       x.stage, tcpx_strerror_name(p.status), p.cause);
	MUST(!"a transfer that has not ended");
}

/* All that is in flight, and a transfer that is posted too late, ends. */
static void
outlive(struct survivor *s, struct one *v)
{
	struct traffic *t = &v->t;
	uint64_t took_ns;

	if (!t->peer) {
		s->unmet++;
		return;
	}
	s->met++;
	(void)traffic_post(t);
	for (int i = 0; i < AT_ONCE; i++) {
		if (!t->x[i])
			continue;
		if (tcpx_wait(t->x[i], (int)(GUARD / TCPX_MS)) == -EAGAIN)
			hangs(v, i);
		ended(s, tcpx_test(t->x[i]));
	}
	took_ns = now() - v->end_ns;
	s->longest_ns = took_ns > s->longest_ns ? took_ns : s->longest_ns;
	s->done += t->done;
	leave(s, t);
}

/* How long it lives is of its seed alone: from its start, or from its first note on. */
static void
begin(struct survivor *s, struct one *v, uint32_t seed)
{
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	bool meets = tcpx_rng_below(&rng, 2);

	memset(v, 0, sizeof(*v));
	v->t.rng = rng;
	v->t.mine = &s->mine;
	v->t.number = (uint32_t)(v - s->victim);
	snprintf(v->name, sizeof(v->name), "victim-%u", seed);
	v->c = spawn("victim", seed);
	(void)(part_put(v->c.in, &s->who) && part_put(v->c.in, &s->mine.read_blob) &&
	       part_put(v->c.in, &s->mine.write_blob));
	v->life_ns = tcpx_rng_below(&rng, 100000) * 1000ull;
	v->end_ns = now() + (meets ? GUARD : v->life_ns);
}

static void
end(struct one *v, bool kill_it)
{
	if (kill_it)
		MUST(kill(v->c.pid, SIGKILL) == 0);
	v->end_ns = now();
	v->ended = true;
	MUST(WIFSIGNALED(reap(&v->c)) == kill_it);
}

/* Victims, all at once. Bytes to the bystander in a window that begins with them. */
static uint64_t
block(struct survivor *s, uint32_t seed, uint32_t count, bool kill_them)
{
	uint64_t until_ns = now() + WINDOW, before = atomic_load(&s->bytes), moved = 0;
	uint32_t left = count;
	tcpx_note *n;

	s->victims = count;
	for (uint32_t i = 0; i < count; i++)
		begin(s, &s->victim[i], seed + i);
	while (left || !moved) {
		usleep(1000); /* in a wait this thread would do the bystander's I/O */
		while (tcpx_note_get(s->e, &n) == 0) {
			take_note(s, n);
			tcpx_note_free(n);
		}
		for (uint32_t i = 0; i < count; i++) {
			struct one *v = &s->victim[i];

			if (!v->ended && now() >= v->end_ns) {
				end(v, kill_them);
				left--;
			}
			if (!v->ended)
				exchange(s, &v->t);
		}
		if (!moved && now() >= until_ns)
			moved = atomic_load(&s->bytes) - before;
	}
	for (uint32_t i = 0; i < count; i++)
		outlive(s, &s->victim[i]);
	return moved;
}

/* When only the bystander has a session. */
static struct holds
quiet(const struct survivor *s)
{
	uint64_t until_ns = now() + GUARD;
	struct holds h;
	tcpx_note *n;

	do {
		while (tcpx_note_get(s->e, &n) == 0)
			tcpx_note_free(n);
		usleep(10000);
		h = held(s);
	} while (h.c.sessions > 1 && now() < until_ns);
	return h;
}

/* Sessions end a moment after their peers. */
static bool
settles(const struct survivor *s, const struct holds *before)
{
	uint64_t until_ns = now() + GUARD;
	struct holds h;
	tcpx_note *n;

	do {
		while (tcpx_note_get(s->e, &n) == 0) /* the last words of the dead */
			tcpx_note_free(n);
		h = held(s);
		if (same(&h, before))
			return true;
		usleep(1000);
	} while (now() < until_ns);
	say("left", &h);
	return false;
}

static int
ascending(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static void
report(const struct survivor *s, uint32_t kills, uint32_t seed, double *ratio, uint32_t blocks)
{
	printf("# seed %u: %u killed, %u of all had met the survivor, %u had not; %llu transfers "
	       "done\n", seed, kills, s->met, s->unmet, (unsigned long long)s->done);
	printf("# the last transfer of a peer ended %.1f ms after it at most\n",
	       (double)s->longest_ns / 1e6);
	for (uint32_t i = 0; s->ends[i].count; i++)
		printf("# %llu ended with %s\n", (unsigned long long)s->ends[i].count,
		       tcpx_strerror_name(s->ends[i].code));
	qsort(ratio, blocks, sizeof(*ratio), ascending);
	printf("# the bystander's speed beside deaths over that beside orderly ends: median %.3f of %u "
	       "pairs (quartiles %.3f to %.3f)\n", ratio[blocks / 2], blocks, ratio[blocks / 4],
	       ratio[blocks * 3 / 4]);
}

static int
survive(uint32_t kills, uint32_t seed)
{
	uint32_t blocks = (kills + PEERS - 1) / PEERS;
	double *ratio = calloc(blocks, sizeof(*ratio));
	uint64_t moved[2];
	static struct survivor s;
	struct holds before;
	bool good;

	MUST(ratio);
	signal(SIGPIPE, SIG_IGN);
	survivor_open(&s);
	(void)block(&s, seed, PEERS, true); /* makes what is kept for the next */
	(void)block(&s, seed, PEERS, false);
	before = quiet(&s);
	say("before", &before);
	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t count = i + 1 < blocks ? PEERS : kills - i * PEERS;

		for (uint32_t k = 0; k < 2; k++) {
			bool killed = (i + k) & 1;

			moved[killed] = block(&s, seed + i * PEERS, count, killed);
			MUST(settles(&s, &before));
		}
		ratio[i] = (double)moved[1] / (double)(moved[0] ? moved[0] : 1);
	}
	before = held(&s);
	say("after", &before);
	good = !atomic_load(&s.broken);
	report(&s, kills, seed, ratio, blocks);
	survivor_close(&s);
	free(ratio);
	printf("1..1\n%sok 1 - peers that die cost their own transfers, and nothing else\n",
	       good ? "" : "not ");
	return good ? 0 : 1;
}

int
main(int argc, char **argv)
{
	char name[32];

	if (argc > 2 && !strcmp(argv[1], "victim")) {
		snprintf(name, sizeof(name), "victim-%s", argv[2]);
		return victim(name, (uint32_t)strtoul(argv[2], NULL, 10));
	}
	if (argc > 1 && !strcmp(argv[1], "bystander"))
		return bystander();
	return survive(argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 16,
		       argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1);
}
