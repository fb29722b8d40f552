/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Axes, lines and their names. The band behind them is never cut unless it would squeeze the
 * lines: then a mark stands where it goes on.
 */
#include "measure/report/svg_chart.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "measure/report/svg.h"
#include "tool/out_text.h"

#define NAMES 160.0     /* room at the right of a wide chart */
#define NAME_STEP 19.0  /* between two names                 */
#define REACH 2.5       /* times the highest line: as far as a limit or a band stretches the axis */

struct frame {
	const struct svg_chart *chart;
	struct svg_axis x, y;
	double width, height, left, right, top, bottom;
	bool narrow;
	double highest, lowest; /* of the lines */
};

struct svg_series *
svg_chart_add(struct svg_chart *c, unsigned colour)
{
	struct svg_series *s = LIST_ADD(&c->series);

	s->colour = colour;
	s->dots = true;
	return s;
}

void
svg_chart_point(const struct svg_chart *c, struct svg_series *s, double x, double y,
		const char *fmt, ...)
{
	struct svg_point *p;
	va_list ap;

	if (!isfinite(x) || !isfinite(y) || (c->sizes && !(x > 0)) || (c->times && !(y > 0)))
		return;
	p = LIST_ADD(&s->points);
	p->x = x;
	p->y = y;
	va_start(ap, fmt);
	vsnprintf(p->text, sizeof(p->text), fmt, ap);
	va_end(ap);
}

void
svg_chart_free(struct svg_chart *c)
{
	for (size_t i = 0; i < c->series.n; i++)
		free(c->series.at[i].points.at);
	free(c->series.at);
	free(c->band.at);
}

/* ---- axes ------------------------------------------------------------------------ */

/* The next of 1, 2, 5, 10, ... from @v on, upwards or downwards. */
static double
round_value(double v, bool up)
{
	static const double steps[] = { 1, 2, 5, 10 };
	double decade = pow(10, floor(log10(v)));

	for (size_t i = 0; i < 4; i++) {
		size_t k = up ? i : 3 - i;

		if (up ? steps[k] * decade >= v * (1 - 1e-9) : steps[k] * decade <= v * (1 + 1e-9))
			return steps[k] * decade;
	}
	return v;
}

static void
survey(struct frame *p)
{
	const struct svg_chart *c = p->chart;

	p->x.lo = p->lowest = INFINITY;
	p->x.hi = p->highest = 0;
	for (size_t i = 0; i < c->series.n; i++)
		for (size_t k = 0; k < c->series.at[i].points.n; k++) {
			const struct svg_point *at = &c->series.at[i].points.at[k];

			p->x.lo = fmin(p->x.lo, at->x);
			p->x.hi = fmax(p->x.hi, at->x);
			p->highest = fmax(p->highest, at->y);
			p->lowest = fmin(p->lowest, at->y);
		}
	if (!c->sizes)
		p->x.lo = 0;
	if (!(p->x.lo < p->x.hi)) {
		p->x.lo /= 2;
		p->x.hi = fmax(p->x.hi * 2, 1);
	}
}

/* Times reach as far as the band; what begins at 0 as far as the lines allow. */
static void
fit_y(struct frame *p)
{
	const struct svg_chart *c = p->chart;

	p->y.hi = p->highest;
	p->y.lo = c->times ? p->lowest : 0;
	for (size_t i = 0; i < c->band.n; i++) {
		double top = c->times ? INFINITY : REACH * p->highest;

		p->y.hi = fmax(p->y.hi, fmin(c->band.at[i].hi, top));
		if (c->times)
			p->y.lo = fmin(p->y.lo, c->band.at[i].lo);
	}
	if (c->limit <= REACH * p->highest)
		p->y.hi = fmax(p->y.hi, c->limit);
	if (!c->times)
		return;
	p->y.log = true;
	p->y.lo = round_value(p->y.lo, false);
	p->y.hi = round_value(p->y.hi, true);
	if (!(p->y.lo < p->y.hi))
		p->y.hi = 2 * p->y.lo;
}

static size_t
count_names(const struct svg_chart *c)
{
	size_t names = 0;

	for (size_t i = 0; i < c->series.n; i++)
		names += c->series.at[i].name[0] && c->series.at[i].points.n;
	return names;
}

static void
place_frame(struct frame *p)
{
	double names = p->narrow ? ceil((double)count_names(p->chart) / 2) : 0;

	p->left = p->chart->times ? 62 : 52;
	p->right = p->width - (p->narrow ? 28 : NAMES);
	p->top = 34 + 22 * names;
	p->bottom = p->top + (p->narrow ? 250 : 322);
	p->height = p->bottom + 46;
	p->x.from = p->left + (p->chart->sizes ? 14 : 0);
	p->x.to = p->right - (p->chart->sizes ? 6 : 0);
	p->y.from = p->bottom;
	p->y.to = p->top;
}

static void
draw_y_axis(FILE *f, struct frame *p)
{
	struct svg_ticks ticks;
	char text[OUT_QUANTITY];

	if (p->y.log)
		svg_ticks_decimal(p->y.lo, p->y.hi, 12, &ticks);
	else
		svg_ticks_linear(p->y.hi > 0 ? p->y.hi : 1, 6, &ticks);
	if (!p->y.log)
		p->y.hi = ticks.at[ticks.n - 1];
	for (size_t i = 0; i < ticks.n; i++) {
		double y = svg_at(&p->y, ticks.at[i]);

		svg_line(f, i ? "grid" : "axis", p->left, y, p->right, y);
		if (p->y.log)
			svg_text(f, "tick end", p->left - 8, y + 4, "%s",
				 out_time(ticks.at[i], text));
		else
			svg_text(f, "tick end", p->left - 8, y + 4, "%.*f", ticks.decimals,
				 ticks.at[i]);
	}
	svg_text(f, "unit", 0, 16, "%s", p->chart->unit);
}

static void
draw_x_axis(FILE *f, const struct frame *p)
{
	size_t most = p->narrow ? 5 : 9;
	struct svg_ticks ticks;
	char text[OUT_QUANTITY];

	if (p->chart->sizes)
		svg_ticks_binary(p->x.lo, p->x.hi, most, &ticks);
	else
		svg_ticks_linear(p->x.hi, most, &ticks);
	for (size_t i = 0; i < ticks.n; i++) {
		double x = svg_at(&p->x, ticks.at[i]);

		if (ticks.at[i] > p->x.hi * (1 + 1e-9))
			break;
		svg_line(f, "axis", x, p->bottom, x, p->bottom + 5);
		if (p->chart->sizes)
			svg_text(f, "tick middle", x, p->bottom + 21, "%s",
				 out_size((uint64_t)ticks.at[i], text));
		else
			svg_text(f, "tick middle", x, p->bottom + 21, "%.*f", ticks.decimals,
				 ticks.at[i]);
	}
	svg_text(f, "unit end", p->right, p->bottom + 41, "%s", p->chart->x_unit);
}

/* The limit, or in words where it would squeeze the lines. */
static void
draw_limit(FILE *f, const struct frame *p)
{
	const struct svg_chart *c = p->chart;
	char value[OUT_QUANTITY];
	double y = svg_at(&p->y, c->limit);

	if (!(c->limit > 0))
		return;
	out_digits(c->limit, value);
	if (c->limit > p->y.hi) {
		svg_text(f, "tick end", p->right, 16, "%s %s: above the plot",
			 c->limit_name, value);
		return;
	}
	svg_line(f, "limit", p->left, y, p->right, y);
	svg_text(f, "tick", p->left + 6, y > p->top + 20 ? y - 6 : y + 16, "%s %s", c->limit_name,
		 value);
}

/* ---- lines ----------------------------------------------------------------------- */

static void
draw_band(FILE *f, const struct frame *p)
{
	const struct svg_chart *c = p->chart;
	char value[OUT_QUANTITY];

	if (c->band.n < 2)
		return;
	fputs("<polygon class=\"band\" points=\"", f);
	for (size_t i = 0; i < 2 * c->band.n; i++) {
		bool back = i >= c->band.n;
		const struct svg_range *r = &c->band.at[back ? 2 * c->band.n - 1 - i : i];

		fprintf(f, "%s%.1f,%.1f", i ? " " : "", svg_at(&p->x, r->x),
			fmax(svg_at(&p->y, back ? r->lo : r->hi), p->top));
	}
	fputs("\"/>\n", f);
	for (size_t i = 0; i < c->band.n; i++)
		if (c->band.at[i].hi > p->y.hi)
			svg_dot(f, "cut", svg_at(&p->x, c->band.at[i].x), p->top + 3, 3,
				"the band goes on to %s", out_digits(c->band.at[i].hi, value));
}

static void
draw_series(FILE *f, const struct frame *p, const struct svg_series *s)
{
	const char *dashed = s->dashed ? " base" : "";
	char css[16];

	fprintf(f, "<polyline class=\"line s%u%s\" points=\"", s->colour, dashed);
	for (size_t i = 0; i < s->points.n; i++)
		fprintf(f, "%s%.1f,%.1f", i ? " " : "", svg_at(&p->x, s->points.at[i].x),
			svg_at(&p->y, s->points.at[i].y));
	fputs("\"/>\n", f);
	snprintf(css, sizeof(css), "%s f%u", s->dots ? "dot" : "spot", s->colour);
	for (size_t i = 0; i < s->points.n; i++)
		if (s->points.at[i].text[0])
			svg_dot(f, css, svg_at(&p->x, s->points.at[i].x),
				svg_at(&p->y, s->points.at[i].y), 4, "%s", s->points.at[i].text);
}

/* ---- names ----------------------------------------------------------------------- */

struct name {
	double y;
	const struct svg_series *series;
};

static int
by_height(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return (x->y > y->y) - (x->y < y->y);
}

static void
draw_name(FILE *f, double x, double y, const struct svg_series *s)
{
	char css[16];

	snprintf(css, sizeof(css), "label c%u", s->colour);
	svg_text(f, css, x, y, "%s", s->name);
}

/* Above the chart, two a line, each behind a piece of its line. */
static void
draw_legend(FILE *f, const struct frame *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->chart->series.n; i++) {
		const struct svg_series *s = &p->chart->series.at[i];
		double x = n % 2 ? p->width / 2 : 0, y = 40 + 22 * (double)(n / 2);
		char css[32];

		if (!s->name[0] || !s->points.n)
			continue;
		snprintf(css, sizeof(css), "line s%u%s", s->colour, s->dashed ? " base" : "");
		svg_line(f, css, x + 2, y - 5, x + 20, y - 5);
		draw_name(f, x + 27, y, s);
		n++;
	}
}

static void
draw_names(FILE *f, const struct frame *p)
{
	struct name names[SVG_LINES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < p->chart->series.n && n < SVG_LINES_MAX; i++) {
		const struct svg_series *s = &p->chart->series.at[i];

		if (s->name[0] && s->points.n)
			names[n++] = (struct name){ svg_at(&p->y, s->points.at[s->points.n - 1].y),
						    s };
	}
	qsort(names, n, sizeof(*names), by_height);
	for (size_t i = 1; i < n; i++) /* push down what would overlap */
		names[i].y = fmax(names[i].y, names[i - 1].y + NAME_STEP);
	for (size_t i = n; i-- > 1;) { /* and back up what left the picture */
		names[i].y = fmin(names[i].y, p->bottom - NAME_STEP * (double)(n - 1 - i));
		names[i - 1].y = fmin(names[i - 1].y, names[i].y - NAME_STEP);
	}
	for (size_t i = 0; i < n; i++)
		draw_name(f, p->right + 14, names[i].y + 4, names[i].series);
}

void
svg_chart_draw(FILE *f, double width, const struct svg_chart *c)
{
	struct frame p = { .chart = c, .x.log = c->sizes, .width = width,
			   .narrow = width < SVG_WIDE };

	survey(&p);
	if (!isfinite(p.lowest))
		return;
	place_frame(&p);
	fit_y(&p);
	svg_open(f, width, p.height, c->label);
	draw_y_axis(f, &p);
	draw_x_axis(f, &p);
	draw_band(f, &p);
	draw_limit(f, &p);
	for (size_t i = c->series.n; i-- > 0;)
		draw_series(f, &p, &c->series.at[i]);
	if (p.narrow)
		draw_legend(f, &p);
	else
		draw_names(f, &p);
	svg_close(f);
}
