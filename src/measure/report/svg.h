/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawing in SVG text: axes, ticks and a few shapes. The page styles the classes. Texts are
 * escaped; a value that is not a number lands at the start of the axis.
 */
#ifndef TOOL_SVG_H
#define TOOL_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Each picture is drawn twice, for a screen and for a phone, where the first would be too small to
 * read; the page shows one of them. Texts keep their size, so there is less room on a phone. */
#define SVG_WIDE 880.0
#define SVG_NARROW 400.0
void svg_both(FILE *f, void (*draw)(FILE *f, double width, const void *arg), const void *arg);

/* Values lo..hi lie at pixels from..to; on a log axis both are positive. */
struct svg_axis {
	double lo, hi;
	double from, to;
	bool log;
};

double svg_at(const struct svg_axis *axis, double value);

#define SVG_TICKS_MAX 16
struct svg_ticks {
	double at[SVG_TICKS_MAX];
	size_t n;
	int decimals; /* needed to distinguish the labels */
};

/* 0, step, 2 step, ... the last at or above @hi (> 0); step is 1, 2 or 5 times a power of
 * ten, and there are at most @most + 1 of them, @most in 2..15. */
void svg_ticks_linear(double hi, size_t most, struct svg_ticks *ticks);
/* Powers of 2 within lo..hi (positive), 1, 2, 5, 10, ... powers apart, at most @most. */
void svg_ticks_binary(double lo, double hi, size_t most, struct svg_ticks *ticks);
/* 1, 2, 5 times powers of ten within lo..hi, or the powers alone if those are too many. */
void svg_ticks_decimal(double lo, double hi, size_t most, struct svg_ticks *ticks);

/* @label: the content of the picture, for readers who cannot see it. */
void svg_open(FILE *f, double width, double height, const char *label);
void svg_close(FILE *f);
void svg_line(FILE *f, const char *css, double x1, double y1, double x2, double y2);
/* With @fmt, a tooltip. */
void svg_rect(FILE *f, const char *css, double x, double y, double width, double height,
	      const char *fmt, ...) __attribute__((format(printf, 7, 8)));
void svg_dot(FILE *f, const char *css, double x, double y, double radius, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
void svg_text(FILE *f, const char *css, double x, double y, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Round values on both sides of 1, which is always one of them, from @top to @bottom. */
void svg_axis_of_ratios(FILE *f, const struct svg_axis *x, double top, double bottom);

#endif
