/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points lie on a grid of the asked length, but a look comes between two transfers or while
 * one is waited for: a point ends when it was looked at, and says so.
 */
#include "measure/perf/pace.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "tool/out_text.h"
#include "tool/tool.h"

#define SHOW_NS (TCPX_SEC / 4)   /* between two looks of the progress           */
#define SHORT_NS (3 * TCPX_SEC)  /* a measurement whose series nobody asked for */
#define PART_MIN 0.02            /* of the work, for an estimate of the rest    */

static uint64_t
elapsed(const struct pace *p, uint64_t now_ns)
{
	return p->past_ns + (p->running && now_ns > p->run_ns ? now_ns - p->run_ns : 0);
}

static void
print_point(FILE *f, uint64_t size, double from_s, const struct row_point *point)
{
	char text[24], amount[OUT_QUANTITY], rate[OUT_QUANTITY];

	fprintf(f, "  %6s  %7.2f-%.2f s  %9s  %7s GB/s\n",
		tcpx_format_size(size, text, sizeof(text)), from_s, point->t_s,
		out_amount(point->bytes, amount), out_digits(point->GBps, rate));
	fflush(f);
}

/* The time since the last point becomes one, that ends at @t_ns with @bytes in all. */
static void
add_point(struct pace *p, uint64_t t_ns, uint64_t bytes)
{
	uint64_t ns = t_ns - p->point_ns;
	struct row_point *point = LIST_ADD(&p->row->series);

	if (bytes < p->point_bytes) /* what was under way has failed */
		bytes = p->point_bytes;
	*point = (struct row_point){ (double)t_ns / 1e9, bytes - p->point_bytes,
				     (double)(bytes - p->point_bytes) / (double)ns };
	if (p->lines) {
		tool_progress_clear();
		print_point(p->lines, p->size, (double)p->point_ns / 1e9, point);
	}
	p->point_ns = t_ns;
	p->point_bytes = bytes;
}

/* Too little time for a point of its own belongs to the last one. */
static void
stretch_point(struct pace *p, uint64_t t_ns, uint64_t bytes)
{
	struct row_point *point = &p->row->series.at[p->row->series.n - 1];
	double from_s = p->row->series.n > 1 ? point[-1].t_s : 0;

	point->bytes += bytes - p->point_bytes;
	point->t_s = (double)t_ns / 1e9;
	point->GBps = (double)point->bytes / 1e9 / (point->t_s - from_s);
}

static uint64_t
next_point(const struct pace *p)
{
	return (p->point_ns / p->every_ns + 1) * p->every_ns;
}

void
pace_begin(struct pace *p, uint64_t now_ns)
{
	p->terminal = isatty(STDERR_FILENO);
	p->start_ns = now_ns;
	pace_show(p, now_ns);
}

void
pace_run(struct pace *p, uint64_t now_ns)
{
	p->running = true;
	p->run_ns = now_ns;
	p->part = 0;
}

bool
pace_due(const struct pace *p, uint64_t now_ns)
{
	return elapsed(p, now_ns) >= next_point(p) ||
	       (p->terminal && now_ns >= p->shown_ns + SHOW_NS);
}

void
pace_look(struct pace *p, uint64_t now_ns, uint64_t bytes, double part)
{
	p->part = part;
	if (elapsed(p, now_ns) >= next_point(p))
		add_point(p, elapsed(p, now_ns), p->past_bytes + bytes);
	if (p->terminal && now_ns >= p->shown_ns + SHOW_NS)
		pace_show(p, now_ns);
}

void
pace_run_end(struct pace *p, uint64_t now_ns, uint64_t bytes)
{
	p->past_ns = elapsed(p, now_ns);
	p->past_bytes += bytes;
	p->running = false;
	p->part = 0;
	if (p->past_ns >= next_point(p))
		add_point(p, p->past_ns, p->past_bytes);
}

/* Seconds until the last size is done, by what this one has taken; 0: not known yet. */
static double
seconds_left(const struct pace *p, uint64_t now_ns)
{
	double part = p->pairs ? (double)p->pair / (double)p->pairs
		    : p->asked_ns ? (double)elapsed(p, now_ns) / (double)p->asked_ns : p->part;
	double whole = (double)(now_ns - p->start_ns) / 1e9 / part;

	return part < PART_MIN ? 0 : whole * (part < 1 ? 1 - part : 0) + whole * p->later;
}

void
pace_show(struct pace *p, uint64_t now_ns)
{
	char size[24], sizes[64] = "", pair[64] = "", rate[64] = "", left[64] = "";
	char digits[OUT_QUANTITY];
	double seconds = seconds_left(p, now_ns);

	p->shown_ns = now_ns;
	if (!p->terminal)
		return;
	if (p->of > 1)
		snprintf(sizes, sizeof(sizes), "  size %zu/%zu", p->at, p->of);
	if (p->pairs && p->pair < p->pairs)
		snprintf(pair, sizeof(pair), "  pair %llu/%llu", (unsigned long long)p->pair + 1,
			 (unsigned long long)p->pairs);
	if (p->row->series.n)
		snprintf(rate, sizeof(rate), "  %s GB/s",
			 out_digits(p->row->series.at[p->row->series.n - 1].GBps, digits));
	else if (p->past_ns)
		snprintf(rate, sizeof(rate), "  %s GB/s",
			 out_digits((double)p->past_bytes / (double)p->past_ns, digits));
	if (seconds >= 1)
		snprintf(left, sizeof(left), "  about %.0f s left", seconds);
	tool_progress("%s%s%s%s%s", tcpx_format_size(p->size, size, sizeof(size)), sizes, pair,
		      rate, left);
}

void
pace_end(struct pace *p, bool keep)
{
	uint64_t rest = p->past_ns - p->point_ns;

	if (p->past_ns > p->point_ns && (!p->row->series.n || rest >= p->every_ns / 10))
		add_point(p, p->past_ns, p->past_bytes);
	else if (p->row->series.n && p->past_bytes >= p->point_bytes && rest)
		stretch_point(p, p->past_ns, p->past_bytes);
	if (!keep && p->past_ns < SHORT_NS) {
		free(p->row->series.at);
		p->row->series.at = NULL;
		p->row->series.n = 0;
	}
	tool_progress_clear();
}
