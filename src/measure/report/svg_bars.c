/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pictures made of bars: shares of the NICs, stages of a chunk, round trips.
 */
#include <math.h>
#include <string.h>

#include "tool/out_text.h"
#include "measure/report/out_verdict.h"
#include "measure/report/svg.h"
#include "measure/report/svg_plot.h"

#define BAR_STEP 34.0
#define BAR 20.0
#define NAME_WIDTH 84.0 /* of a size at the left of its bar */

static double
clamp(double v, double lo, double hi)
{
	return v >= lo ? fmin(v, hi) : lo; /* NAN gives lo */
}

/* ---- shares ---------------------------------------------------------------------- */

/* The bytes at the right of a wide picture, under the name of a narrow one. */
static void
draw_share(FILE *f, double width, double left, double y, const struct row_nic *nic, double most)
{
	bool narrow = width < SVG_WIDE;
	double share = clamp(nic->share, 0, 1), right = narrow ? width - 76 : 630;
	double bar = (right - left) * share / most, below = narrow ? y + 22 : y;
	char amount[OUT_QUANTITY];

	svg_text(f, "name", 0, y + 15, "%s \u2192 %s", nic->nic, nic->peer_nic);
	svg_rect(f, "bar f0", left, below, bar, BAR, "%s: %.1f %%, %s, %llu retransmits", nic->nic,
		 100 * share, out_amount(nic->bytes, amount),
		 (unsigned long long)nic->retransmits);
	svg_text(f, "value", left + bar + 10, below + 15, "%.1f %%", 100 * share);
	svg_text(f, nic->retransmits ? "tick end warn" : "tick end", width, y + 15,
		 "%s \u00b7 %llu retransmit%s", out_amount(nic->bytes, amount),
		 (unsigned long long)nic->retransmits, nic->retransmits == 1 ? "" : "s");
}

void
svg_shares(FILE *f, double width, const struct row *row)
{
	bool narrow = width < SVG_WIDE;
	double most = 0, letters = 0, step = narrow ? BAR_STEP + 18 : BAR_STEP, left;

	for (size_t i = 0; i < row->per_nic.n; i++) {
		const struct row_nic *nic = &row->per_nic.at[i];

		most = fmax(most, clamp(nic->share, 0, 1));
		letters = fmax(letters, (double)(strlen(nic->nic) + strlen(nic->peer_nic) + 3));
	}
	left = narrow ? 0 : clamp(8 * letters + 16, NAME_WIDTH, 315);
	if (!(most > 0))
		return;

	svg_open(f, width, step * (double)row->per_nic.n + 6, "Share of the bytes per NIC");
	for (size_t i = 0; i < row->per_nic.n; i++)
		draw_share(f, width, left, step * (double)i + 6, &row->per_nic.at[i], most);
	svg_close(f);
}

/* ---- stages ---------------------------------------------------------------------- */

#define STAGES 3
#define STAGE_ROWS 12

static const char *const stage_names[STAGES] = { "wire", "unpack", "ack" };

static void
draw_stage_row(FILE *f, double width, const struct row *row, double y)
{
	const struct row_stage *s = &row->stage_us;
	const double us[STAGES] = { s->wire, s->unpack, s->ack };
	static const char *const text_css[STAGES] = { "in", "in", "in dark" };
	const double right = width - 80;
	double total = us[0] + us[1] + us[2], x = NAME_WIDTH;
	char text[OUT_QUANTITY];

	svg_text(f, "name", 0, y + 15, "%s", out_size(row->size, text));
	svg_text(f, "tick end", width, y + 15, "%s", out_time(total, text));
	for (size_t i = 0; i < STAGES; i++) {
		double share = total > 0 ? clamp(us[i] / total, 0, 1) : 0;
		double part = share * (right - NAME_WIDTH);
		char css[16];

		if (!(share > 0))
			continue;
		snprintf(css, sizeof(css), "bar g%zu", i + 1);
		svg_rect(f, css, x, y, part - 1.5, BAR, "%s: %s, %.1f %%", stage_names[i],
			 out_time(us[i], text), 100 * share);
		if (part > 44)
			svg_text(f, text_css[i], x + part / 2, y + 14.5,
				 "%.0f %%", 100 * share);
		x += part;
	}
}

static void
draw_stage_legend(FILE *f)
{
	double x = NAME_WIDTH;

	for (size_t i = 0; i < STAGES; i++) {
		char css[16];

		snprintf(css, sizeof(css), "bar g%zu", i + 1);
		svg_rect(f, css, x, 3, 12, 12, NULL);
		svg_text(f, "tick", x + 18, 13.5, "%s", stage_names[i]);
		x += 90;
	}
}

static double
stages_us(const struct row *row)
{
	return row->stage_us.wire + row->stage_us.unpack + row->stage_us.ack;
}

void
svg_stages(FILE *f, double width, const struct result *r)
{
	const double step = BAR_STEP * 0.85;
	size_t some = 0, shown, k = 0, drawn = 0;

	for (size_t i = 0; i < r->rows.n; i++)
		some += stages_us(&r->rows.at[i]) > 0; /* a small transfer has no chunks */
	shown = some < STAGE_ROWS ? some : STAGE_ROWS;
	if (!shown)
		return;

	svg_open(f, width, 28 + step * (double)shown, "Where the time of a chunk went, per size");
	draw_stage_legend(f);
	for (size_t i = 0; i < r->rows.n; i++) {
		if (!(stages_us(&r->rows.at[i]) > 0))
			continue;
		if (drawn < shown && k++ == (shown > 1 ? drawn * (some - 1) / (shown - 1) : 0))
			draw_stage_row(f, width, &r->rows.at[i], 28 + step * (double)drawn++);
	}
	svg_close(f);
}

/* ---- latency --------------------------------------------------------------------- */

#define HIST_TOP 86.0
#define HIST_BOTTOM 310.0

#define BINS 88
#define EDGE 28.0 /* half of the longest text of a tick */

struct histogram {
	double width;
	const char *unit;
	struct svg_axis x, y;
	double bin[BINS]; /* counts, over equal parts of the x axis */
};

static void
draw_mark(FILE *f, const struct histogram *h, double us, const char *name, const char *css,
	  double label_y)
{
	char text[OUT_QUANTITY];
	double x = svg_at(&h->x, us);
	bool flip = x > h->width - 120;

	if (!(us >= h->x.lo && us <= h->x.hi))
		return;
	svg_line(f, css, x, label_y - 8, x, HIST_BOTTOM);
	svg_text(f, flip ? "value end" : "value", x + (flip ? -6 : 6), label_y, "%s %s", name,
		 out_time(us, text));
}

/*
 * A recorder's buckets are as narrow as a clock tick or as wide as a bar: each is spread
 * evenly over the bins that it covers. It begins where the one before ended, or, where
 * empty ones were left out, as far down as the narrowest bucket reaches.
 */
static void
fill_bins(struct histogram *h, const struct row *row)
{
	const struct svg_axis to_bin = { h->x.lo, h->x.hi, 0, BINS, true };
	double step = 2, before = 0;

	for (size_t i = 1; i < row->histogram.n; i++) {
		double ratio = row->histogram.at[i].us / row->histogram.at[i - 1].us;

		if (ratio > 1) /* not if one is 0 */
			step = fmin(step, ratio);
	}
	for (size_t i = 0; i < row->histogram.n; i++) {
		const struct row_bucket *b = &row->histogram.at[i];
		double left = clamp(svg_at(&to_bin, fmax(before, b->us / step)), 0, BINS - 1);
		double right = clamp(svg_at(&to_bin, b->us), left + 1e-6, BINS);

		before = b->us;
		for (size_t k = (size_t)left; k < BINS && (double)k < right; k++) {
			double part = fmin(right, (double)k + 1) - fmax(left, (double)k);

			h->bin[k] += (double)b->count * part / (right - left);
		}
	}
	for (size_t k = 0; k < BINS; k++)
		h->y.hi = fmax(h->y.hi, h->bin[k]);
}

static void
draw_bins(FILE *f, const struct histogram *h)
{
	double width = (h->x.to - h->x.from) / BINS;

	for (size_t k = 0; k < BINS; k++) {
		double y = fmin(svg_at(&h->y, h->bin[k]), HIST_BOTTOM - 1);
		char from[OUT_QUANTITY], to[OUT_QUANTITY];

		if (h->bin[k] < 0.5)
			continue;
		out_time(h->x.lo * pow(h->x.hi / h->x.lo, (double)k / BINS), from);
		out_time(h->x.lo * pow(h->x.hi / h->x.lo, (double)(k + 1) / BINS), to);
		svg_rect(f, "bar f0", h->x.from + width * (double)k, y, width - 1, HIST_BOTTOM - y,
			 "%s to %s: %.0f", from, to, h->bin[k]);
	}
}

/* The middle of a text stands at its tick, unless an edge of the picture would cut it. */
static const char *
tick_at(const struct histogram *h, double x)
{
	return x < EDGE ? "tick" : x > h->width - EDGE ? "tick end" : "tick middle";
}

static void
draw_time_axis(FILE *f, const struct histogram *h)
{
	struct svg_ticks ticks;
	char text[OUT_QUANTITY];

	svg_ticks_decimal(h->x.lo, h->x.hi, h->width < SVG_WIDE ? 6 : 10, &ticks);
	svg_line(f, "axis", h->x.from, HIST_BOTTOM, h->x.to, HIST_BOTTOM);
	for (size_t i = 0; i < ticks.n; i++) {
		double x = svg_at(&h->x, ticks.at[i]);

		svg_line(f, "axis", x, HIST_BOTTOM, x, HIST_BOTTOM + 5);
		svg_text(f, tick_at(h, x), x, HIST_BOTTOM + 21, "%s", out_time(ticks.at[i], text));
	}
	svg_text(f, "unit end", h->width, HIST_BOTTOM + 44, "%s", h->unit);
}

void
svg_histogram(FILE *f, double width, const struct row *row)
{
	bool lat = row_is_latency(row);
	const struct row_time *t = lat ? &row->half_rtt_us : &row->time_us;
	struct histogram h = {
		.width = width,
		.unit = lat ? "half a round trip, log scale" : "time of a transfer, log scale",
		.x = { .lo = INFINITY, .from = 8, .to = width - 8, .log = true },
		.y = { .from = HIST_BOTTOM, .to = HIST_TOP },
	};

	for (size_t i = 0; i < row->histogram.n; i++) {
		const struct row_bucket *b = &row->histogram.at[i];

		if (b->count && b->us > 0) {
			h.x.lo = fmin(h.x.lo, b->us);
			h.x.hi = fmax(h.x.hi, b->us);
		}
	}
	if (!(h.x.hi > 0))
		return;
	if (lat && row->baseline_half_rtt_us.p50 > 0) /* its mark is to be seen, too */
		h.x.lo = fmin(h.x.lo, row->baseline_half_rtt_us.p50);
	h.x.lo /= 1.1;
	h.x.hi *= 1.1;
	fill_bins(&h, row);

	svg_open(f, width, HIST_BOTTOM + 50,
		 lat ? "Histogram of half round trips" : "Histogram of the transfers' times");
	draw_bins(f, &h);
	draw_time_axis(f, &h);
	if (lat)
		draw_mark(f, &h, row->baseline_half_rtt_us.p50, "raw sockets p50", "mark base", 14);
	draw_mark(f, &h, t->p50, "p50", "mark", 34);
	if (row->iters >= ROW_P99_ITERS)
		draw_mark(f, &h, t->p99, "p99", "mark", 54);
	if (row->iters >= ROW_P999_ITERS)
		draw_mark(f, &h, t->p999, "p99.9", "mark", 74);
	svg_close(f);
}
