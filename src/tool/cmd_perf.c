/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx perf: for each size set up, warm up, measure, check, print. The record is the
 * only thing that is printed from.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "tool/html.h"
#include "tool/perf_row.h"
#include "tool/result.h"
#include "tool/result_fields.h"
#include "tool/tool.h"

enum {
	SETTLE_NS = 10 * 1000 * 1000, /* a run long enough to guess from           */
	ALONE_NS = 250 * 1000 * 1000, /* of a run that is not one of many           */
	ITERS_MIN = 5,
	LAT_ITERS_MIN = 1000,
	ITERS_MAX = 100 * 1000 * 1000
};

static uint64_t
clamp(uint64_t v, uint64_t low, uint64_t high)
{
	return v < low ? low : v > high ? high : v;
}

/* Warms up, and finds how many iterations a timed run takes. */
static int
warm_up(struct load *l, uint64_t *iters)
{
	const struct perf_args *a = l->perf->args;
	uint64_t target_ns = a->baseline ? PERF_RUN_NS : ALONE_NS, n = a->warmup ? a->warmup : 1, ns = 0, least;
	int rc = 0;

	if (a->warmup || !a->iters)
		rc = load_run(l, n, NULL, &ns);
	*iters = a->iters;
	if (rc || (a->iters && !a->duration_s))
		return rc;
	if (a->duration_s)
		target_ns = a->duration_s * 1000000000 / (a->baseline ? 2 * a->pairs : 1);
	if (ns < SETTLE_NS) {
		n = clamp(n * SETTLE_NS / (ns ? ns : 1), 1, 10000);
		rc = load_run(l, n, NULL, &ns);
	}
	least = a->lat ? LAT_ITERS_MIN : a->baseline ? 1 : ITERS_MIN;
	*iters = clamp((uint64_t)ceil((double)n * (double)target_ns / (double)(ns ? ns : 1)),
		       a->duration_s ? 1 : least, ITERS_MAX);
	return rc;
}

static int
measure(struct load *l, struct row *row)
{
	const struct perf_args *a = l->perf->args;
	struct load_stats *stats = calloc(1, sizeof(*stats));
	uint64_t iters;
	int rc = stats ? warm_up(l, &iters) : -ENOMEM;

	if (!rc) {
		tcpx_hist_init(&stats->hist);
		rc = a->baseline ? perf_pairs(l, iters, stats, row)
				 : load_run(l, iters, stats, NULL);
	}
	if (!rc)
		perf_fill_row(l, stats, row);
	if (!rc && a->check) {
		rc = load_check(l, &row->wrong);
		row->checked = !rc;
	}
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
	result_fields_free(&row_shape, &r->rows.at[--r->rows.n]);
}

/* All sizes. The rows before a failure stay in the record. */
static int
sweep(struct perf *p, const uint64_t *sizes, size_t count, struct result *r)
{
	const struct perf_args *a = p->args;
	char text[24];
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		struct row *row = result_add_row(r);

		tool_progress("%s: size %zu of %zu", tcpx_format_size(sizes[i], text, sizeof(text)),
			      i + 1, count);
		rc = measure_size(p, sizes[i], row);
		tool_progress_clear();
		if (rc) {
			tool_fail(TOOL_FINDING, "tcpx perf", "%s at %s failed: %s",
				  job_op_names[a->op], text,
				  rc < 0 ? tcpx_strerror(rc) : "see above");
			drop_last_row(r);
			break;
		}
		out_row(stdout, a->format, row, a->lat);
		fflush(stdout);
	}
	return rc;
}

/* What the options ask for beside the table. TOOL_OK or an exit code. */
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

/* How far the other end's figures are from ours. */
static void
print_agreement(const struct result *r)
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
	printf("# the server's clock: %.2f GB/s in the last row; %.1f %% from ours at most\n",
	       r->rows.at[r->rows.n - 1].peer_algbw_GBps, 100 * widest);
}

static bool
any_wrong(const struct result *r)
{
	for (size_t i = 0; i < r->rows.n; i++)
		if (r->rows.at[i].wrong)
			return true;
	return false;
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

int
cmd_perf(int argc, char **argv)
{
	uint64_t sizes[PERF_SIZES];
	struct perf_args args;
	struct result r;
	struct perf p;
	size_t count;
	int rc = perf_args_parse(&args, argc, argv), code;

	if (rc)
		return rc < 0 ? TOOL_OK : rc;
	count = perf_args_sizes(&args, sizes);
	rc = perf_open(&p, &args);
	if (rc)
		return rc;
	result_init(&r);
	set_command(&r, argc, argv);
	perf_fill_result(&p, &r);

	code = TOOL_OK;
	rc = perf_begin_job(&p, sizes[count - 1]);
	if (rc) {
		code = tool_fail(TOOL_FINDING, "tcpx perf", "cannot begin: %s", tcpx_strerror(rc));
	} else {
		if (args.format == OUT_TABLE || args.format == OUT_NCCL)
			perf_print_session(&p, stdout);
		out_head(stdout, args.format, &r, args.lat);
		if (sweep(&p, sizes, count, &r))
			code = TOOL_FINDING;
		if (args.format == OUT_TABLE && !args.lat)
			print_agreement(&r);
		out_foot(stdout, args.format, &r, args.lat);
	}
	perf_close(&p);
	rc = write_files(&args, &r);
	if (rc != TOOL_OK)
		code = rc;
	else if (any_wrong(&r))
		code = TOOL_FINDING;
	result_fini(&r);
	return code;
}
