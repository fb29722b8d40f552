/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report's page: report.html, filled from the first record as JSON, and a little beside
 * it that only the page needs. The pictures are drawn into their places.
 */
#include "measure/report/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "measure/report/out_verdict.h"
#include "measure/report/result.h"
#include "measure/report/result_fields.h"
#include "measure/report/svg_plot.h"
#include "tool/out_text.h"
#include "tool/template.h"

struct page {
	const struct result *results;
	size_t n;
	const struct row *row; /* the subject; NULL of a mesh */
};

static void
draw(FILE *f, const char *name, const void *arg)
{
	const struct page *p = arg;

	if (!strcmp(name, "curve"))
		svg_curve(f, p->results, p->n);
	else if (!strcmp(name, "pairs"))
		svg_pairs(f, p->row);
	else if (!strcmp(name, "histogram"))
		svg_histogram(f, p->row);
	else if (!strcmp(name, "shares"))
		svg_shares(f, p->row);
	else if (!strcmp(name, "stages"))
		svg_stages(f, p->results);
}

/* ---- a mesh ---------------------------------------------------------------------- */

/* The less of the median, the warmer. */
static json_t *
mesh_cell(const struct result_mesh *m, unsigned from, unsigned to)
{
	const struct result_mesh_pair *p = from == to ? NULL : mesh_pair(m, from, to);

	if (!p)
		return json_pack("{s:s, s:s}", "mark", "q", "text", from == to ? "" : "none");
	if (p->failed || p->wrong)
		return json_pack("{s:s, s:s}", "mark", "b bad", "text",
				 p->failed ? "failed" : "wrong");
	return json_pack("{s:s, s:f}", "mark", p->GBps < 0.8 * m->median_GBps ? "warn" : "",
			 "GBps", p->GBps);
}

static void
add_mesh(json_t *page, const struct result_mesh *m)
{
	json_t *grid = json_array();

	for (unsigned from = 0; from < m->ranks.n; from++) {
		json_t *cells = json_array();

		for (unsigned to = 0; to < m->ranks.n; to++)
			json_array_append_new(cells, mesh_cell(m, from, to));
		json_array_append_new(grid, json_pack("{s:i, s:o}", "from", (int)from, "cells",
						      cells));
	}
	template_add(page, json_pack("{s:o, s:O, s:b, s:o}", "grid", grid,
				     "mesh", json_array_get(json_object_get(page, "mesh"), 0),
				     "right", mesh_is_good(m), "title",
				     json_sprintf("%zu ranks: %.2f GB/s a pair, the worst "
						  "%.2f GB/s from %u to %u", m->ranks.n,
						  m->mean_GBps, m->worst_GBps, m->worst_from,
						  m->worst_to)));
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

/* The record as its file has it, its subject, and the text of the file. */
static json_t *
record_json(const struct result *r, size_t index)
{
	json_t *json = shape_json(&result_shape, r), *subject = json_null();
	const struct row *row = result_subject(r);
	char letter[] = { (char)('A' + index), '\0' }, *text = result_text(r);

	if (row) {
		subject = json_array_get(json_object_get(json, "rows"), (size_t)(row - r->rows.at));
		add_widths(json_object_get(subject, "per_channel"), row);
	}
	template_add(json, json_pack("{s:O, s:i, s:s, s:s}", "subject", subject, "index", (int)index,
				     "letter", letter, "json", text ? text : ""));
	free(text);
	return json;
}

static void
add_verdict(json_t *page, const struct page *p)
{
	const struct result *r = &p->results[0];
	static const struct row nothing;
	const struct row *row = p->row ? p->row : &nothing;
	const struct row_stage *stage = &row->stage_us;
	char title[512], stop[512], limit[256] = "", check[256];
	char congestion[256];
	bool checked = result_is_whole(r);

	for (size_t i = 0; i < r->rows.n; i++)
		checked &= r->rows.at[i].checked;
	out_verdict_stop(r, stop, sizeof(stop));
	if (p->row) {
		out_verdict_speed(p->row, title, sizeof(title));
		out_verdict_limit(r, p->row, limit, sizeof(limit));
	}
	if (stop[0])
		memcpy(title, stop, sizeof(title));
	out_verdict_check(r, check, sizeof(check));
	out_verdict_congestion(row, congestion, sizeof(congestion));
	template_add(page, json_pack("{s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:b, s:b, s:b}",
				     "congestion_told", out_json(congestion), "title", out_json(title), "limit", out_json(limit),
				     "check", out_json(check), "checked_all", checked,
				     "right", result_is_right(r) && !result_copied_nothing(r) &&
				     !r->failed.code[0],
				     "several", p->n > 1, "curve", p->row && (p->n > 1 || r->rows.n > 1),
				     "lat", p->row && row_is_latency(p->row), "shares", row_has_shares(row),
				     "stages", stage->wire + stage->ack > 0));
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
		add_mesh(page, &p->results[0].mesh.at[0]);
	else
		add_verdict(page, p);
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
	const struct template template = { report_html, false, draw, &page };
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
