/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of columns. The first row decides which are filled: sizes ascend, so later rows
 * have fewer samples, never more. What does not fit is left out, the least important first.
 */
#include "measure/report/out_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/text.h"
#include "measure/report/out_bound.h"
#include "measure/report/out_verdict.h"
#include "tool/out_text.h"
#include "tool/tool.h"

#define CELL OUT_QUANTITY

struct cells {
	const struct result *r;
	const struct row *row;
	const struct row_time *time; /* of the row: half round trips with --lat */
};

static bool
is_bi(const struct cells *c)
{
	return !strcmp(c->row->dir, "bi");
}

/* Each fills @buf, of CELL bytes, or leaves it "" where there is nothing. */
static void
number(double v, char *buf)
{
	if (isfinite(v))
		out_digits(v, buf);
}

static void
duration(double us, char *buf)
{
	if (isfinite(us))
		out_time(us, buf);
}

static void
count(uint64_t n, char *buf)
{
	snprintf(buf, CELL, "%llu", (unsigned long long)n);
}

static void
size_cell(const struct cells *c, char *buf)
{
	tcpx_format_size(c->row->size, buf, CELL);
}

static void
pieces_cell(const struct cells *c, char *buf)
{
	if (c->row->descs > 1)
		count(c->row->descs, buf);
}

static void
iters_cell(const struct cells *c, char *buf)
{
	count(c->row->iters, buf);
}

static void
time_cell(const struct cells *c, char *buf)
{
	if (!row_is_latency(c->row))
		duration(c->row->time_us.mean, buf);
}

static void
min_cell(const struct cells *c, char *buf)
{
	if (row_is_latency(c->row))
		duration(c->time->min, buf);
}

static void
max_cell(const struct cells *c, char *buf)
{
	if (row_is_latency(c->row))
		duration(c->time->max, buf);
}

static void
p50_cell(const struct cells *c, char *buf)
{
	if (row_has_percentile(c->row, 50))
		duration(c->time->p50, buf);
}

static void
p99_cell(const struct cells *c, char *buf)
{
	if (row_has_percentile(c->row, 99))
		duration(c->time->p99, buf);
}

static void
p999_cell(const struct cells *c, char *buf)
{
	if (row_has_percentile(c->row, 99.9))
		duration(c->time->p999, buf);
}

static void
GBps_cell(const struct cells *c, char *buf)
{
	if (!row_is_latency(c->row) && !is_bi(c))
		number(c->row->busbw_GBps, buf);
}

static void
each_cell(const struct cells *c, char *buf)
{
	if (!row_is_latency(c->row) && is_bi(c))
		number(c->row->algbw_GBps, buf);
}

static void
both_cell(const struct cells *c, char *buf)
{
	if (!row_is_latency(c->row) && is_bi(c))
		number(c->row->busbw_GBps, buf);
}

static void
Gbit_cell(const struct cells *c, char *buf)
{
	if (!row_is_latency(c->row))
		number(c->row->algbw_GBps * 8, buf);
}

static void
line_cell(const struct cells *c, char *buf)
{
	if (!row_is_latency(c->row))
		number(100 * row_line_fraction(c->r, c->row), buf);
}

static void
rate_cell(const struct cells *c, char *buf)
{
	number(c->row->transfers_per_s, buf);
}

static void
cpu_cell(const struct cells *c, char *buf)
{
	if (!row_is_latency(c->row))
		number(c->row->cpu_s_per_GB, buf);
}

static void
raw_cell(const struct cells *c, char *buf)
{
	if (!row_is_latency(c->row))
		number(c->row->baseline_GBps, buf);
}

static void
raw_p50_cell(const struct cells *c, char *buf)
{
	duration(c->row->baseline_half_rtt_us.p50, buf);
}

static void
ratio_cell(const struct cells *c, char *buf)
{
	if (isfinite(c->row->ratio))
		snprintf(buf, CELL, "%.3f", c->row->ratio);
}

static void
interval_cell(const struct cells *c, char *buf)
{
	if (isfinite(c->row->ratio_ci.lo))
		snprintf(buf, CELL, "%.3f..%.3f", c->row->ratio_ci.lo, c->row->ratio_ci.hi);
}

static void
path_cell(const struct cells *c, char *buf)
{
	number(100 * c->row->path_fraction, buf);
}

static void
wrong_cell(const struct cells *c, char *buf)
{
	if (c->row->checked || c->row->compared > 0)
		count(c->row->wrong, buf);
}

/* Where not every byte was compared. */
static void
compared_cell(const struct cells *c, char *buf)
{
	if (!c->row->checked && c->row->compared > 0)
		number(100 * c->row->compared, buf);
}

static const struct column {
	const char *head;
	int width;             /* with the blanks before it                       */
	int rank;              /* of those that do not fit the least goes first   */
	bool wide;             /* only where there is more room than OUT_COLUMNS  */
	void (*fill)(const struct cells *c, char *buf);
} columns[] = {
	{ "size", 9, 100, false, size_cell },
	{ "pieces", 8, 20, true, pieces_cell },
	{ "iters", 8, 60, false, iters_cell },
	{ "time", 9, 80, false, time_cell },
	{ "GB/s", 7, 99, false, GBps_cell },
	{ "each GB/s", 11, 98, false, each_cell },
	{ "both GB/s", 11, 99, false, both_cell },
	{ "Gbit/s", 8, 40, false, Gbit_cell },
	{ "%line", 7, 70, false, line_cell },
	{ "1/s", 8, 15, true, rate_cell },
	{ "min", 9, 35, false, min_cell },
	{ "p50", 9, 55, false, p50_cell },
	{ "p99", 9, 50, false, p99_cell },
	{ "p99.9", 9, 30, false, p999_cell },
	{ "max", 9, 25, false, max_cell },
	{ "CPU s/GB", 10, 22, true, cpu_cell },
	{ "raw GB/s", 10, 90, false, raw_cell },
	{ "raw p50", 9, 90, false, raw_p50_cell },
	{ "ratio", 7, 95, false, ratio_cell },
	{ "95 %", 14, 94, false, interval_cell },
	{ "%path", 7, 88, false, path_cell },
	{ "wrong", 7, 85, false, wrong_cell },
	{ "%compared", 11, 84, false, compared_cell },
};

enum { MARK = 2 }; /* " *" at the end of a row */

static struct cells
cells_of(const struct result *r, const struct row *row)
{
	return (struct cells){ r, row, row_is_latency(row) ? &row->half_rtt_us : &row->time_us };
}

/* Which columns the table has. */
static void
choose(const struct result *r, const struct out_view *v, bool chosen[ARRAY_LEN(columns)])
{
	struct cells first = cells_of(r, &r->rows.at[0]);
	unsigned width = MARK;

	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		char buf[CELL] = "";

		columns[i].fill(&first, buf);
		chosen[i] = buf[0] && (!columns[i].wide || v->width > OUT_COLUMNS);
		width += chosen[i] ? (unsigned)columns[i].width : 0;
	}
	while (width > v->width) {
		size_t least = 0;

		for (size_t i = 1; i < ARRAY_LEN(columns); i++)
			if (chosen[i] && columns[i].rank < columns[least].rank)
				least = i;
		if (!least)
			return;
		chosen[least] = false;
		width -= (unsigned)columns[least].width;
	}
}

/* Right-aligned at column @end, from column @at on; by characters: a text may have some of two
 * bytes. What is too wide takes room of the next. Returns the column behind it. */
static int
put(FILE *f, int at, int end, const char *text)
{
	int have = 0, pad;

	for (const char *c = text; *c; c += tcpx_utf8_len(c) ? tcpx_utf8_len(c) : 1)
		have++;
	pad = end - at - have;
	pad = pad > 0 ? pad : at > 0;
	fprintf(f, "%*s%s", pad, "", text);
	return at + pad + have;
}

void
out_columns_head(FILE *f, const struct result *r, const struct out_view *v)
{
	bool chosen[ARRAY_LEN(columns)];
	int at = 1, end = 0;

	choose(r, v, chosen);
	fputc('#', f);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		end += chosen[i] ? columns[i].width : 0;
		at = chosen[i] ? put(f, at, end, columns[i].head) : at;
	}
	fputc('\n', f);
}

void
out_columns_row(FILE *f, const struct result *r, const struct row *row, const struct out_view *v)
{
	struct cells c = cells_of(r, row);
	bool chosen[ARRAY_LEN(columns)];
	int at = 0, end = 0;

	choose(r, v, chosen);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		bool bad = columns[i].fill == wrong_cell && row->wrong;
		char buf[CELL] = "";

		if (!chosen[i])
			continue;
		columns[i].fill(&c, buf);
		fputs(bad ? tool_paint(f, TOOL_RED) : "", f);
		end += columns[i].width;
		at = buf[0] ? put(f, at, end, buf) : at;
		fputs(bad ? tool_paint(f, TOOL_PLAIN) : "", f);
	}
	if (row->degraded)
		fprintf(f, " %s*%s", tool_paint(f, TOOL_YELLOW), tool_paint(f, TOOL_PLAIN));
	fputc('\n', f);
}
