/* SPDX-License-Identifier: Apache-2.0 */
/* The paired comparison, pair by pair: a median of nine hides too much to stand alone. */
#include <math.h>

#include "measure/report/svg.h"
#include "measure/report/svg_plot.h"

#define LEFT 84.0
#define MARGIN 14.0
#define TOP 30.0
#define PAIRS_MAX 40
#define PAIR_STEP 15.0

/* Room for all pairs and for 1, where both would be equally fast. */
static void
fit_axis(struct svg_axis *x, const struct row *row)
{
	double room;

	x->lo = x->hi = 1;
	for (size_t i = 0; i < row->pairs.n; i++) {
		x->lo = fmin(x->lo, row->pairs.at[i].ratio);
		x->hi = fmax(x->hi, row->pairs.at[i].ratio);
	}
	room = fmax(0.12 * (x->hi - x->lo), 0.01);
	x->lo -= room;
	x->hi += room;
}

void
svg_pairs(FILE *f, double width, const struct row *row)
{
	struct svg_axis x = { .from = LEFT, .to = width - MARGIN };
	size_t n = row->pairs.n < PAIRS_MAX ? row->pairs.n : PAIRS_MAX;
	double one, bottom = TOP + PAIR_STEP * (double)n + 6;

	if (!n || !isfinite(row->ratio))
		return;
	fit_axis(&x, row);
	one = svg_at(&x, 1);
	svg_open(f, width, bottom + 28, "Ratio to raw sockets, pair by pair");
	svg_axis_of_ratios(f, &x, TOP - 6, bottom);
	svg_text(f, one > width - 80 ? "unit end" : "unit middle",
		 one > width - 80 ? width - 2 : fmax(one, 80), TOP - 14, "as fast as raw sockets");
	if (isfinite(row->ratio_ci.lo) && isfinite(row->ratio_ci.hi))
		svg_rect(f, "ci", svg_at(&x, row->ratio_ci.lo), TOP - 6,
			 svg_at(&x, row->ratio_ci.hi) - svg_at(&x, row->ratio_ci.lo),
			 bottom - TOP + 6, "median %.3f, %.3f to %.3f", row->ratio,
			 row->ratio_ci.lo, row->ratio_ci.hi);
	svg_line(f, "line s0", svg_at(&x, row->ratio), TOP - 6, svg_at(&x, row->ratio), bottom);
	svg_text(f, "tick", 0, TOP + 8, "first pair");
	svg_text(f, "tick", 0, TOP + PAIR_STEP * (double)(n - 1) + 8, n > 1 ? "last pair" : "");
	for (size_t i = 0; i < n; i++) {
		const struct row_pair *p = &row->pairs.at[i];

		svg_dot(f, "dot f0", svg_at(&x, p->ratio), TOP + PAIR_STEP * (double)i + 4, 5,
			"pair %zu: ours %.5g \u00b5s, raw sockets %.5g \u00b5s, ratio %.3f", i + 1,
			p->ours_us, p->baseline_us, p->ratio);
	}
	svg_close(f);
}
