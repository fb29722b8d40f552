/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hostile connections cost others. hostile SECONDS RATE [SECRET_FILE] opens a server; a client
 * whose WRITEs never end, a bystander who READs 16 bytes, and honest ones who come and go. Beside
 * them, one after the other: nothing, RATE hostile connections a second at a listener that only
 * accepts, and as many at the server. All of it on the CPUs that it is given.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "hostile.h"
#include "judge.h"
#include "tcpx/tcpx.h"

#define BULK  (8u << 20)
#define DEEP  2        /* WRITEs of the client at a time */
#define PAUSE (TCPX_SEC / 5) /* between honest ones */

static const char *secret = "";

static void
fail(const char *what, int rc)
{
	fprintf(stderr, "hostile: %s: %s\n", what, tcpx_strerror_name(rc));
	exit(1);
}

static void
count_line(void *arg, int level, const char *line)
{
	struct shared *s = arg;
	uint64_t now = tcpx_clock_now(&tcpx_clock_system) / TCPX_SEC;

	(void)level;
	if (getenv("HOSTILE_LOG"))
		fprintf(stderr, "%s\n", line);
	if (now != s->line_second) {
		s->line_second = now;
		s->lines_in_second = 0;
	}
	s->lines++;
	if (++s->lines_in_second > s->lines_max)
		s->lines_max = s->lines_in_second;
}

static tcpx_engine *
open_engine(const char *name, const char *listen, struct shared *log)
{
	char file[256];
	const char *settings[] = { "TCPX_NICS=" DATA_NIC, "TCPX_CHANNELS=2", "TCPX_STATS=off", file,
				   NULL };
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;
	int rc;

	snprintf(file, sizeof(file), "TCPX_SECRET_FILE=%s", secret);
	o.name = name;
	o.settings = settings;
	o.listen = listen;
	if (log) {
		o.log = count_line;
		o.log_arg = log;
	}
	rc = tcpx_open(&o, &e);
	if (rc)
		fail(name, rc);
	return e;
}

static tcpx_peer *
reach(tcpx_engine *e, const struct shared *s)
{
	char at[64];
	tcpx_peer *p;
	int rc;

	snprintf(at, sizeof(at), HOST ":%u", s->port);
	rc = tcpx_peer_connect(e, at, &p);
	if (rc == 0)
		rc = tcpx_peer_wait(p, 20000);
	if (rc)
		fail("connect", rc);
	return p;
}

/* ---- the server ---- */

/* Where its data connections listen: the other TCP port of this process. */
static uint16_t
find_data_port(uint16_t control)
{
	FILE *f = fopen("/proc/net/tcp", "r");
	unsigned ip, port, state, found = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d: %x:%x %*x:%*x %x", &ip, &port, &state) == 3 && state == 10 &&
		    ip == inet_addr(DATA_NIC) && port != control)
			found = port;
	if (f)
		fclose(f);
	return (uint16_t)found;
}

static void
be_server(struct shared *s)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };
	tcpx_engine *e = open_engine("server", HOST ":0", s);
	uint8_t *mem = calloc(1, 4 * BULK);
	size_t len = sizeof(s->region);
	uint64_t id;
	int rc = mem ? tcpx_mem_register(e, mem, 4 * BULK,
					 TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, &id) : -ENOMEM;

	if (rc == 0)
		rc = tcpx_mem_export(e, id, s->region, &len);
	if (rc)
		fail("region", rc);
	s->region_len = (uint32_t)len;
	s->port = tcpx_port(e);
	s->ready = true;
	while (s->phase < PHASE_END) {
		usleep(100000);
		if (s->phase == PHASE_ALONE)
			s->data_port = find_data_port(s->port);
		if (tcpx_query(e, &c) == 0 && c.memory_bytes > s->memory_bytes)
			s->memory_bytes = c.memory_bytes;
	}
	tcpx_close(e);
	exit(0);
}

static void
be_dummy(struct shared *s)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	struct pollfd p = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), .events = POLLIN };
	int *fd = calloc(65536, sizeof(*fd)), count = 0, one;

	inet_pton(AF_INET, HOST, &at.sin_addr);
	if (bind(p.fd, (struct sockaddr *)&at, len) || listen(p.fd, 4096) ||
	    getsockname(p.fd, (struct sockaddr *)&at, &len))
		exit(1);
	s->dummy_port = ntohs(at.sin_port);
	while (s->phase < PHASE_ENGINE) {
		if (poll(&p, 1, 200) <= 0)
			continue;
		while ((one = accept(p.fd, NULL, NULL)) >= 0 && count < 65536)
			fd[count++] = one;
	}
	exit(0);
}

/* ---- those who work ---- */

static uint64_t
far_region(tcpx_engine *e, const struct shared *s)
{
	uint64_t id;
	int rc = tcpx_mem_import(e, s->region, s->region_len, &id);

	if (rc)
		fail("import", rc);
	return id;
}

static void
be_client(struct shared *s)
{
	tcpx_engine *e = open_engine("client", NULL, NULL);
	tcpx_peer *p = reach(e, s);
	struct tcpx_desc near[DEEP], far[DEEP];
	tcpx_xfer *x[DEEP];
	int rc;

	for (int i = 0; i < DEEP; i++) {
		near[i] = (struct tcpx_desc){ 0, 0, BULK };
		far[i] = (struct tcpx_desc){ far_region(e, s), (uint64_t)i * BULK, BULK };
		rc = tcpx_mem_register(e, calloc(1, BULK), BULK, TCPX_MEM_LOCAL, &near[i].region);
		if (rc || (rc = tcpx_write(p, &near[i], 1, &far[i], 1, NULL, 0, &x[i])))
			fail("write", rc);
	}
	for (int i = 0; s->phase < PHASE_END; i = (i + 1) % DEEP) {
		rc = tcpx_wait(x[i], -1);
		tcpx_xfer_free(x[i]);
		if (rc || (rc = tcpx_write(p, &near[i], 1, &far[i], 1, NULL, 0, &x[i])))
			fail("write", rc);
		s->bulk_bytes[s->phase < PHASES ? s->phase : PHASES] += BULK;
	}
	exit(0);
}

static void
be_bystander(struct shared *s)
{
	tcpx_engine *e = open_engine("bystander", NULL, NULL);
	tcpx_peer *p = reach(e, s);
	struct tcpx_desc near = { 0, 0, 16 }, far = { far_region(e, s), 3 * BULK, 16 };
	static uint8_t mem[4096];
	int rc = tcpx_mem_register(e, mem, sizeof(mem), TCPX_MEM_LOCAL, &near.region);

	while (rc == 0 && s->phase < PHASE_END) {
		uint64_t from_ns = tcpx_clock_now(&tcpx_clock_system);
		int phase = s->phase;
		tcpx_xfer *x;

		rc = tcpx_read(p, &near, 1, &far, 1, NULL, 0, &x);
		if (rc == 0)
			rc = tcpx_wait(x, -1);
		tcpx_xfer_free(x);
		if (phase < PHASES && s->sample_count[phase] < SAMPLES)
			s->sample_us[phase][s->sample_count[phase]++] =
				(float)(tcpx_clock_now(&tcpx_clock_system) - from_ns) / 1000;
		usleep(1000);
	}
	if (rc)
		fail("read", rc);
	exit(0);
}

static void
say_why(tcpx_peer *p, int rc, uint64_t took_ns)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	(void)tcpx_peer_query(p, &info);
	printf("an honest one: %s after %.2f s: %s\n", rc ? tcpx_strerror_name(rc) : "in",
	       (double)took_ns / 1e9, info.cause);
}

static void
be_honest(struct shared *s)
{
	while (s->phase < PHASE_END) {
		uint64_t from_ns, took_ns;
		tcpx_engine *e;
		tcpx_peer *p;
		char at[64];
		int rc;

		usleep(PAUSE / 1000);
		if (s->phase != PHASE_ENGINE || s->honest_count == HONEST)
			continue;
		e = open_engine("honest", NULL, NULL);
		snprintf(at, sizeof(at), HOST ":%u", s->port);
		from_ns = tcpx_clock_now(&tcpx_clock_system);
		rc = tcpx_peer_connect(e, at, &p);
		if (rc == 0)
			rc = tcpx_peer_wait(p, 20000);
		took_ns = tcpx_clock_now(&tcpx_clock_system) - from_ns;
		if (rc || took_ns > TCPX_SEC)
			say_why(p, rc, took_ns);
		s->honest_failed += rc != 0;
		s->honest_ms[s->honest_count++] = (float)took_ns / TCPX_MS;
		tcpx_peer_free(p);
		tcpx_close(e);
	}
	exit(0);
}

static void
be_generator(struct shared *s, uint32_t rate)
{
	int rc = 0;

	while (s->phase < PHASE_DUMMY)
		usleep(1000);
	rc = hostile_generate(s, s->dummy_port, PHASE_DUMMY, rate, secret);
	while (rc == 0 && s->phase < PHASE_ENGINE)
		usleep(1000);
	if (rc == 0)
		rc = hostile_generate(s, s->port, PHASE_ENGINE, rate, secret);
	if (rc)
		fail("load", rc);
	exit(0);
}

/* ---- the report ---- */

static void
report(struct shared *s, const double *seconds, const uint32_t *made, long before, long during,
       long after)
{
	static const char *const name[] = { "alone", "beside a dummy's load", "beside its own" };
	double Bps[PHASES], p99[PHASES];

	for (int i = 0; i < PHASES; i++) {
		uint32_t n = s->sample_count[i];

		judge_sort(s->sample_us[i], n);
		Bps[i] = (double)s->bulk_bytes[i] / seconds[i];
		p99[i] = n ? s->sample_us[i][n * 99 / 100] : 0;
		printf("%-22s %5.1f s, %6u connections: WRITE %5.2f GB/s; READ of 16 bytes: median %.0f "
		       "us, p99 %.0f, longest %.0f (%u)\n", name[i], seconds[i], made[i], Bps[i] / 1e9,
		       n ? s->sample_us[i][n / 2] : 0, p99[i], n ? s->sample_us[i][n - 1] : 0, n);
	}
	judge_sort(s->honest_ms, s->honest_count);
	printf("WRITE: %.3f of that beside the dummy's load; p99: %.2f times\n", Bps[2] / Bps[1],
	       p99[2] / p99[1]);
	printf("honest ones: %u, %u failed, median %.1f ms, longest %.1f ms\n", s->honest_count,
	       s->honest_failed, s->honest_count ? s->honest_ms[s->honest_count / 2] : 0,
	       s->honest_count ? s->honest_ms[s->honest_count - 1] : 0);
	printf("server: resident %ld KiB before, %ld at most, %ld after; counts at most %llu KiB; log "
	       "lines: %u, at most %u in a second; connections refused by the kernel: %u\n",
	       before, during, after, (unsigned long long)s->memory_bytes / 1024, s->lines,
	       s->lines_max, s->refused);
}

int
main(int argc, char **argv)
{
	int length = argc > 1 ? atoi(argv[1]) : 20;
	uint32_t rate = argc > 2 ? (uint32_t)atoi(argv[2]) : 500, made[PHASES] = { 0 };
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rlimit files;
	double seconds[PHASES];
	long before, during = 0;
	pid_t server;

	if (s == MAP_FAILED || length <= 0 || rate == 0)
		return 2;
	if (argc > 3)
		secret = argv[3];
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	setvbuf(stdout, NULL, _IOLBF, 0);
	server = fork();
	if (server == 0)
		be_server(s);
	if (fork() == 0)
		be_dummy(s);
	while (!s->ready || !s->dummy_port)
		if (usleep(1000), waitpid(server, NULL, WNOHANG) > 0)
			return 1;
	if (fork() == 0)
		be_client(s);
	if (fork() == 0)
		be_bystander(s);
	if (fork() == 0)
		be_honest(s);
	if (fork() == 0)
		be_generator(s, rate);
	sleep(2); /* they begin */
	memset(s->sample_us[0], 0, sizeof(s->sample_us[0]));
	s->sample_count[0] = 0;
	s->bulk_bytes[0] = 0;
	before = judge_resident_kib(server);
	for (int i = 0; i < PHASES; i++) {
		uint64_t from_ns = tcpx_clock_now(&tcpx_clock_system);
		uint32_t first = s->made;

		s->phase = i;
		for (int k = 0; k < (i ? length : length / 4 + 1) * 10; k++) {
			usleep(100000);
			during = judge_resident_kib(server) > during ? judge_resident_kib(server) : during;
		}
		seconds[i] = (double)(tcpx_clock_now(&tcpx_clock_system) - from_ns) / 1e9;
		made[i] = s->made - first;
	}
	s->phase = PHASE_AFTER;
	sleep(6); /* TCPX_HANDSHAKE_MS and a little */
	report(s, seconds, made, before, during, judge_resident_kib(server));
	s->phase = PHASE_END;
	while (wait(NULL) > 0)
		;
	return 0;
}
