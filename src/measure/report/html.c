/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report's page: report.html, filled from the first record as JSON, and a little beside
 * it that only the page needs. Its script draws the pictures.
 */
#include "measure/report/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "measure/report/html_compare.h"
#include "measure/report/out_verdict.h"
#include "measure/report/result.h"
#include "measure/report/result_fields.h"
#include "tool/out_text.h"
#include "tool/template.h"
#include "tool/tool.h"

struct page {
	const struct result *results;
	size_t n;
	const struct row *row; /* the subject; NULL of a mesh */
};

/* ---- columns ---------------------------------------------------------------------- */

/* Is there something to show? A rate or a NUMA node that is not known is nothing. */
static bool
shows(const char *name, const json_t *v)
{
	if (json_is_integer(v))
		return json_integer_value(v) > (strcmp(name, "numa") ? 0 : -1);
	return json_is_real(v) || json_is_true(v) || (json_is_string(v) && json_string_length(v)) ||
	       json_array_size(v);
}

/* The members that any element of @list has, so that a table has no empty column. */
static json_t *
filled(const json_t *list)
{
	json_t *out = json_object();
	const json_t *one, *v;
	const char *name;
	size_t i;

	json_array_foreach(list, i, one)
		json_object_foreach((json_t *)one, name, v) {
			json_t *alone, *part;

			if (shows(name, v))
				json_object_set_new(out, name, json_true());
			if (!json_is_object(v))
				continue;
			alone = json_pack("[O]", v);
			part = filled(alone);
			if (json_is_object(json_object_get(out, name)))
				json_object_update(json_object_get(out, name), part);
			else
				json_object_set(out, name, part);
			json_decref(part);
			json_decref(alone);
		}
	return out;
}

/* A percentile of fewer iterations is the slowest one, by another name. */
static void
drop_percentiles(json_t *row)
{
	static const char *const times[] = { "time_us", "half_rtt_us" };
	json_int_t iters = json_integer_value(json_object_get(row, "iters"));

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		json_t *time = json_object_get(row, times[i]);

		if (iters < ROW_P99_ITERS)
			json_object_del(time, "p99");
		if (iters < ROW_P999_ITERS)
			json_object_del(time, "p999");
	}
}

/* ---- a mesh ---------------------------------------------------------------------- */

#define SHADES 8

static int
shade(const struct result_mesh *m, double GBps)
{
	double part = (GBps - m->worst_GBps) / (m->best_GBps - m->worst_GBps);

	return part >= 0 ? (int)fmin(part * SHADES, SHADES - 1) : SHADES - 1;
}

/* The less, the lighter; what is far below the median is marked, too. */
static json_t *
mesh_cell(const struct result_mesh *m, unsigned from, unsigned to)
{
	const struct result_mesh_pair *p = from == to ? NULL : mesh_pair(m, from, to);

	if (!p)
		return json_pack("{s:s, s:s}", "mark", "q", "text", from == to ? "" : "none");
	if (p->failed || p->wrong)
		return json_pack("{s:s, s:s}", "mark", "b bad", "text",
				 p->failed ? "failed" : "wrong");
	return json_pack("{s:o, s:f}", "mark", json_sprintf("k h%d%s", shade(m, p->GBps),
			 p->GBps < 0.8 * m->median_GBps ? " low" : ""), "GBps", p->GBps);
}

static const char *
host_of(const struct result_mesh *m, unsigned rank)
{
	for (size_t i = 0; i < m->ranks.n; i++)
		if (m->ranks.at[i].rank == rank)
			return m->ranks.at[i].host;
	return "";
}

static void
add_mesh(json_t *page, const struct result *r)
{
	const struct result_mesh *m = &r->mesh.at[0];
	json_t *grid = json_array(), *legend = json_array();
	char title[512];

	out_verdict_stop(r, title, sizeof(title));
	if (!title[0])
		snprintf(title, sizeof(title), "%zu ranks: %.2f GB/s a pair, the worst %.2f GB/s"
			 " from %u to %u", m->ranks.n, m->mean_GBps, m->worst_GBps, m->worst_from,
			 m->worst_to);
	for (int i = 0; i < SHADES && m->best_GBps > m->worst_GBps; i++)
		json_array_append_new(legend, json_sprintf("%d", i));
	for (unsigned from = 0; from < m->ranks.n; from++) {
		json_t *cells = json_array();

		for (unsigned to = 0; to < m->ranks.n; to++)
			json_array_append_new(cells, mesh_cell(m, from, to));
		json_array_append_new(grid, json_pack("{s:i, s:o, s:o}", "from", (int)from, "host",
						      out_json(host_of(m, from)), "cells", cells));
	}
	template_add(page, json_pack("{s:o, s:o, s:O, s:b, s:o}", "grid", grid, "legend", legend,
				     "mesh", json_array_get(json_object_get(page, "mesh"), 0),
				     "right", mesh_is_good(m), "title", out_json(title)));
}

/* ---- records --------------------------------------------------------------------- */

/* The bars of the channels: of the one with the most bytes, 100 % wide. */
static void
add_widths(json_t *channels, const struct row *row)
{
	uint64_t most = 1;

	for (size_t i = 0; i < row->per_channel.n; i++)
		if (row->per_channel.at[i].tx.bytes > most)
			most = row->per_channel.at[i].tx.bytes;
	for (size_t i = 0; i < row->per_channel.n; i++)
		json_object_set_new(json_array_get(channels, i), "width",
				    json_real(100 * (double)row->per_channel.at[i].tx.bytes /
					      (double)most));
}

/* "filled": what the columns of its tables show. */
static void
add_filled(json_t *json)
{
	static const char *const lists[] = { "rows", "nics", "gpus", "topology" };
	static const char *const parts[] = { "per_channel", "threads" };
	const json_t *subject = json_object_get(json, "subject");
	json_t *out = json_object();

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		json_object_set_new(out, lists[i], filled(json_object_get(json, lists[i])));
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		json_object_set_new(out, parts[i], filled(json_object_get(subject, parts[i])));
	json_object_set_new(json, "filled", out);
}

/* The record as its file has it, its subject, and the text of the file. */
static json_t *
record_json(const struct result *r, size_t index)
{
	json_t *json = shape_json(&result_shape, r), *subject = json_null();
	const struct row *row = result_subject(r);
	json_t *rows = json_object_get(json, "rows"), *one;
	size_t i;
	char letter[] = { (char)('A' + index), '\0' }, *text = result_text(r);

	json_array_foreach(rows, i, one)
		drop_percentiles(one);
	if (row) {
		subject = json_array_get(rows, (size_t)(row - r->rows.at));
		add_widths(json_object_get(subject, "per_channel"), row);
	}
	template_add(json, json_pack("{s:O, s:i, s:s, s:s}", "subject", subject, "index", (int)index,
				     "letter", letter, "json", text ? text : ""));
	add_filled(json);
	free(text);
	return json;
}

static void
add_verdict(json_t *page, const struct page *p)
{
	const struct result *r = &p->results[0];
	static const struct row nothing;
	const struct row *row = p->row ? p->row : &nothing;
	char title[512], stop[512], limit[256] = "", check[256];
	char congestion[256];
	bool checked = result_is_whole(r), in_part = false;

	for (size_t i = 0; i < r->rows.n; i++) {
		checked &= r->rows.at[i].checked;
		in_part |= r->rows.at[i].checked || r->rows.at[i].compared > 0;
	}
	out_verdict_stop(r, stop, sizeof(stop));
	if (p->row) {
		out_verdict_speed(p->row, title, sizeof(title));
		out_verdict_limit(r, p->row, limit, sizeof(limit));
	}
	if (stop[0])
		memcpy(title, stop, sizeof(title));
	out_verdict_check(r, check, sizeof(check));
	out_verdict_congestion(row, congestion, sizeof(congestion));
	template_add(page, json_pack("{s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:b, s:b}",
				     "congestion_told", out_json(congestion),
				     "title", out_json(title), "limit", out_json(limit),
				     "check", out_json(check), "checked_all", checked,
				     "in_part", in_part,
				     "right", result_is_right(r) && !result_copied_nothing(r) &&
				     !r->failed.code[0], "several", p->n > 1,
				     "lat", p->row && row_is_latency(p->row),
				     "shares", row_has_shares(row)));
}

static json_t *
page_json(const struct page *p)
{
	json_t *records = json_array(), *page;

	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(records, record_json(&p->results[i], i));
	page = json_copy(json_array_get(records, 0));
	json_object_set_new(page, "records", records);
	json_object_set_new(page, "made_by", json_string(TCPX_VERSION));
	if (p->results[0].mesh.n)
		add_mesh(page, &p->results[0]);
	else
		add_verdict(page, p);
	if (p->row && p->n > 1)
		compare_add(page, p->results, p->n);
	return page;
}

/* A mesh stands alone: it has no rows to compare with. */
static int
look_for_mesh(const struct result *results, size_t n, const char *path)
{
	for (size_t i = 0; n > 1 && i < n; i++)
		if (results[i].mesh.n)
			return tcpx_fail(TCPX_SUB_TOOL, -EINVAL, "report %s: record %zu is of a mesh,"
					 " which is not compared with others", path, i + 1);
	return 0;
}

int
report_write(const struct result *results, size_t n, const char *path)
{
	bool mesh = n && results[0].mesh.n;
	const struct page page = { results, n, n && !mesh ? result_subject(&results[0]) : NULL };
	const struct template template = { report_html, false };
	int rc = look_for_mesh(results, n, path);
	json_t *json;

	if (rc)
		return rc;
	if (!n || (!page.row && !mesh && result_is_whole(&results[0])))
		return tcpx_fail(TCPX_SUB_TOOL, -EINVAL, "report %s: the first record has no rows",
				 path);
	json = page_json(&page);
	rc = template_write(&template, json, path);
	json_decref(json);
	return rc;
}
