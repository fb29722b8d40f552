/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Axes, ticks and shapes. Coordinates have one decimal: enough for the eye, and the
 * same on every machine.
 */
#include "measure/report/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "tool/out_text.h"

double
svg_at(const struct svg_axis *axis, double value)
{
	double part = axis->log ? log(value / axis->lo) / log(axis->hi / axis->lo)
				: (value - axis->lo) / (axis->hi - axis->lo);

	return isfinite(part) ? axis->from + part * (axis->to - axis->from) : axis->from;
}

/* ---- ticks ----------------------------------------------------------------------- */

void
svg_ticks_linear(double hi, size_t most, struct svg_ticks *ticks)
{
	static const double steps[] = { 1, 2, 5, 10 };
	int exponent = (int)floor(log10(hi / (double)most));
	double step = pow(10, exponent + 1);

	for (size_t i = 0; i < 4; i++) {
		step = steps[i] * pow(10, exponent);
		if (hi <= step * (double)most * (1 + 1e-9))
			break;
	}
	ticks->decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
	ticks->n = 0;
	do
		ticks->at[ticks->n] = step * (double)ticks->n;
	while (ticks->at[ticks->n++] < hi * (1 - 1e-9) && ticks->n <= most);
}

void
svg_ticks_binary(double lo, double hi, size_t most, struct svg_ticks *ticks)
{
	static const int steps[] = { 1, 2, 5, 10, 20, 50 };
	int first = (int)ceil(log2(lo) - 1e-9), last = (int)floor(log2(hi) + 1e-9);
	int step = steps[0];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		step = steps[i];
		if (last / step - (first - 1) / step <= (int)most)
			break;
	}
	ticks->n = 0;
	ticks->decimals = 0;
	for (int e = first; e <= last && ticks->n < most; e++)
		if (e % step == 0)
			ticks->at[ticks->n++] = ldexp(1, e);
}

void
svg_ticks_decimal(double lo, double hi, size_t most, struct svg_ticks *ticks)
{
	static const double mantissas[] = { 1, 2, 5 };

	for (size_t per_decade = 3;; per_decade = 1) {
		ticks->n = 0;
		ticks->decimals = 0;
		for (int e = (int)floor(log10(lo)); e <= (int)ceil(log10(hi)); e++)
			for (size_t i = 0; i < per_decade; i++) {
				double v = mantissas[i] * pow(10, e);

				if (v >= lo * (1 - 1e-9) && v <= hi * (1 + 1e-9) && ticks->n < most)
					ticks->at[ticks->n++] = v;
			}
		if (ticks->n < most || per_decade == 1)
			return;
	}
}

void
svg_both(FILE *f, void (*draw)(FILE *f, double width, const void *arg), const void *arg)
{
	fputs("<div class=\"wide\">\n", f);
	draw(f, SVG_WIDE, arg);
	fputs("</div>\n<div class=\"narrow\">\n", f);
	draw(f, SVG_NARROW, arg);
	fputs("</div>\n", f);
}

/* ---- shapes ---------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 0)))
print_escaped(FILE *f, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	out_escape(f, text);
	free(text);
}

void
svg_open(FILE *f, double width, double height, const char *label)
{
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
		"aria-label=\"",
		width, height);
	out_escape(f, label);
	fputs("\">\n", f);
}

void
svg_close(FILE *f)
{
	fputs("</svg>\n", f);
}

void
svg_line(FILE *f, const char *css, double x1, double y1, double x2, double y2)
{
	fprintf(f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", css,
		x1, y1, x2, y2);
}

void
svg_rect(FILE *f, const char *css, double x, double y, double width, double height,
	 const char *fmt, ...)
{
	va_list ap;

	fprintf(f, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", css,
		x, y, fmax(width, 0), fmax(height, 0));
	if (fmt) {
		fputs("<title>", f);
		va_start(ap, fmt);
		print_escaped(f, fmt, ap);
		va_end(ap);
		fputs("</title>", f);
	}
	fputs("</rect>\n", f);
}

void
svg_dot(FILE *f, const char *css, double x, double y, double radius, const char *fmt, ...)
{
	va_list ap;

	fprintf(f, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>", css, x, y,
		radius);
	va_start(ap, fmt);
	print_escaped(f, fmt, ap);
	va_end(ap);
	fputs("</title></circle>\n", f);
}

void
svg_text(FILE *f, const char *css, double x, double y, const char *fmt, ...)
{
	va_list ap;

	fprintf(f, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", css, x, y);
	va_start(ap, fmt);
	print_escaped(f, fmt, ap);
	va_end(ap);
	fputs("</text>\n", f);
}

void
svg_axis_of_ratios(FILE *f, const struct svg_axis *x, double top, double bottom)
{
	struct svg_ticks steps;

	svg_ticks_linear(x->hi - x->lo, x->to - x->from > SVG_NARROW ? 7 : 4, &steps);
	for (double k = ceil((x->lo - 1) / steps.at[1]); 1 + k * steps.at[1] <= x->hi; k++) {
		double at = svg_at(x, 1 + k * steps.at[1]);

		svg_line(f, k == 0 ? "one" : "grid", at, top, at, bottom);
		svg_text(f, "tick middle", at, bottom + 20, "%.*f", steps.decimals,
			 1 + k * steps.at[1]);
	}
}
