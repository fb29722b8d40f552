/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx serve: one thread that takes notes and advances runs, until a signal or, with
 * --once, until the first measured client has gone.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/perf/args.h"
#include "measure/perf/events.h"
#include "measure/perf/serve.h"
#include "tool/tool.h"

/* Clients that were turned away. */
struct refusals {
	uint64_t count, last_ns;
};

enum { REFUSED_S = 10, /* for another client */ TURN_MS = 100, SHARED_MS = 1, STOP_MS = 500,
       SWEEP_NS = 100 * 1000 * 1000, NOTES_A_TURN = 64 };

static const char name[] = "tcpx serve";

static volatile sig_atomic_t stop_asked; /* the only variable that a signal handler may set */

static void
on_signal(int number)
{
	stop_asked = 1;
}

/* Writes the blob for the process that started this one. */
static int
write_ready(tcpx_engine *engine, int fd)
{
	uint8_t blob[JOB_BLOB_BYTES];
	size_t len = sizeof(blob);
	int rc = tcpx_metadata(engine, blob, &len);

	if (!rc && write(fd, blob, len) != (ssize_t)len)
		rc = -errno;
	close(fd);
	return rc;
}

static void
print_ready(tcpx_engine *engine)
{
	struct tcpx_nic_info nic[64];
	size_t n = ARRAY_LEN(nic);

	if (tcpx_query_nics(engine, nic, sizeof(nic[0]), &n))
		n = 0;
	printf("tcpx serve %s: port %u on %zu NIC%s:", tcpx_version(), tcpx_port(engine), n,
	       n == 1 ? "" : "s");
	for (size_t i = 0; i < n && i < ARRAY_LEN(nic); i++)
		printf(" %s (%s)", nic[i].name, nic[i].addr);
	printf("\n");
	fflush(stdout);
}

/* A turn sleeps in a transfer or for a note, unless a client wants spinning. Where there are
 * several clients, no transfer of one keeps the others waiting. */
static void
turn(struct serve *s)
{
	int left = NOTES_A_TURN;
	tcpx_xfer *oldest;
	tcpx_note *note;
	bool spin;

	tool_log_limit(true);
	tool_log_flush();
	for (; left && !tcpx_note_get(s->engine, &note); left--)
		serve_note(s, note);
	spin = serve_pump(s, &oldest);
	tool_log_limit(false);
	if (spin || !left)
		return;
	if (oldest)
		(void)tcpx_wait(oldest, serve_is_shared(s) ? SHARED_MS : TURN_MS);
	else if (!tcpx_note_wait(s->engine, TURN_MS, &note)) {
		tool_log_limit(true);
		serve_note(s, note);
		tool_log_limit(false);
	}
}

/* --port, or 28515 where TCPX_PORT says nothing. NULL: TCPX_PORT. */
static const char *
serve_port(const struct perf_args *args)
{
	struct tcpx_cfg *cfg;
	bool said;

	if (args->port || perf_load_settings(args, &cfg))
		return args->port;
	said = !tcpx_cfg_is_default(cfg, TCPX_SET_PORT);
	tcpx_cfg_free(cfg);
	return said ? NULL : PERF_PORT_TEXT;
}

/* Engine and events; an exit code after a message. */
static int
open_serve(struct perf_args *args, struct serve *s)
{
	struct gpus *gpus;
	tcpx_engine *engine;
	FILE *events;
	int rc = events_open(args->events, &events);

	if (rc)
		return tool_fail(TOOL_USAGE, name, "--events %s: %s", args->events, strerror(-rc));
	rc = perf_settle(args, name, &gpus); /* before the engine: it looks for a driver */
	if (rc)
		return rc;
	rc = perf_open_engine(args, name, serve_port(args), &engine);
	if (rc) {
		gpus_close(gpus);
		return rc;
	}
	serve_init(s, args, engine);
	s->gpus = gpus;
	s->events = events;
	s->quiet = args->ready_fd >= 0 || events_on_stdout(args->events);
	return TOOL_OK;
}

static int
tell_ready(struct serve *s)
{
	events_put(s->events, "ready", json_pack("{s:i}", "port", tcpx_port(s->engine)));
	if (s->args->ready_fd >= 0)
		return write_ready(s->engine, s->args->ready_fd);
	if (!s->quiet)
		print_ready(s->engine);
	return 0;
}

/* A client that the engine, or this server, has turned away may be the one that was to come. So the
 * wait ends a while after the last of them. */
static bool
is_refused(struct serve *s, struct refusals *r, uint64_t now)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };

	if (tcpx_query(s->engine, &c))
		return false;
	if (c.refused + s->refused != r->count) {
		r->count = c.refused + s->refused;
		r->last_ns = now;
	}
	return r->count && now - r->last_ns > REFUSED_S * TCPX_SEC && !s->measured &&
	       !serve_is_busy(s);
}

/* Until a signal, or with --once until the one client has gone or none has come. */
static int
serve_all(struct serve *s)
{
	const struct perf_args *a = s->args;
	struct refusals refusals = { 0 };
	uint64_t begin = tcpx_clock_now(&tcpx_clock_system), swept = begin, now;

	while (!stop_asked && !(a->once && s->measured)) {
		turn(s);
		now = tcpx_clock_now(&tcpx_clock_system);
		if (now - swept <= SWEEP_NS)
			continue;
		serve_sweep(s);
		swept = now;
		if (a->wait_s && now - begin > a->wait_s * TCPX_SEC && !s->measured &&
		    !serve_is_busy(s))
			return tool_fail(TOOL_FINDING, name, "no client to measure within %" PRIu64
					 " s (--wait)", a->wait_s);
		if (a->once && !a->wait_s && is_refused(s, &refusals, now))
			return tool_fail(TOOL_FINDING, name, "no client to measure: one was refused, and "
					 "no other came within %d s (--wait S waits longer)", REFUSED_S);
	}
	return TOOL_OK;
}

int
cmd_serve(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	struct perf_args args;
	struct serve s;
	int rc = serve_args_parse(&args, argc, argv);

	if (rc)
		return rc < 0 ? TOOL_OK : rc;
	sigaction(SIGINT, &action, NULL); /* a second one ends us at once */
	sigaction(SIGTERM, &action, NULL);
	rc = open_serve(&args, &s);
	if (rc)
		return rc;
	rc = tell_ready(&s);
	if (!rc)
		rc = serve_all(&s);
	serve_fini(&s);
	if (!s.quiet)
		printf("%" PRIu64 " client%s served, %" PRIu64 " wrong bytes\n", s.served,
		       s.served == 1 ? "" : "s", s.wrong);
	tcpx_close_wait(s.engine, STOP_MS);
	events_close(s.events);
	return rc || s.wrong || (args.once && s.failed) ? TOOL_FINDING : TOOL_OK;
}
