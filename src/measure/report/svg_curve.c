/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curves over size: speed or latency, and the CPU time that a GB costs. Behind a single
 * record is the band between its fast and slow iterations.
 */
#include <math.h>
#include <string.h>

#include "tool/out_text.h"
#include "measure/report/out_bound.h"
#include "measure/report/out_verdict.h"
#include "measure/report/svg_chart.h"
#include "measure/report/svg_plot.h"

/* "tcpx 2.31", of one among several "B 2.31" */
static void
name_series(struct svg_series *s, const char *name, size_t index, size_t of)
{
	char digits[OUT_QUANTITY];

	if (!s->points.n)
		return;
	out_digits(s->points.at[s->points.n - 1].y, digits);
	if (of > 1)
		snprintf(s->name, sizeof(s->name), "%c\u2002%.20s", (int)('A' + index), digits);
	else
		snprintf(s->name, sizeof(s->name), "%s\u2002%.20s", name, digits);
}

/* ---- speed or latency ------------------------------------------------------------- */

static double
ours(const struct svg_chart *c, const struct row *row)
{
	return c->times ? row->half_rtt_us.p50 : row->busbw_GBps;
}

static double
baseline(const struct svg_chart *c, const struct row *row)
{
	return c->times ? row->baseline_half_rtt_us.p50 : row->baseline_GBps;
}

/* The value of an iteration that took @us. */
static double
at_time(const struct svg_chart *c, const struct row *row, double us)
{
	return c->times ? us : row->busbw_GBps * row->time_us.mean / us;
}

static void
add_ours(struct svg_chart *c, const struct result *r, size_t index, size_t of)
{
	struct svg_series *s = svg_chart_add(c, (unsigned)index);

	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.at[i];
		char size[OUT_QUANTITY], value[OUT_QUANTITY], base[OUT_QUANTITY];
		char letter[4] = "", ratio[48] = "";
		double raw = baseline(c, row);

		if (isfinite(row->ratio))
			snprintf(ratio, sizeof(ratio), ", ratio %.3f", row->ratio);
		if (of > 1)
			snprintf(letter, sizeof(letter), "%c, ", (int)('A' + index));
		svg_chart_point(c, s, (double)row->size, ours(c, row), "%s%s: %s %s%s%s%s%s", letter,
				out_size(row->size, size), out_digits(ours(c, row), value),
				c->times ? "\u00b5s" : "GB/s", isfinite(raw) ? ", raw sockets " : "",
				isfinite(raw) ? out_digits(raw, base) : "", ratio,
				row->degraded ? ", degraded" : "");
	}
	name_series(s, "tcpx", index, of);
}

static void
add_baseline(struct svg_chart *c, const struct result *r, size_t index, size_t of)
{
	struct svg_series *s = svg_chart_add(c, of > 1 ? (unsigned)index : SVG_SERIES_MAX);

	s->dashed = true;
	for (size_t i = 0; i < r->rows.n; i++)
		svg_chart_point(c, s, (double)r->rows.at[i].size, baseline(c, &r->rows.at[i]), "%s",
				"");
	if (of == 1)
		name_series(s, "raw sockets", 0, 1);
}

/* From the fastest iteration to the one at the 99th percentile. */
static void
add_band(struct svg_chart *c, const struct result *r)
{
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.at[i];
		const struct row_time *t = c->times ? &row->half_rtt_us : &row->time_us;
		double fast = at_time(c, row, t->min), slow = at_time(c, row, t->p99);
		struct svg_range *range;

		if (!row->size || !(t->min > 0) || !(t->p99 > 0) || !isfinite(ours(c, row)))
			continue;
		range = LIST_ADD(&c->band);
		*range = (struct svg_range){ (double)row->size, fmin(fast, slow), fmax(fast, slow) };
	}
}

/* What the NICs carry by their line rate, as the speed is counted; 0: not known of all. */
static double
line_GBps(const struct result *r)
{
	double gbps = 0;

	for (size_t i = 0; i < r->nics.n; i++) {
		if (!(nic_Gbps(&r->nics.at[i]) > 0))
			return 0;
		gbps += nic_Gbps(&r->nics.at[i]);
	}
	return gbps / 8 * (r->rows.n && !strcmp(r->rows.at[0].dir, "bi") ? 2 : 1);
}

void
svg_curve(FILE *f, double width, const struct result *results, size_t n)
{
	struct svg_chart c = {
		.x_unit = "size of one transfer",
		.sizes = true,
		.times = results[0].rows.n && row_is_latency(&results[0].rows.at[0]),
	};

	n = n < SVG_SERIES_MAX ? n : SVG_SERIES_MAX;
	c.label = c.times ? "Half round trip over size" : "Bandwidth over size";
	c.unit = c.times ? "median of half a round trip, log scale" : "GB/s";
	c.limit = c.times ? 0 : line_GBps(&results[0]);
	c.limit_name = "line rate";
	for (size_t i = 0; i < n; i++)
		add_ours(&c, &results[i], i, n);
	for (size_t i = 0; i < n; i++)
		add_baseline(&c, &results[i], i, n);
	if (n == 1)
		add_band(&c, &results[0]);
	svg_chart_draw(f, width, &c);
	svg_chart_free(&c);
}

/* ---- CPU -------------------------------------------------------------------------- */

struct cost {
	const char *name;
	size_t offset; /* of the number in struct row */
	unsigned colour;
	bool dashed;
};

static void
add_cost(struct svg_chart *c, const struct result *r, const struct cost *cost)
{
	struct svg_series *s = svg_chart_add(c, cost->colour);
	char size[OUT_QUANTITY], digits[OUT_QUANTITY];

	s->dashed = cost->dashed;
	s->dots = !cost->dashed;
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct row *row = &r->rows.at[i];
		double v;

		memcpy(&v, (const char *)row + cost->offset, sizeof(v));
		svg_chart_point(c, s, (double)row->size, v, "%s, %s: %s CPU s/GB",
				out_size(row->size, size), cost->name, out_digits(v, digits));
	}
	name_series(s, cost->name, 0, 1);
}

void
svg_cpu(FILE *f, double width, const struct result *r)
{
	bool bi = r->rows.n && !strcmp(r->rows.at[0].dir, "bi");
	bool read = r->rows.n && !strcmp(r->rows.at[0].op, "read");
	const char *client = bi ? "client" : read ? "receiver" : "sender";
	const char *server = bi ? "server" : read ? "sender" : "receiver";
	const struct cost costs[] = {
		{ "both ends", offsetof(struct row, cpu_s_per_GB), 0, false },
		{ client, offsetof(struct row, client_cpu_s_per_GB), 1, false },
		{ server, offsetof(struct row, server_cpu_s_per_GB), 2, false },
		{ "raw, both", offsetof(struct row, baseline_cpu_s_per_GB), SVG_SERIES_MAX, true },
	};
	struct svg_chart c = { .label = "CPU time of a GB over size", .unit = "CPU seconds per GB",
			       .x_unit = "size of one transfer", .sizes = true };

	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
		add_cost(&c, r, &costs[i]);
	svg_chart_draw(f, width, &c);
	svg_chart_free(&c);
}
