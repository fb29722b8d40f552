/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat map, intervals, and points over time. Shades are eight strengths of one colour:
 * readable in print and without red and green.
 */
#include "measure/matrix/matrix_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/matrix/matrix_data.h"
#include "measure/report/svg.h"
#include "measure/report/svg_plot.h"

#define MARGIN 14.0
#define NAMES 190.0 /* room for names at the left; on a narrow picture they stand above */

static void
range_of(const double *v, size_t n, double *lo, double *hi)
{
	*lo = INFINITY;
	*hi = -INFINITY;
	for (size_t i = 0; i < n; i++)
		if (isfinite(v[i])) {
			*lo = fmin(*lo, v[i]);
			*hi = fmax(*hi, v[i]);
		}
}

/* Values of @n rows and @m columns. */
struct heat {
	const char *label;
	size_t n, m;
	const char *rows[MATRIX_CELLS_MAX];
	char columns[MATRIX_BLOCKS_MAX][MATRIX_NAME_MAX];
	double values[MATRIX_CELLS_MAX * MATRIX_BLOCKS_MAX];
	double lo, hi; /* of them */
};

#define CELL 30.0 /* high */

struct svg_cell {
	double x, y, width;
};

static void
draw_cell(FILE *f, const struct heat *h, size_t r, size_t c, struct svg_cell at)
{
	double v = h->values[r * h->m + c], lo = h->lo, hi = h->hi;
	int shade = hi > lo ? (int)fmin(7, 8 * (v - lo) / (hi - lo)) : 3;
	char css[32];

	if (!isfinite(v)) {
		svg_rect(f, "void", at.x + 1, at.y + 1, at.width - 2, CELL - 2, "%s, %s: no figure",
			 h->rows[r], h->columns[c]);
		return;
	}
	snprintf(css, sizeof(css), "k h%d", shade);
	svg_rect(f, css, at.x + 1, at.y + 1, at.width - 2, CELL - 2, "%s, %s: %.6g", h->rows[r],
		 h->columns[c], v);
	if (at.width > 40)
		svg_text(f, shade > 4 ? "middle over" : "middle", at.x + at.width / 2, at.y + 20,
			 "%.2f", v);
}

static void
draw_heat(FILE *f, double width, struct heat *h)
{
	bool narrow = width < SVG_WIDE;
	double left = narrow ? 0 : NAMES, above = narrow ? 22 : 0, height = CELL + above;
	double cell = fmin(90, (width - MARGIN - left) / (double)(h->m ? h->m : 1));
	size_t every = (size_t)ceil(24 / cell); /* one name of so many columns */
	int letters = (int)(cell * (double)every / 7.5);

	range_of(h->values, h->n * h->m, &h->lo, &h->hi);
	if (!(h->lo <= h->hi))
		return;
	svg_open(f, width, 34 + height * (double)h->n, h->label);
	for (size_t c = 0; c < h->m; c += every)
		svg_text(f, "tick middle", left + cell * ((double)c + 0.5), 20, "%.*s", letters,
			 h->columns[c]);
	for (size_t r = 0; r < h->n; r++) {
		double y = 28 + height * (double)r;

		if (narrow)
			svg_text(f, "label", 0, y + 16, "%.48s", h->rows[r]);
		else
			svg_text(f, "label end", left - 12, y + 20, "%.24s", h->rows[r]);
		for (size_t c = 0; c < h->m; c++)
			draw_cell(f, h, r, c, (struct svg_cell){ left + cell * (double)c, y + above,
								 cell });
	}
	svg_close(f);
}

/* Each run divided by the median of its block: cell effect and noise remain. */
static void
plot_blocks(FILE *f, double width, const void *data)
{
	const struct matrix_data *m = data;
	struct heat *h = calloc(1, sizeof(*h));
	size_t n = m->design.n, blocks = m->spec.blocks;

	for (size_t b = 0; h && b < blocks; b++) {
		double line[MATRIX_CELLS_MAX], median;
		size_t k = 0;

		for (size_t c = 0; c < n; c++)
			if (isfinite(m->figures[b * n + c]))
				line[k++] = m->figures[b * n + c];
		median = stats_median(line, k);
		for (size_t c = 0; c < n; c++) {
			h->values[c * blocks + b] = m->figures[b * n + c] / median;
			h->rows[c] = m->design.cells[c].name;
		}
		snprintf(h->columns[b], sizeof(h->columns[b]), "%zu", b + 1);
	}
	if (h) {
		h->label = "Each run over its block's median";
		h->n = n;
		h->m = blocks;
		draw_heat(f, width, h);
	}
	free(h);
}

static void
plot_effects(FILE *f, double width, const void *data)
{
	const struct matrix_data *m = data;
	bool narrow = width < SVG_WIDE;
	const struct matrix_design *d = &m->design;
	const struct matrix_analysis *a = &m->analysis;
	struct svg_axis x = { .lo = 1 - 1.5 * d->spec->margin, .hi = 1 + 1.5 * d->spec->margin,
			      .from = narrow ? 24 : NAMES + 30, .to = width - (narrow ? 24 : MARGIN) };
	double bottom, y = 34, above = narrow ? 20 : 0;
	size_t n = 0;

	for (size_t i = 0; i < d->effect_count; i++) {
		if (d->effects[i].kind == MATRIX_EXPLORATORY || a->effects[i].n < 2)
			continue;
		x.lo = fmin(x.lo, a->effects[i].ci.lo);
		x.hi = fmax(x.hi, a->effects[i].ci.hi);
		n++;
	}
	if (!n)
		return;
	bottom = y + (28 + above) * (double)n;
	svg_open(f, width, bottom + 34, "Effects with their intervals");
	svg_rect(f, "margin", svg_at(&x, 1 - d->spec->margin), y - 10,
		 svg_at(&x, 1 + d->spec->margin) - svg_at(&x, 1 - d->spec->margin),
		 bottom - y + 10, "does not matter: within %.3g %%", 100 * d->spec->margin);
	svg_axis_of_ratios(f, &x, y - 10, bottom);
	svg_text(f, "unit middle", svg_at(&x, 1), y - 16, "no difference");
	for (size_t i = 0; i < d->effect_count; i++) {
		const struct matrix_estimate *e = &a->effects[i];

		if (d->effects[i].kind == MATRIX_EXPLORATORY || e->n < 2)
			continue;
		if (narrow)
			svg_text(f, "label", 0, y + 14, "%.48s", d->effects[i].name);
		else
			svg_text(f, "label end", NAMES + 10, y + 16, "%.24s", d->effects[i].name);
		y += above;
		svg_line(f, "whisker", svg_at(&x, e->ci.lo), y + 11, svg_at(&x, e->ci.hi), y + 11);
		svg_dot(f, d->effects[i].kind == MATRIX_PRIMARY ? "dot f0" : "dot f6",
			svg_at(&x, e->ratio), y + 11, 5, "%s: %.4f, %.4f to %.4f",
			d->effects[i].name, e->ratio, e->ci.lo, e->ci.hi);
		y += 28;
	}
	svg_close(f);
}

/* Which colour is which cell: at the right, or below a narrow picture. */
static void
draw_key(FILE *f, double width, double below, const struct matrix_design *d)
{
	bool narrow = width < SVG_WIDE;

	for (size_t c = 0; c < d->n && c <= SVG_SERIES_MAX; c++) {
		double x = narrow ? (c % 2 ? width / 2 : 0) + 6 : width - 126;
		double y = narrow ? below + 22 * (double)(c / 2) : 24 + 20 * (double)c;
		char css[16];

		snprintf(css, sizeof(css), "dot f%zu", c < SVG_SERIES_MAX ? c : SVG_SERIES_MAX);
		svg_dot(f, css, x, y, 4.5, "%s", d->cells[c].name);
		svg_text(f, "tick", x + 12, y + 4, "%.*s", narrow ? 24 : 16,
			 c < SVG_SERIES_MAX ? d->cells[c].name : "others");
	}
}

/* Every valid run in the order of time, coloured by its cell. */
static void
plot_points(FILE *f, double width, const void *data)
{
	const struct matrix_data *m = data;
	const struct matrix_design *d = &m->design;
	bool narrow = width < SVG_WIDE;
	struct svg_axis x = { .lo = 0, .from = 70, .to = width - (narrow ? 8 : 154) };
	struct svg_axis y = { .lo = 0, .from = 260, .to = 20 };
	struct svg_ticks ticks;
	size_t n = 0, k = 0, keys = d->n < SVG_SERIES_MAX ? d->n : SVG_SERIES_MAX + 1;

	for (size_t i = 0; i < m->store.n; i++)
		if (matrix_data_cell(m, i) >= 0) {
			y.hi = fmax(y.hi, m->store.runs[i].figure);
			n++;
		}
	if (!(y.hi > 0))
		return;
	x.hi = n > 1 ? (double)n - 1 : 1;
	svg_ticks_linear(y.hi, 5, &ticks);
	y.hi = fmax(y.hi, ticks.at[ticks.n - 1]);
	svg_open(f, width, narrow ? 306 + 11 * (double)(keys + keys % 2) : 300,
		 "Every run in the order of time");
	for (size_t i = 0; i < ticks.n; i++) {
		svg_line(f, "grid", x.from, svg_at(&y, ticks.at[i]), x.to, svg_at(&y, ticks.at[i]));
		svg_text(f, "tick end", x.from - 8, svg_at(&y, ticks.at[i]) + 4, "%.*f",
			 ticks.decimals, ticks.at[i]);
	}
	for (size_t i = 0; i < m->store.n; i++) {
		int cell = matrix_data_cell(m, i);
		double v = m->store.runs[i].figure;
		char css[24];

		snprintf(css, sizeof(css), "dot f%d", cell < SVG_SERIES_MAX ? cell : SVG_SERIES_MAX);
		if (cell >= 0 && isfinite(v))
			svg_dot(f, css, svg_at(&x, (double)k), svg_at(&y, v), 4.5,
				"run %zu, %s: %.6g", k + 1, d->cells[cell].name, v);
		k += cell >= 0;
	}
	draw_key(f, width, 312, d);
	svg_text(f, "unit", x.from, 288, "first run");
	svg_text(f, "unit end", x.to, 288, "last run");
	svg_close(f);
}

void
matrix_plot(FILE *f, const char *name, const void *data)
{
	if (!strcmp(name, "points"))
		svg_both(f, plot_points, data);
	else if (!strcmp(name, "blocks"))
		svg_both(f, plot_blocks, data);
	else if (!strcmp(name, "effects"))
		svg_both(f, plot_effects, data);
}
