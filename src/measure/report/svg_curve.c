/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curve over size: lines with labels at their ends, so that no legend has to be
 * looked up, and behind a single record the band between its fast and slow iterations.
 */
#include <math.h>
#include <stdlib.h>

#include "tool/out_text.h"
#include "measure/report/out_verdict.h"
#include "measure/report/svg.h"
#include "measure/report/svg_plot.h"

#define WIDTH 880.0
#define HEIGHT 400.0
#define LEFT 52.0
#define RIGHT 720.0 /* labels stand to the right of it */
#define TOP 34.0
#define BOTTOM 356.0
#define LABEL_STEP 19.0 /* between two labels */

struct plot {
	struct svg_axis x, y;
	bool lat;
	size_t n;        /* records */
	double top;      /* largest value shown */
	double smallest, largest; /* sizes */
};

static double
ours(const struct plot *p, const struct row *row)
{
	return p->lat ? row->half_rtt_us.p50 : row->busbw_GBps;
}

static double
baseline(const struct plot *p, const struct row *row)
{
	return p->lat ? row->baseline_half_rtt_us.p50 : row->baseline_GBps;
}

/* The value of an iteration that took @us. */
static double
at_time(const struct plot *p, const struct row *row, double us)
{
	return p->lat ? us : row->busbw_GBps * row->time_us.mean / us;
}

static bool
is_shown(const struct plot *p, const struct row *row)
{
	return row->size && isfinite(ours(p, row));
}

static void
survey(struct plot *p, const struct result *results)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < results[i].rows.n; k++) {
			const struct row *row = &results[i].rows.at[k];
			double base = baseline(p, row);

			if (!is_shown(p, row))
				continue;
			p->top = fmax(p->top, fmax(ours(p, row), isfinite(base) ? base : 0));
			if (p->lat) /* the band too, unless the tail would squeeze the rest */
				p->top = fmax(p->top, fmin(row->half_rtt_us.p99, 3 * ours(p, row)));
			p->smallest = fmin(p->smallest, (double)row->size);
			p->largest = fmax(p->largest, (double)row->size);
		}
}

static void
draw_axes(FILE *f, struct plot *p)
{
	struct svg_ticks ticks;
	char text[OUT_QUANTITY];

	svg_ticks_linear(p->top, 6, &ticks);
	p->y.hi = ticks.at[ticks.n - 1];
	for (size_t i = 0; i < ticks.n; i++) {
		double y = svg_at(&p->y, ticks.at[i]);

		svg_line(f, i ? "grid" : "axis", LEFT, y, RIGHT, y);
		svg_text(f, "tick end", LEFT - 10, y + 4, "%.*f", ticks.decimals, ticks.at[i]);
	}
	svg_text(f, "unit", 0, TOP - 18, p->lat ? "\u00b5s, median of half a round trip" : "GB/s");

	svg_ticks_binary(p->smallest, p->largest, 9, &ticks);
	for (size_t i = 0; i < ticks.n; i++) {
		double x = svg_at(&p->x, ticks.at[i]);

		svg_line(f, "axis", x, BOTTOM, x, BOTTOM + 5);
		svg_text(f, "tick middle", x, BOTTOM + 21, "%s",
			 out_size((uint64_t)ticks.at[i], text));
	}
	svg_text(f, "unit end", RIGHT, HEIGHT - 4, "size of one transfer");
}

static void
draw_line(FILE *f, const struct plot *p, const struct result *r, const char *css,
	  double (*value)(const struct plot *, const struct row *))
{
	const char *separator = "";

	fprintf(f, "<polyline class=\"%s\" points=\"", css);
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.at[i];

		if (!is_shown(p, row) || !isfinite(value(p, row)))
			continue;
		fprintf(f, "%s%.1f,%.1f", separator, svg_at(&p->x, (double)row->size),
			svg_at(&p->y, value(p, row)));
		separator = " ";
	}
	fputs("\"/>\n", f);
}

/* From the fastest iteration to the one at the 99th percentile, cut at the plot's edge. */
static void
draw_band(FILE *f, const struct plot *p, const struct result *r)
{
	const char *separator = "";

	fputs("<polygon class=\"band\" points=\"", f);
	for (size_t i = 0; i < 2 * r->rows.n; i++) {
		bool back = i >= r->rows.n;
		const struct row *row = &r->rows.at[back ? 2 * r->rows.n - 1 - i : i];
		const struct row_time *t = p->lat ? &row->half_rtt_us : &row->time_us;

		if (!is_shown(p, row) || !(t->min > 0) || !(t->p99 > 0))
			continue;
		fprintf(f, "%s%.1f,%.1f", separator, svg_at(&p->x, (double)row->size),
			fmax(svg_at(&p->y, at_time(p, row, back ? t->p99 : t->min)), TOP));
		separator = " ";
	}
	fputs("\"/>\n", f);
}

static void
draw_dots(FILE *f, const struct plot *p, const struct result *r, const char *css)
{
	char size[OUT_QUANTITY], value[OUT_QUANTITY], base[OUT_QUANTITY];
	const char *unit = p->lat ? "\u00b5s" : "GB/s";

	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.at[i];

		if (!is_shown(p, row))
			continue;
		svg_dot(f, css, svg_at(&p->x, (double)row->size), svg_at(&p->y, ours(p, row)), 4,
			"%s: %s %s%s%s%s", out_size(row->size, size),
			out_digits(ours(p, row), value), unit,
			isfinite(baseline(p, row)) ? ", raw sockets " : "",
			isfinite(baseline(p, row)) ? out_digits(baseline(p, row), base) : "",
			row->degraded ? ", degraded" : "");
	}
}

/* ---- labels at the ends ---------------------------------------------------------- */

struct label {
	double y;
	char css[16];
	char text[48];
};

static int
by_height(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return (x->y > y->y) - (x->y < y->y);
}

/* The row where the record's line ends. */
static const struct row *
last_row(const struct plot *p, const struct result *r)
{
	const struct row *last = NULL;

	for (size_t i = 0; i < r->rows.n; i++)
		if (is_shown(p, &r->rows.at[i]))
			last = &r->rows.at[i];
	return last;
}

static size_t
make_labels(const struct plot *p, const struct result *results, struct label *labels)
{
	char value[OUT_QUANTITY];
	size_t count = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct row *row = last_row(p, &results[i]);
		struct label *l = &labels[count];

		if (!row)
			continue;
		count++;
		l->y = svg_at(&p->y, ours(p, row));
		snprintf(l->css, sizeof(l->css), "label c%u", (unsigned)i % SVG_SERIES_MAX);
		out_digits(ours(p, row), value);
		if (p->n > 1)
			snprintf(l->text, sizeof(l->text), "%c\u2002%.20s", (int)('A' + i), value);
		else
			snprintf(l->text, sizeof(l->text), "tcpx\u2002%.20s", value);
		if (p->n > 1 || !isfinite(baseline(p, row)))
			continue;
		l = &labels[count++];
		l->y = svg_at(&p->y, baseline(p, row));
		snprintf(l->css, sizeof(l->css), "label base");
		snprintf(l->text, sizeof(l->text), "raw sockets\u2002%.20s",
			 out_digits(baseline(p, row), value));
	}
	return count;
}

static void
draw_labels(FILE *f, const struct plot *p, const struct result *results)
{
	struct label labels[SVG_SERIES_MAX + 1];
	size_t count = make_labels(p, results, labels);

	qsort(labels, count, sizeof(*labels), by_height);
	for (size_t i = 1; i < count; i++) /* push down what would overlap */
		labels[i].y = fmax(labels[i].y, labels[i - 1].y + LABEL_STEP);
	for (size_t i = count; i-- > 1;) { /* and back up what left the picture */
		labels[i].y = fmin(labels[i].y, BOTTOM - LABEL_STEP * (double)(count - 1 - i));
		labels[i - 1].y = fmin(labels[i - 1].y, labels[i].y - LABEL_STEP);
	}
	for (size_t i = 0; i < count; i++)
		svg_text(f, labels[i].css, RIGHT + 14, labels[i].y + 4, "%s", labels[i].text);
}

void
svg_curve(FILE *f, const struct result *results, size_t n)
{
	struct plot p = {
		.x = { .from = LEFT + 14, .to = RIGHT - 6, .log = true },
		.y = { .from = BOTTOM, .to = TOP },
		.lat = results[0].rows.n && row_is_latency(&results[0].rows.at[0]),
		.n = n < SVG_SERIES_MAX ? n : SVG_SERIES_MAX,
		.smallest = INFINITY,
	};
	char line[32];

	survey(&p, results);
	if (!(p.top > 0))
		return;
	p.x.lo = p.smallest < p.largest ? p.smallest : p.smallest / 2;
	p.x.hi = p.smallest < p.largest ? p.largest : p.largest * 2;

	svg_open(f, WIDTH, HEIGHT, p.lat ? "Half round trip over size" : "Bandwidth over size");
	draw_axes(f, &p);
	if (p.n == 1)
		draw_band(f, &p, results);
	for (size_t i = 0; i < p.n; i++) {
		snprintf(line, sizeof(line), "line base s%zu", p.n > 1 ? i : SVG_SERIES_MAX);
		draw_line(f, &p, &results[i], line, baseline);
	}
	for (size_t i = p.n; i-- > 0;) { /* the first record on top */
		snprintf(line, sizeof(line), "line s%zu", i);
		draw_line(f, &p, &results[i], line, ours);
		snprintf(line, sizeof(line), "dot f%zu", i);
		draw_dots(f, &p, &results[i], line);
	}
	draw_labels(f, &p, results);
	svg_close(f);
}
