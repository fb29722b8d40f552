/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a greedy peer costs others: one that may connect, has a key, and asks for more than its share.
 * Each role is a process, in a namespace of its own (bench/greedy.sh); they share the file STATE.
 *
 *	greedy STATE server               a region to read and write; takes notes slowly
 *	greedy STATE bulk|reader ADDRESS  a bystander: READs of 8 MiB without end, or of 16 bytes
 *	greedy STATE KIND ADDRESS         lists, notes, opens or reads, until its phase is over
 *	greedy STATE judge SECONDS REST   runs the phases, and reports; waits REST at most for memory
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "judge.h"
#include "tcpx/tcpx.h"

enum { ALONE, LISTS, NOTES, OPENS, READS, PHASES, DONE };
enum { BACK_KIB = 16 << 10, BULK = 8 << 20, DEEP = 4, MANY = 512, ENTRIES = 100000, SAMPLES = 1 << 16 };

static const char *const kinds[PHASES] = { "alone", "lists", "notes", "opens", "reads" };

struct state {
	_Atomic int phase, resting;
	_Atomic uint16_t port;
	pid_t server;
	uint32_t region_len;
	uint8_t region[512];
	_Atomic uint64_t bulk_bytes[PHASES], asked[PHASES], refused[PHASES];
	uint32_t samples[PHASES];
	float us[PHASES][SAMPLES];
	double turn_us[PHASES]; /* the server's longest */
	uint64_t kept; /* the server's own count, at most */
};

static void __attribute__((noreturn))
fail(const char *what, int rc)
{
	fprintf(stderr, "greedy: %s: %s\n", what, tcpx_strerror_name(rc));
	exit(1);
}

static tcpx_engine *
open_engine(const char *name, const char *listen)
{
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;
	int rc;

	o.name = name;
	o.listen = listen;
	rc = tcpx_open(&o, &e);
	if (rc)
		fail(name, rc);
	return e;
}

static tcpx_peer *
reach(tcpx_engine *e, const struct state *s, const char *address)
{
	tcpx_peer *p;
	char at[80];
	int rc;

	while (!s->port)
		usleep(1000);
	snprintf(at, sizeof(at), "%s:%u", address, s->port);
	rc = tcpx_peer_connect(e, at, &p);
	rc = rc ? rc : tcpx_peer_wait(p, 20000);
	if (rc)
		fail("connect", rc);
	return p;
}

static uint64_t
memory(tcpx_engine *e, size_t len, unsigned access)
{
	uint64_t id = 0;
	uint8_t *at = calloc(1, len);
	int rc = at ? tcpx_mem_register(e, at, len, access, &id) : -1;

	if (rc)
		fail("memory", rc);
	return id;
}

static uint64_t
far_memory(tcpx_engine *e, const struct state *s)
{
	uint64_t id;
	int rc = tcpx_mem_import(e, s->region, s->region_len, &id);

	if (rc)
		fail("import", rc);
	return id;
}

/* An application that is slower than its peers' notes, and takes the rest when they are done. */
static void
take_notes(tcpx_engine *e, bool all)
{
	tcpx_note *note;

	while (tcpx_note_get(e, &note) == 0) {
		tcpx_note_free(note);
		if (!all)
			break;
	}
}

static void
be_server(struct state *s)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };
	tcpx_engine *e = open_engine("server", NULL);
	uint64_t id = memory(e, 4 * BULK, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	size_t len = sizeof(s->region);
	int rc = tcpx_mem_export(e, id, s->region, &len);

	if (rc)
		fail("region", rc);
	judge_turns(e);
	s->region_len = (uint32_t)len;
	s->server = getpid();
	s->port = tcpx_port(e);
	while (s->phase < DONE) {
		int phase = s->phase;
		double us;

		usleep(50000);
		us = judge_turn_us();
		if (phase >= 0 && phase < PHASES && phase == s->phase && us > s->turn_us[phase])
			s->turn_us[phase] = us;
		take_notes(e, s->resting);
		if (tcpx_query(e, &c) == 0 && c.memory_bytes > s->kept)
			s->kept = c.memory_bytes;
	}
	tcpx_close(e);
}

/* READs of @len bytes, @deep at a time. */
static void
read_on(struct state *s, const char *address, uint64_t len, unsigned deep, int until)
{
	tcpx_engine *e = open_engine(until == DONE ? "bystander" : "greedy", NULL);
	tcpx_peer *p = reach(e, s, address);
	struct tcpx_desc near = { memory(e, BULK, TCPX_MEM_LOCAL), 0, len };
	struct tcpx_desc far = { far_memory(e, s), 0, len };
	tcpx_xfer *x[MANY] = { NULL };
	int rc = 0;

	for (unsigned i = 0; s->phase <= until && s->phase < DONE; i = (i + 1) % deep) {
		if (x[i] && (rc = tcpx_wait(x[i], -1)) == 0 && s->phase < PHASES && !s->resting)
			(until == DONE ? s->bulk_bytes : s->asked)[s->phase] += len;
		tcpx_xfer_free(x[i]);
		if (rc || (rc = tcpx_read(p, &near, 1, &far, 1, NULL, 0, &x[i])))
			fail("read", rc);
	}
	_exit(0);
}

static void
be_reader(struct state *s, const char *address)
{
	tcpx_engine *e = open_engine("reader", NULL);
	tcpx_peer *p = reach(e, s, address);
	struct tcpx_desc near = { memory(e, 4096, TCPX_MEM_LOCAL), 0, 16 };
	struct tcpx_desc far = { far_memory(e, s), 3 * BULK, 16 };
	int rc = 0;

	while (rc == 0 && s->phase < DONE) {
		uint64_t from_ns = tcpx_clock_now(&tcpx_clock_system);
		int phase = s->phase;
		tcpx_xfer *x;

		rc = tcpx_read(p, &near, 1, &far, 1, NULL, 0, &x);
		rc = rc ? rc : tcpx_wait(x, -1);
		tcpx_xfer_free(x);
		if (phase < PHASES && !s->resting && s->samples[phase] < SAMPLES)
			s->us[phase][s->samples[phase]++] =
				(float)(tcpx_clock_now(&tcpx_clock_system) - from_ns) / 1000;
		usleep(1000);
	}
	if (rc)
		fail("read", rc);
	_exit(0);
}

/* WRITEs, as many as the engine takes: of lists as long as may be, or of 16 bytes. A refusal for want of
 * credit or room is the answer that it deserves. */
static void
write_on(struct state *s, const char *address, int phase, uint32_t entries)
{
	tcpx_engine *e = open_engine("greedy", NULL);
	tcpx_peer *p = reach(e, s, address);
	uint64_t near_id = memory(e, BULK, TCPX_MEM_LOCAL), far_id = far_memory(e, s);
	struct tcpx_desc *near = calloc(entries, sizeof(*near)), *far = calloc(entries, sizeof(*far));
	tcpx_xfer *x[MANY] = { NULL };

	for (uint32_t i = 0; near && far && i < entries; i++) {
		near[i] = (struct tcpx_desc){ near_id, i * 32ull, 16 };
		far[i] = (struct tcpx_desc){ far_id, i * 48ull, 16 };
	}
	for (unsigned i = 0; s->phase <= phase; i = (i + 1) % MANY) {
		if (x[i] && tcpx_wait(x[i], -1))
			s->refused[phase]++;
		tcpx_xfer_free(x[i]);
		x[i] = NULL;
		if (tcpx_write(p, near, entries, far, entries, NULL, 0, &x[i]))
			s->refused[phase]++;
		else
			s->asked[phase]++;
	}
	_exit(0);
}

static void
note_on(struct state *s, const char *address)
{
	tcpx_engine *e = open_engine("greedy", NULL);
	tcpx_peer *p = reach(e, s, address);
	static uint8_t note[TCPX_NOTE_MAX];

	while (s->phase <= NOTES) {
		if (tcpx_notify(p, note, sizeof(note))) {
			s->refused[NOTES]++;
			usleep(100); /* it keeps trying */
		} else {
			s->asked[NOTES]++;
		}
	}
	_exit(0);
}

/* ---- the judge ---- */

/* Seconds until the server's memory is back, or @most. */
static double
until_back(pid_t server, long before, unsigned most)
{
	uint64_t begin_ns = tcpx_clock_now(&tcpx_clock_system), ns = 0;

	do {
		usleep(50000);
		ns = tcpx_clock_now(&tcpx_clock_system) - begin_ns;
	} while (judge_resident_kib(server) > before + BACK_KIB && ns < most * TCPX_SEC);
	return (double)ns / 1e9;
}

static void
judge(struct state *s, unsigned seconds, unsigned rest)
{
	double alone_us = 0, back;
	long before = 0;

	while (s->phase < 0 || !s->samples[ALONE])
		usleep(1000);
	printf("%-6s %9s %9s %9s %7s %8s %12s %9s %9s %9s %7s\n", "", "READ GB/s", "p50 us", "p99 us",
	       "times", "turn us", "asked", "refused", "KiB most", "KiB then", "after s");
	for (int i = 0; i < PHASES; i++) {
		uint64_t begin_ns = tcpx_clock_now(&tcpx_clock_system);
		long most = 0, now;
		double took;
		uint32_t n;

		s->phase = i;
		s->resting = 0;
		for (unsigned k = 0; k < seconds * 20; k++) {
			usleep(50000);
			now = judge_resident_kib(s->server);
			most = now > most ? now : most;
		}
		s->resting = 1; /* the greedy one leaves at the next phase */
		took = (double)(tcpx_clock_now(&tcpx_clock_system) - begin_ns) / 1e9;
		n = s->samples[i];
		judge_sort(s->us[i], n);
		if (i == ALONE && n)
			alone_us = s->us[i][n * 99 / 100];
		if (i == ALONE)
			before = most;
		s->phase = i + 1;
		back = until_back(s->server, before, rest);
		printf("%-6s %9.4f %9.0f %9.0f %7.2f %8.0f %12llu %9llu %9ld %9ld %7.1f\n", kinds[i],
		       (double)s->bulk_bytes[i] / took / 1e9, n ? s->us[i][n / 2] : 0,
		       n ? s->us[i][n * 99 / 100] : 0, n ? s->us[i][n * 99 / 100] / alone_us : 0,
		       s->turn_us[i],
		       (unsigned long long)s->asked[i], (unsigned long long)s->refused[i], most,
		       judge_resident_kib(s->server), back);
	}
	printf("kept for peers, by the server's count: at most %llu KiB\n",
	       (unsigned long long)s->kept / 1024);
	s->phase = DONE;
}

/* A greedy one begins with its phase, a bystander at once. */
static void
wait_for(const struct state *s, int phase)
{
	while (s->phase < phase || (s->phase == phase && s->resting))
		usleep(1000);
}

int
main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1, phase = ALONE;
	struct state *s;

	if (fd < 0 || ftruncate(fd, sizeof(*s)))
		return 2;
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(argv[2], "server"))
		be_server(s);
	else if (!strcmp(argv[2], "judge"))
		judge(s, argc > 3 ? (unsigned)atoi(argv[3]) : 5, argc > 4 ? (unsigned)atoi(argv[4]) : 10);
	else if (argc < 4)
		return 2;
	else if (!strcmp(argv[2], "bulk"))
		read_on(s, argv[3], BULK, DEEP, DONE);
	else if (!strcmp(argv[2], "reader"))
		be_reader(s, argv[3]);
	while (phase < PHASES && strcmp(argv[2], kinds[phase]))
		phase++;
	if (phase == PHASES)
		return 0;
	wait_for(s, phase);
	switch (phase) {
	case LISTS:
		write_on(s, argv[3], phase, ENTRIES);
		break;
	case OPENS:
		write_on(s, argv[3], phase, 1);
		break;
	case NOTES:
		note_on(s, argv[3]);
		break;
	default:
		read_on(s, argv[3], BULK, DEEP, phase);
	}
	return 0;
}
