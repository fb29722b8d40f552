/* SPDX-License-Identifier: Apache-2.0 */
/* Speed over the time of a measurement, by the points of the record. */
#include <math.h>

#include "measure/report/svg_chart.h"
#include "measure/report/svg_plot.h"
#include "tool/out_text.h"

enum { POINTS_MAX = 400 }; /* of a line: more would lie on each other */

/* Points of the record from @from on that make one of the line: their time and bytes. */
static size_t
add_points(struct svg_chart *c, struct svg_series *s, const struct row *row, size_t from, size_t n)
{
	double begin = from ? row->series.at[from - 1].t_s : 0, end = begin, bytes = 0, rate;
	char digits[OUT_QUANTITY];

	for (size_t i = from; i < from + n && i < row->series.n; i++) {
		end = row->series.at[i].t_s;
		bytes += (double)row->series.at[i].bytes;
	}
	rate = end > begin ? bytes / 1e9 / (end - begin) : 0;
	svg_chart_point(c, s, (begin + end) / 2, rate, "%.2f to %.2f s: %s GB/s", begin, end,
			out_digits(rate, digits));
	return from + n;
}

static void
add_row(struct svg_chart *c, const struct row *row, size_t index, size_t of)
{
	size_t step = row->series.n / POINTS_MAX + 1;
	struct svg_series *s = svg_chart_add(c, (unsigned)index);
	char digits[OUT_QUANTITY];

	s->dots = row->series.n <= 60;
	for (size_t i = 0; i < row->series.n;)
		i = add_points(c, s, row, i, step);
	out_digits(row->busbw_GBps, digits);
	if (of > 1)
		snprintf(s->name, sizeof(s->name), "%c\u2002mean %.20s", (int)('A' + index), digits);
	else
		snprintf(s->name, sizeof(s->name), "mean %.20s", digits);
}

void
svg_rate(FILE *f, double width, const struct result *results, size_t n)
{
	struct svg_chart c = { .label = "Rate over time", .unit = "GB/s",
			       .x_unit = "seconds" };

	for (size_t i = 0; i < n && i < SVG_SERIES_MAX; i++) {
		const struct row *row = result_subject(&results[i]);

		if (row && row->series.n > 1)
			add_row(&c, row, i, n);
	}
	svg_chart_draw(f, width, &c);
	svg_chart_free(&c);
}
