/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat map, intervals, and points over time. Shades are eight strengths of one colour:
 * readable in print and without red and green.
 */
#include "measure/matrix/matrix_plot.h"

#include <math.h>

#include "tool/out_text.h"
#include "measure/report/svg.h"
#include "measure/report/svg_plot.h"

#define WIDTH 880.0
#define LEFT 190.0
#define RIGHT 866.0

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

void
matrix_plot_heat(FILE *f, const char *label, const char *const *rows, size_t n,
		 const char *const *columns, size_t m, const double *values, int digits)
{
	double lo, hi, width = fmin(90, (RIGHT - LEFT) / (double)(m ? m : 1)), height = 30;

	range_of(values, n * m, &lo, &hi);
	if (!(lo <= hi))
		return;
	svg_open(f, WIDTH, 34 + height * (double)n, label);
	for (size_t c = 0; c < m; c++)
		svg_text(f, "tick middle", LEFT + width * ((double)c + 0.5), 20, "%.16s",
			 columns[c]);
	for (size_t r = 0; r < n; r++) {
		double y = 28 + height * (double)r;

		svg_text(f, "label end", LEFT - 12, y + 20, "%.24s", rows[r]);
		for (size_t c = 0; c < m; c++) {
			double v = values[r * m + c], x = LEFT + width * (double)c;
			int shade = hi > lo ? (int)fmin(7, 8 * (v - lo) / (hi - lo)) : 3;
			char css[32];

			if (!isfinite(v)) {
				svg_rect(f, "void", x + 1, y + 1, width - 2, height - 2,
					 "%s, %s: no figure", rows[r], columns[c]);
				continue;
			}
			snprintf(css, sizeof(css), "h h%d", shade);
			svg_rect(f, css, x + 1, y + 1, width - 2, height - 2, "%s, %s: %.6g",
				 rows[r], columns[c], v);
			if (width > 40)
				svg_text(f, shade > 4 ? "middle over" : "middle", x + width / 2,
					 y + 20, "%.*f", digits, v);
		}
	}
	svg_close(f);
}

void
matrix_plot_effects(FILE *f, const struct matrix_design *d, const struct matrix_analysis *a)
{
	struct svg_axis x = { .lo = 1 - 1.5 * d->spec->margin, .hi = 1 + 1.5 * d->spec->margin,
			      .from = LEFT + 30, .to = RIGHT };
	double bottom, y = 34, step;
	struct svg_ticks ticks;
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
	bottom = y + 28 * (double)n;
	svg_open(f, WIDTH, bottom + 34, "Effects with their intervals");
	svg_rect(f, "margin", svg_at(&x, 1 - d->spec->margin), y - 10,
		 svg_at(&x, 1 + d->spec->margin) - svg_at(&x, 1 - d->spec->margin),
		 bottom - y + 10, "does not matter: within %.3g %%", 100 * d->spec->margin);
	svg_ticks_linear(x.hi - x.lo, 7, &ticks);
	step = ticks.at[1];
	for (double k = ceil((x.lo - 1) / step); 1 + k * step <= x.hi; k++) {
		svg_line(f, k == 0 ? "one" : "grid", svg_at(&x, 1 + k * step), y - 10,
			 svg_at(&x, 1 + k * step), bottom);
		svg_text(f, "tick middle", svg_at(&x, 1 + k * step), bottom + 20, "%.*f",
			 ticks.decimals, 1 + k * step);
	}
	svg_text(f, "unit middle", svg_at(&x, 1), y - 16, "no difference");
	for (size_t i = 0; i < d->effect_count; i++) {
		const struct matrix_estimate *e = &a->effects[i];

		if (d->effects[i].kind == MATRIX_EXPLORATORY || e->n < 2)
			continue;
		svg_text(f, "label end", LEFT + 10, y + 16, "%.24s", d->effects[i].name);
		svg_line(f, "whisker", svg_at(&x, e->ci.lo), y + 11, svg_at(&x, e->ci.hi), y + 11);
		svg_dot(f, d->effects[i].kind == MATRIX_PRIMARY ? "dot f0" : "dot f6",
			svg_at(&x, e->ratio), y + 11, 5, "%s: %.4f, %.4f to %.4f",
			d->effects[i].name, e->ratio, e->ci.lo, e->ci.hi);
		y += 28;
	}
	svg_close(f);
}

void
matrix_plot_points(FILE *f, const struct matrix_design *d, const double *values,
		   const unsigned char *cells, size_t n)
{
	struct svg_axis x = { .lo = 0, .hi = n > 1 ? (double)n - 1 : 1, .from = 70,
			      .to = RIGHT - 140 };
	struct svg_axis y = { .lo = 0, .from = 260, .to = 20 };
	struct svg_ticks ticks;
	double lo;

	range_of(values, n, &lo, &y.hi);
	if (!(lo <= y.hi) || !(y.hi > 0))
		return;
	svg_ticks_linear(y.hi, 5, &ticks);
	y.hi = fmax(y.hi, ticks.at[ticks.n - 1]);
	svg_open(f, WIDTH, 300, "Every run in the order of time");
	for (size_t i = 0; i < ticks.n; i++) {
		svg_line(f, "grid", x.from, svg_at(&y, ticks.at[i]), x.to, svg_at(&y, ticks.at[i]));
		svg_text(f, "tick end", x.from - 8, svg_at(&y, ticks.at[i]) + 4, "%.*f",
			 ticks.decimals, ticks.at[i]);
	}
	for (size_t i = 0; i < n; i++) {
		unsigned colour = cells[i] < SVG_SERIES_MAX ? cells[i] : 6;
		char css[16];

		snprintf(css, sizeof(css), "dot f%u", colour);
		if (isfinite(values[i]))
			svg_dot(f, css, svg_at(&x, (double)i), svg_at(&y, values[i]), 4.5,
				"run %zu, %s: %.6g", i + 1, d->cells[cells[i]].name, values[i]);
	}
	for (size_t c = 0; c < d->n && c <= SVG_SERIES_MAX; c++) {
		char css[16];

		snprintf(css, sizeof(css), "dot f%zu", c < SVG_SERIES_MAX ? c : 6);
		svg_dot(f, css, RIGHT - 112, 24 + 20 * (double)c, 4.5, "%s", d->cells[c].name);
		svg_text(f, "tick", RIGHT - 100, 28 + 20 * (double)c, "%.16s",
			 c < SVG_SERIES_MAX ? d->cells[c].name : "others");
	}
	svg_text(f, "unit", x.from, 288, "first run");
	svg_text(f, "unit end", x.to, 288, "last run");
	svg_close(f);
}
