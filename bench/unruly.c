/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that knows the secret, has a valid key, and keeps none of a sender's rules: it puts frames
 * on the control stream by hand. unruly serve FILE says each 100 ms what it keeps, and its longest turn, and takes no
 * note.
 * Of the others each gets ADDRESS FILE SECONDS: unruly read (16 bytes, each millisecond), unruly
 * bulk (READs of 1 MiB), and those who take: lists, notes, sends (kept as long as they may), repeat
 * (lists refused at their last entry), tiny (OPENs of a wrong key), pings; all: tiny, pings, sends
 * and lists in turn. Secret and limits come from the environment; UNRULY_LOG shows warnings.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/context/context.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"
#include "core/session/control.h"
#include "core/session/session.h"
#include "judge.h"
#include "proto/runs.h"
#include "tcpx/tcpx.h"

#define LEN     (4u << 20)
#define PIECE   (1u << 20)
#define DEEP    4     /* READs of bulk at a time */
#define NOTE    8192u
#define BATCH   64    /* frames under one lock */
#define SAMPLES 200000

static volatile sig_atomic_t told_to_end;

struct guest {
	tcpx_engine *e;
	tcpx_peer *p;
	struct tcpx_region_ref ref; /* the server's region, as frames name it */
	uint64_t far, near;
	uint64_t ends_ns;
	uint64_t frames, sessions;
};

static void
fail(const char *what, int rc)
{
	fprintf(stderr, "unruly: %s: %s\n", what, tcpx_strerror_name(rc));
	exit(1);
}

static void
quiet(void *arg, int level, const char *line)
{
	(void)arg;
	if (level <= TCPX_LOG_WARN && getenv("UNRULY_LOG"))
		fprintf(stderr, "%s\n", line);
}

static tcpx_engine *
open_engine(const char *name)
{
	const char *settings[] = { "TCPX_CHANNELS=2", "TCPX_THREADS=1", "TCPX_STATS=off", NULL };
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;
	int rc;

	o.name = name;
	o.settings = settings;
	o.log = quiet;
	if (strcmp(name, "server"))
		o.listen = "off";
	rc = tcpx_open(&o, &e);
	if (rc)
		fail(name, rc);
	return e;
}

/* ---- the server ---- */

static void
end_it(int sig)
{
	(void)sig;
	told_to_end = 1;
}

static void
tell(tcpx_engine *e, uint64_t region, const char *path)
{
	uint8_t blob[256];
	size_t len = sizeof(blob);
	char beside[512];
	FILE *f;
	int rc = tcpx_mem_export(e, region, blob, &len);

	snprintf(beside, sizeof(beside), "%s.new", path);
	f = fopen(beside, "w");
	if (rc || !f)
		fail(path, rc ? rc : -errno);
	fprintf(f, "%u ", tcpx_port(e));
	for (size_t i = 0; i < len; i++)
		fprintf(f, "%02x", blob[i]);
	fclose(f);
	rename(beside, path);
}

static int
serve(const char *path)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };
	tcpx_engine *e = open_engine("server");
	void *mem = calloc(1, LEN);
	uint64_t region;
	int rc = tcpx_mem_register(e, mem, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, &region);

	if (rc)
		fail("region", rc);
	judge_turns(e);
	tell(e, region, path);
	signal(SIGTERM, end_it);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (!told_to_end) {
		rc = tcpx_query(e, &c);
		if (rc)
			fail("query", rc);
		printf("sessions %u kept %llu KiB resident %ld KiB refused %llu turn %.0f us\n", c.sessions,
		       (unsigned long long)c.memory_bytes / 1024, judge_resident_kib(getpid()),
		       (unsigned long long)c.refused, judge_turn_us());
		usleep(100000);
	}
	tcpx_close(e);
	free(mem);
	return 0;
}

/* ---- guests ---- */

static bool
goes_on(const struct guest *g)
{
	return tcpx_clock_now(&tcpx_clock_system) < g->ends_ns;
}

/* False: refused. */
static bool
reach(struct guest *g, const char *address, const char *path)
{
	char at[128], hex[520] = "";
	FILE *f = fopen(path, "r");
	uint8_t blob[256];
	struct region r;
	unsigned port, byte;
	size_t len = 0;
	int rc;

	if (!f || fscanf(f, "%u %519s", &port, hex) != 2)
		fail(path, -ENOENT);
	fclose(f);
	while (sscanf(hex + 2 * len, "%2x", &byte) == 1)
		blob[len++] = (uint8_t)byte;
	snprintf(at, sizeof(at), "%s:%u", address, port);
	rc = tcpx_peer_connect(g->e, at, &g->p);
	if (rc)
		fail(at, rc);
	if (tcpx_peer_wait(g->p, 20000) != 0)
		return false;
	if (g->far == 0) {
		rc = tcpx_mem_import(g->e, blob, len, &g->far);
		if (rc == 0)
			rc = tcpx_region_get(&g->e->memory->regions, g->far, &r);
		if (rc)
			fail("region", rc);
		g->ref = r.ref;
	}
	g->sessions++;
	return true;
}

static void
read_small(struct guest *g)
{
	struct tcpx_desc near = { g->near, 0, 16 }, far = { g->far, 0, 16 };
	float *us = calloc(SAMPLES, sizeof(*us));
	uint32_t n = 0;

	while (goes_on(g) && n < SAMPLES) {
		uint64_t from_ns = tcpx_clock_now(&tcpx_clock_system);
		tcpx_xfer *x;
		int rc = tcpx_read(g->p, &near, 1, &far, 1, NULL, 0, &x);

		if (rc == 0)
			rc = tcpx_wait(x, -1);
		if (rc)
			fail("READ", rc);
		tcpx_xfer_free(x);
		us[n++] = (float)(tcpx_clock_now(&tcpx_clock_system) - from_ns) / 1000;
		usleep(1000);
	}
	judge_sort(us, n);
	printf("READs %u median %.0f us p99 %.0f us longest %.0f us\n", n, us[n / 2], us[n * 99 / 100],
	       us[n - 1]);
	free(us);
}

static void
read_bulk(struct guest *g)
{
	struct tcpx_desc near[DEEP], far[DEEP];
	uint64_t from_ns = tcpx_clock_now(&tcpx_clock_system), bytes = 0;
	tcpx_xfer *x[DEEP] = { NULL };

	for (int i = 0; goes_on(g); i = (i + 1) % DEEP) {
		int rc = x[i] ? tcpx_wait(x[i], -1) : 0;

		tcpx_xfer_free(x[i]);
		bytes += x[i] ? PIECE : 0;
		near[i] = (struct tcpx_desc){ g->near, (uint64_t)i * PIECE, PIECE };
		far[i] = (struct tcpx_desc){ g->far, (uint64_t)i * PIECE, PIECE };
		if (rc || (rc = tcpx_read(g->p, &near[i], 1, &far[i], 1, NULL, 0, &x[i])))
			fail("READ", rc);
	}
	for (int i = 0; i < DEEP; i++)
		tcpx_xfer_free(x[i]);
	printf("bulk %.0f Mbit/s\n", (double)bytes * 8e3 /
	       (double)(tcpx_clock_now(&tcpx_clock_system) - from_ns));
}

/* ---- those who take ---- */

/* An OPEN whose list is every second byte; the last entry is @past bytes further. */
static int
put_open(struct session *s, const struct tcpx_region_ref *ref, uint8_t op, uint32_t entries,
	 uint64_t past)
{
	bool list = op != TCPX_WIRE_SEND;
	struct tcpx_open o = { .op = op, .total = list ? entries : NOTE, .chunk = 4096,
			       .entry_count = list ? entries : 0 };
	static const uint8_t payload[NOTE];
	uint8_t room[TCPX_FRAME_MAX], *at;
	struct tcpx_runs_writer w;
	struct tcpx_buf b;
	int rc;

	o.id = ++s->xfers.opened_here | (s->opener ? 0 : ID_OF_ACCEPTOR);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_open_write(&b, &o);
	at = room + b.pos;
	tcpx_runs_write_init(&w);
	for (uint32_t i = 0; list && i < entries; i++) {
		struct tcpx_run_entry e = { 0, 2ull * i + (i == entries - 1 ? past : 0), 1 };

		(void)tcpx_runs_write(&w, ref, &e, &at, room + sizeof(room));
	}
	if (list)
		(void)tcpx_runs_write(&w, ref, NULL, &at, room + sizeof(room));
	b.pos = (size_t)(at - room);
	tcpx_open_finish(&b, list ? 0 : TCPX_OPEN_INLINE, payload, list ? 0 : NOTE);
	rc = tcpx_ctrl_put_bulk(s->control.ctrl, TCPX_FR_OPEN, b.data, b.pos, NULL);
	s->xfers.opened_here -= rc != 0;
	return rc;
}

/* One frame of that kind, whatever the rules of the sender say. */
static int
put_one(struct guest *g, struct session *s, const char *how)
{
	struct tcpx_region_ref wrong = g->ref;

	if (!strcmp(how, "lists"))
		return put_open(s, &g->ref, TCPX_WIRE_WRITE, 1300000, 0);
	if (!strcmp(how, "repeat"))
		return put_open(s, &g->ref, TCPX_WIRE_READ, 100000, LEN);
	if (!strcmp(how, "sends"))
		return put_open(s, &g->ref, TCPX_WIRE_SEND, 0, 0);
	if (!strcmp(how, "pings"))
		return tcpx_ctrl_put_raw(s->control.ctrl, TCPX_FR_PING, NULL, 0);
	wrong.key[0] ^= 1;
	return put_open(s, &wrong, TCPX_WIRE_READ, 1, 0);
}

/* Frames until the queue is full or the session has ended. */
static void
put_some(struct guest *g, struct session *s, const char *how)
{
	const uint8_t *data;

	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < BATCH && s->state == SESS_OPEN; i++) {
		if (tcpx_ctrl_pending(s->control.ctrl, &data) > 32768 || put_one(g, s, how) != 0)
			break;
		g->frames++;
	}
	if (s->state == SESS_OPEN)
		tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

static void
put_notes(struct guest *g)
{
	static const uint8_t note[NOTE];

	for (int i = 0; i < BATCH && tcpx_notify(g->p, note, NOTE) == 0; i++)
		g->frames++;
}

static void
take(struct guest *g, const char *how, const char *address, const char *path)
{
	static const char *const all[] = { "tiny", "pings", "sends", "lists" };
	bool mixed = !strcmp(how, "all");

	(void)!nice(19); /* it has a machine of its own, elsewhere */
	for (uint64_t turn = 0; goes_on(g); turn++) {
		struct tcpx_node *n = g->e->registry.sessions.next;

		if (tcpx_peer_wait(g->p, 0) != 0 || n == &g->e->registry.sessions) {
			tcpx_peer_free(g->p);
			while (!reach(g, address, path) && goes_on(g))
				tcpx_peer_free(g->p);
			continue;
		}
		if (mixed)
			how = all[turn / 2 % 4];
		if (!strcmp(how, "notes"))
			put_notes(g);
		else
			put_some(g, tcpx_container(n, struct session, in_engine), how);
		if (turn % 16 == 0)
			usleep(1000);
	}
	printf("taken: %llu frames, %llu sessions\n", (unsigned long long)g->frames,
	       (unsigned long long)g->sessions);
}

int
main(int argc, char **argv)
{
	struct guest g = { 0 };
	uint8_t *mem;
	int rc;

	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc != 5)
		return 2;
	g.e = open_engine(argv[1]);
	mem = calloc(1, LEN);
	rc = tcpx_mem_register(g.e, mem, LEN, TCPX_MEM_LOCAL, &g.near);
	if (rc)
		fail("region", rc);
	if (!reach(&g, argv[2], argv[3]))
		fail("connect", TCPX_EPEERGONE);
	g.ends_ns = tcpx_clock_now(&tcpx_clock_system) + (uint64_t)(atof(argv[4]) * 1e9);
	if (!strcmp(argv[1], "read"))
		read_small(&g);
	else if (!strcmp(argv[1], "bulk"))
		read_bulk(&g);
	else
		take(&g, argv[1], argv[2], argv[3]);
	tcpx_peer_free(g.p);
	tcpx_close(g.e);
	free(mem);
	return 0;
}
