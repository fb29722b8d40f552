/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx serve: one thread that hears notes and moves runs on, until a signal or, with
 * --once, until its first client has gone.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tool/perf/perf_args.h"
#include "tool/perf/perf_serve.h"
#include "tool/tool.h"

enum { TURN_MS = 100, STOP_MS = 500, SWEEP_NS = 100 * 1000 * 1000 };

static volatile sig_atomic_t stop_asked; /* the one thing a signal handler may set */

static void
on_signal(int number)
{
	stop_asked = 1;
}

/* Hands the blob to whoever started us. */
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

	if (tcpx_query_nics(engine, nic, &n))
		n = 0;
	printf("tcpx serve %s: port %u on %zu NIC%s:", tcpx_version(), tcpx_port(engine), n,
	       n == 1 ? "" : "s");
	for (size_t i = 0; i < n && i < ARRAY_LEN(nic); i++)
		printf(" %s (%s)", nic[i].name, nic[i].addr);
	printf("\n");
	fflush(stdout);
}

/* One turn: sleeps in a transfer or for a note, unless somebody wants us to spin. */
static void
turn(struct serve *s)
{
	tcpx_xfer *oldest;
	tcpx_note *note;
	bool spin;

	while (!tcpx_note_get(s->engine, &note))
		serve_note(s, note);
	spin = serve_pump(s, &oldest);
	if (spin)
		return;
	if (oldest)
		(void)tcpx_wait(oldest, TURN_MS);
	else if (!tcpx_note_wait(s->engine, TURN_MS, &note))
		serve_note(s, note);
}

int
cmd_serve(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };
	struct perf_args args;
	struct serve s;
	struct gpus *gpus = NULL; /* before the engine: it looks for a driver that is loaded */
	tcpx_engine *engine;
	uint64_t swept = 0, now;
	int rc = serve_args_parse(&args, argc, argv);

	if (rc)
		return rc < 0 ? TOOL_OK : rc;
	sigaction(SIGINT, &action, NULL); /* a second one ends us at once */
	sigaction(SIGTERM, &action, NULL);
	rc = args.mem.gpus ? perf_open_gpus(&args, "tcpx serve", &args.mem, &gpus) : TOOL_OK;
	if (rc)
		return rc;
	rc = perf_open_engine(&args, args.port, args.nics, &engine);
	if (rc) {
		gpus_close(gpus);
		return tool_fail(rc == TCPX_ECONFIG || rc == -ENODEV ? TOOL_USAGE : TOOL_FINDING,
				 "tcpx serve", "cannot start: %s (%s)", tcpx_strerror(rc),
				 tcpx_strerror_name(rc));
	}
	serve_init(&s, &args, engine);
	s.gpus = gpus;
	s.quiet = args.ready_fd >= 0;
	if (!s.quiet)
		print_ready(engine);
	else if ((rc = write_ready(engine, args.ready_fd)))
		stop_asked = 1;

	while (!stop_asked && !(args.once && s.served)) {
		turn(&s);
		now = tcpx_clock_now(&tcpx_clock_system);
		if (now - swept > SWEEP_NS) {
			serve_sweep(&s);
			swept = now;
		}
	}
	serve_fini(&s);
	if (!s.quiet)
		printf("%" PRIu64 " client%s served, %" PRIu64 " wrong bytes\n", s.served,
		       s.served == 1 ? "" : "s", s.wrong);
	tcpx_stop(engine, STOP_MS);
	return rc || s.wrong ? TOOL_FINDING : TOOL_OK;
}
