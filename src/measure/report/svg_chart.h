/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chart of lines: over sizes, on an axis of powers of two, or over time. It is drawn for a
 * width: on a wide one names stand at the ends of the lines, on a narrow one above the chart.
 */
#ifndef TOOL_SVG_CHART_H
#define TOOL_SVG_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tool/shape.h"

#define SVG_SERIES_MAX 6 /* distinguishable colours; one more is that of what is compared with */
#define SVG_LINES_MAX 16

struct svg_point {
	double x, y;
	char text[128]; /* shown at the point; "" none */
};

struct svg_series {
	char name[64];   /* with its last value; "" none */
	unsigned colour; /* 0..SVG_SERIES_MAX            */
	bool dashed, dots;
	LIST_OF(struct svg_point) points;
};

struct svg_range {
	double x, lo, hi;
};

struct svg_chart {
	const char *label;   /* the content, for readers who cannot see it           */
	const char *unit;    /* of y                                                 */
	const char *x_unit;
	bool sizes;          /* x is a size, on a logarithmic axis; else seconds, from 0 */
	bool times;          /* y is a time in us, on a logarithmic axis; else from 0    */
	double limit;        /* a line across, where it is in reach; 0 or NAN none   */
	const char *limit_name;
	LIST_OF(struct svg_series) series; /* the first is drawn last, so on top    */
	LIST_OF(struct svg_range) band;    /* behind the lines                      */
};

/* Valid until the next call for the same chart. At most SVG_LINES_MAX. */
struct svg_series *svg_chart_add(struct svg_chart *c, unsigned colour);
/* Points that the chart cannot show are left out. */
void svg_chart_point(const struct svg_chart *c, struct svg_series *s, double x, double y,
		     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Nothing without a point. */
void svg_chart_draw(FILE *f, double width, const struct svg_chart *c);
void svg_chart_free(struct svg_chart *c);

#endif
