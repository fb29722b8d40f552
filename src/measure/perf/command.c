/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx perf: for each size set up, warm up, measure, check, print. Everything printed comes
 * from the record.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "measure/report/html.h"
#include "measure/mesh/mesh.h"
#include "measure/mesh/result.h"
#include "measure/report/out_verdict.h"
#include "measure/perf/load_measure.h"
#include "measure/perf/events.h"
#include "measure/job/stop.h"
#include "measure/perf/figures.h"
#include "measure/report/result.h"
#include "measure/report/result_fields.h"
#include "tool/output.h"
#include "tool/tool.h"

enum {
	SETTLE_NS = 10 * 1000 * 1000, /* a run long enough for an estimate         */
	ALONE_NS = 250 * 1000 * 1000, /* of a run that is not one of many           */
	ITERS_MIN = 5,
	GATE_LOOK_MS = 100,
	LAT_ITERS_MIN = 1000,
	ITERS_MAX = 100 * 1000 * 1000
};

static uint64_t
clamp(uint64_t v, uint64_t low, uint64_t high)
{
	return v < low ? low : v > high ? high : v;
}

/* Warms up, and estimates the time of a transfer unless -n gives their number. */
static int
warm_up(struct load *l, uint64_t *one_ns)
{
	const struct perf_args *a = l->perf->args;
	bool guess = a->duration_s || !a->iters;
	uint64_t n = a->warmup ? a->warmup : 1, ns = 0;
	int rc = 0;

	load_set_ring(l, 0, n);
	if (a->warmup || guess)
		rc = load_run(l, n, NULL, &ns);
	if (!rc && guess && ns < SETTLE_NS) {
		uint64_t more = clamp(n * SETTLE_NS / (ns ? ns : 1), 1, 10000);

		load_set_ring(l, ns / n, more);
		n = more;
		rc = load_run(l, n, NULL, &ns);
	}
	*one_ns = ns / n;
	return rc;
}

/* The transfers of one timed run. */
static uint64_t
iters_of_run(const struct perf_args *a, uint64_t one_ns)
{
	uint64_t least = a->lat ? LAT_ITERS_MIN : a->baseline ? 1 : ITERS_MIN;

	return a->iters ? a->iters
			: clamp(load_iters_for(a->baseline ? PERF_RUN_NS : ALONE_NS, one_ns), least,
				ITERS_MAX);
}

/* Reports that the run could begin, and waits for the start: other
 * measurements begin with it. */
static int
pass_gate(int fd)
{
	struct pollfd gate = { .fd = fd, .events = POLLIN };
	char byte = 'r';
	ssize_t n;

	if (fd < 0)
		return 0;
	n = write(fd, &byte, 1);
	/* a signal may come just before the wait, or to another thread */
	while (n == 1 && !perf_stop_asked() && poll(&gate, 1, GATE_LOOK_MS) <= 0)
		;
	if (perf_stop_asked())
		return -EINTR;
	if (n != 1 || read(fd, &byte, 1) != 1)
		return tcpx_fail(TCPX_SUB_TOOL, -EPIPE, "--gate-fd %d: nobody opens it", fd);
	return 0;
}

static int
measure(struct load *l, struct row *row)
{
	const struct perf_args *a = l->perf->args;
	struct load_stats *stats = calloc(1, sizeof(*stats));
	uint64_t one_ns = 0;
	int rc = !stats ? -ENOMEM : a->each ? 0 : warm_up(l, &one_ns);

	load_set_ring(l, one_ns, a->duration_s ? 0 : a->each ? 1 : iters_of_run(a, one_ns));
	if (!rc)
		rc = load_get_ready(l);
	if (!rc)
		rc = pass_gate(a->gate_fd);
	if (!rc) {
		tcpx_hist_init(&stats->hist);
		if (a->each)
			rc = load_each(l, stats);
		else if (a->baseline)
			rc = perf_pairs(l, iters_of_run(a, one_ns), stats, row);
		else if (a->duration_s)
			rc = load_measure_for(l, a->duration_s * TCPX_SEC, one_ns, stats);
		else
			rc = load_measure(l, iters_of_run(a, one_ns), stats);
	}
	if (rc && perf_stop_asked() && stats && stats->iters)
		rc = 0; /* this much was measured */
	if (!rc)
		perf_fill_row(l, stats, row);
	if (!rc && l->perf->events)
		events_put(l->perf->events, "usage", events_usage(&stats->near));
	free(stats);
	return rc;
}

static int
measure_size(struct perf *p, uint64_t size, struct row *row)
{
	struct load *l = calloc(1, sizeof(*l));
	int rc = l ? perf_begin_case(p, size) : -ENOMEM;

	if (!rc)
		rc = load_open(l, p);
	if (!rc) {
		rc = measure(l, row);
		load_close(l);
	}
	free(l);
	return rc;
}

static void
drop_last_row(struct result *r)
{
	shape_free(&row_shape, &r->rows.at[--r->rows.n]);
}

static struct out_view
view_of(const struct perf_args *a, FILE *table)
{
	return (struct out_view){ .lat = a->lat, .verbose = a->verbose,
				  .width = a->wide ? OUT_WIDE : out_width(table) };
}

/* Records what ended the run at @size, with @done of @asked sizes measured, and prints it. */
static void
note_stop(const struct perf *p, uint64_t size, int rc, struct result *r, size_t done, size_t asked)
{
	int signal = perf_stop_asked();
	struct result_stop *stop = signal ? &r->interrupted : &r->failed;
	const char *code = rc < 0 ? tcpx_strerror_name(rc) : "failed";
	const char *cause = p->refusal[0] ? p->refusal : rc < 0 ? tcpx_strerror(rc) : "see its log";
	char text[512];

	*stop = (struct result_stop){ .size = size, .sizes_done = done, .sizes_asked = asked };
	if (signal) {
		code = signal == SIGTERM ? "SIGTERM" : "SIGINT";
		cause = signal == SIGTERM ? "asked to end" : "Ctrl-C";
	}
	snprintf(stop->code, sizeof(stop->code), "%s", code);
	snprintf(stop->cause, sizeof(stop->cause), "%s", cause);
	out_verdict_stop(r, text, sizeof(text));
	tool_fail(TOOL_FINDING, "tcpx perf", "%s (%s)", text, code);
}

/* What the sizes after @at have to move, that one being 1; each takes its time if not -n. */
static double
work_later(const struct perf_args *a, const uint64_t *sizes, size_t count, size_t at)
{
	double sum = 0;

	for (size_t i = at + 1; i < count; i++)
		sum += a->iters && !a->duration_s ? (double)sizes[i] / (double)(sizes[at] + 1) : 1;
	return sum;
}

/* Size @at of @count into @row. */
static int
measure_paced(struct perf *p, const uint64_t *sizes, size_t count, size_t at, FILE *table,
	      struct row *row)
{
	const struct perf_args *a = p->args;
	struct pace pace = {
		.row = row, .size = sizes[at], .at = at + 1, .of = count,
		.lines = a->interval_ms && a->format == OUT_TABLE ? table : NULL,
		.every_ns = a->interval_ms ? a->interval_ms * TCPX_MS : TCPX_SEC,
		.asked_ns = a->duration_s * TCPX_SEC, .pairs = a->baseline ? a->pairs : 0,
		.later = work_later(a, sizes, count, at),
	};
	int rc;

	pace_begin(&pace, tcpx_clock_now(&tcpx_clock_system));
	p->pace = &pace;
	rc = measure_size(p, sizes[at], row);
	p->pace = NULL;
	pace_end(&pace, a->interval_ms || a->duration_s);
	return rc;
}

/* All sizes. The rows before a failure stay in the record, and a row that was interrupted. */
static int
sweep(struct perf *p, const uint64_t *sizes, size_t count, FILE *table, struct result *r)
{
	const struct perf_args *a = p->args;
	const struct out_view view = view_of(a, table);
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		struct row *row;

		if (perf_stop_asked()) {
			note_stop(p, sizes[i], -EINTR, r, i, count);
			break;
		}
		row = result_add_row(r);
		rc = measure_paced(p, sizes, count, i, table, row);
		if (rc) {
			drop_last_row(r);
			note_stop(p, sizes[i], rc, r, i, count);
			break;
		}
		out_row(table, a->format, r, row, &view);
		if (perf_stop_asked()) { /* perhaps it has fewer transfers than it was to have */
			note_stop(p, sizes[i], -EINTR, r, i, count);
			break;
		}
	}
	return rc;
}

/* Writes the files that the options ask for. TOOL_OK or an exit code. */
static int
write_files(const struct perf_args *a, const struct result *r)
{
	if (a->json && result_save(r, a->json))
		return TOOL_USAGE;
	if (!a->report)
		return TOOL_OK;
	if (report_write(r, 1, a->report))
		return TOOL_USAGE;
	fprintf(stderr, "report: %s\n", a->report);
	return TOOL_OK;
}

/* The difference between the other end's figures and ours. */
static void
print_agreement(FILE *f, const struct result *r)
{
	double widest = 0, here, there;

	if (!r->rows.n)
		return;
	for (size_t i = 0; i < r->rows.n; i++) {
		here = r->rows.at[i].algbw_GBps;
		there = r->rows.at[i].peer_algbw_GBps;
		if (here > 0 && fabs(there / here - 1) > widest)
			widest = fabs(there / here - 1);
	}
	fprintf(f, "# the server's clock: %.2f GB/s in the last row; %.1f %% from ours at most\n",
		r->rows.at[r->rows.n - 1].peer_algbw_GBps, 100 * widest);
}

static bool
any_wrong(const struct result *r)
{
	for (size_t i = 0; i < r->rows.n; i++)
		if (r->rows.at[i].wrong || r->rows.at[i].baseline_wrong > 0)
			return true;
	return false;
}

/* The output of rows: JSON or events on stdout are alone there, and only people
 * want a table then. */
static FILE *
open_table(const struct perf_args *a)
{
	if ((!a->json || strcmp(a->json, "-")) && !events_on_stdout(a->events))
		return stdout;
	return isatty(STDERR_FILENO) ? stderr : fopen("/dev/null", "we");
}

static void
close_table(FILE *f)
{
	if (f != stdout && f != stderr)
		fclose(f);
}

/* "tcpx perf --self ...", though main() gives us "perf --self ...". */
static void
set_command(struct result *r, int argc, char **argv)
{
	char **words = calloc((size_t)argc + 1, sizeof(*words));

	if (!words)
		return;
	words[0] = (char *)"tcpx";
	memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
	result_set_command(r, argc + 1, words);
	free(words);
}

/* --mesh: rank 0 prints and writes. */
static int
measure_mesh(struct perf_args *a, int argc, char **argv)
{
	struct result r;
	FILE *table;
	int code;

	result_init(&r);
	set_command(&r, argc, argv);
	code = mesh_run(a, &r);
	if (r.mesh.n) {
		table = open_table(a);
		if (table) {
			mesh_print(table, &r);
			close_table(table);
		}
		if (write_files(a, &r) != TOOL_OK)
			code = TOOL_USAGE;
	}
	result_fini(&r);
	return code;
}

/* Everything between an open session and the last row. TOOL_OK or TOOL_FINDING. */
static int
measure_all(struct perf *p, const uint64_t *sizes, size_t count, FILE *table, struct result *r)
{
	const struct perf_args *a = p->args;
	const struct out_view view = view_of(a, table);
	int rc = perf_begin_job(p, sizes[count - 1]);
	bool warned;

	if (!rc && a->baseline && !a->lat)
		rc = perf_measure_path(p);
	if (rc) {
		note_stop(p, sizes[0], rc, r, 0, count);
		return TOOL_FINDING;
	}
	perf_fill_job(p, r);
	if (result_copied_nothing(r) && a->format != OUT_TABLE) /* which reports it itself */
		fprintf(stderr, "%s" OUT_COPIED_NOTHING "%s\n", tool_paint(stderr, TOOL_RED),
			tool_paint(stderr, TOOL_PLAIN));
	warned = perf_warn_degraded(p);
	out_head(table, a->format, r, &view);
	if (a->format == OUT_TABLE || a->format == OUT_NCCL)
		perf_print_session(p, table);
	rc = sweep(p, sizes, count, table, r);
	if (a->format == OUT_TABLE && !a->lat && a->verbose)
		print_agreement(table, r);
	out_foot(table, a->format, r, &view);
	if (!warned) /* it may have happened meanwhile */
		perf_warn_degraded(p);
	return rc ? TOOL_FINDING : TOOL_OK;
}

int
cmd_perf(int argc, char **argv)
{
	uint64_t sizes[PERF_SIZES];
	struct perf_args args;
	struct result r;
	struct perf p;
	FILE *table;
	size_t count;
	int rc = perf_args_parse(&args, argc, argv), code;

	if (rc)
		return rc < 0 ? TOOL_OK : rc;
	if (output_writable("tcpx perf", "--json", args.json) != TOOL_OK ||
	    output_writable("tcpx perf", "--report", args.report) != TOOL_OK)
		return TOOL_USAGE;
	if (args.mesh)
		return measure_mesh(&args, argc, argv);
	count = perf_args_sizes(&args, sizes);
	table = open_table(&args);
	if (!table)
		return tool_fail(TOOL_FINDING, "tcpx perf", "cannot open /dev/null: %s",
				 strerror(errno));
	result_init(&r); /* before perf_open(), which sets variables of a plugin's */
	set_command(&r, argc, argv);
	rc = perf_open(&p, &args);
	if (rc) {
		close_table(table);
		result_fini(&r);
		return rc;
	}
	perf_fill_result(&p, &r);

	perf_stop_watch();
	code = measure_all(&p, sizes, count, table, &r);
	perf_close(&p);
	close_table(table);
	rc = write_files(&args, &r);
	if (rc != TOOL_OK)
		code = rc;
	else if (any_wrong(&r))
		code = TOOL_FINDING;
	if (perf_stop_asked())
		code = 128 + perf_stop_asked();
	result_fini(&r);
	return code;
}
