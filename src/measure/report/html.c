/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report's page: a headline that says it all, pictures, tables, and the data again
 * as JSON for machines. One script runs in it, by its hash in the policy: hover and zoom.
 */
#include "measure/report/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "measure/report/html_parts.h"
#include "measure/mesh/mesh_result.h"
#include "tool/out_text.h"
#include "measure/report/out_verdict.h"
#include "measure/report/result.h"
#include "measure/report/svg_plot.h"

void
html_open(FILE *f, const char *title, const char *more)
{
	fputs(html_page[0], f);
	out_escape(f, title);
	fputs(html_page[1], f);
	fputs(more, f);
	fputs(html_page[2], f);
}

static void
page_head(FILE *f, const struct result *r, const char *title)
{
	html_open(f, title, "");
	html_el(f, "p", "eyebrow", "tcpx %s \u00b7 %s to %s \u00b7 %s", r->version, r->machine.host,
		r->peer, r->started);
	fputc('\n', f);
}

/* ---- cards ----------------------------------------------------------------------- */

static void
card(FILE *f, const char *css, const char *name, const char *figure, const char *unit,
     const char *under)
{
	fputs("<div>", f);
	html_el(f, "dt", NULL, "%s", name);
	fprintf(f, "<dd class=\"%s\">", css);
	out_escape(f, figure);
	fputc(' ', f);
	html_el(f, "small", NULL, "%s", unit);
	fputs("</dd>", f);
	html_el(f, "dd", "under", "%s", under);
	fputs("</div>\n", f);
}

static void
speed_card(FILE *f, const struct row *row)
{
	char figure[OUT_QUANTITY], time[OUT_QUANTITY], p99[OUT_QUANTITY], under[96];

	if (row_is_latency(row)) {
		snprintf(under, sizeof(under), "median; p99 %s",
			 out_time(row->half_rtt_us.p99, time));
		card(f, "", "half a round trip", out_digits(row->half_rtt_us.p50, figure),
		     "\u00b5s", under);
		return;
	}
	snprintf(under, sizeof(under), "a transfer takes %s; p99 %s",
		 out_time(row->time_us.p50, time), out_time(row->time_us.p99, p99));
	card(f, "", "bandwidth", out_digits(row->busbw_GBps, figure), "GB/s", under);
}

static void
ratio_card(FILE *f, const struct row *row)
{
	char figure[OUT_QUANTITY], under[96] = "";

	if (!isfinite(row->ratio))
		return;
	snprintf(figure, sizeof(figure), "%.3f", row->ratio);
	if (isfinite(row->ratio_ci.lo))
		snprintf(under, sizeof(under), "%.3f to %.3f, %zu pairs", row->ratio_ci.lo,
			 row->ratio_ci.hi, row->pairs.n);
	card(f, "", "speed, raw sockets = 1", figure, "", under);
}

static void
path_card(FILE *f, const struct row *row)
{
	char figure[OUT_QUANTITY], path[OUT_QUANTITY], under[96];

	if (!isfinite(row->path_fraction))
		return;
	snprintf(figure, sizeof(figure), "%.1f", 100 * row->path_fraction);
	snprintf(under, sizeof(under), "their copies alone: %s GB/s a direction",
		 out_digits(row->path_GBps, path));
	card(f, "", "of what the GPUs carry", figure, "%", under);
}

static void
check_card(FILE *f, const struct result *r)
{
	char text[128];
	bool checked = true;

	for (size_t i = 0; i < r->rows.n; i++)
		checked &= r->rows.at[i].checked;
	out_verdict_check(r, text, sizeof(text));
	if (!result_is_right(r) || result_copied_nothing(r))
		card(f, "bad", "verification", "failed", "", text);
	else if (!checked)
		card(f, "warn", "verification", "none", "", text);
	else
		card(f, "good", "verification", "passed", "", "every byte compared");
}

static void
cpu_card(FILE *f, const struct row *row)
{
	char figure[OUT_QUANTITY], base[OUT_QUANTITY], under[96] = "both ends together";

	if (!isfinite(row->cpu_s_per_GB) || row_is_latency(row))
		return;
	if (isfinite(row->baseline_cpu_s_per_GB))
		snprintf(under, sizeof(under), "raw sockets %s",
			 out_digits(row->baseline_cpu_s_per_GB, base));
	card(f, "", "CPU seconds", out_digits(row->cpu_s_per_GB, figure), "per GB", under);
}

static void
headline(FILE *f, const struct result *r, const struct row *row)
{
	char text[256];

	out_verdict_speed(row, text, sizeof(text));
	html_el(f, "h1", NULL, "%s", text);
	out_verdict_limit(r, row, text, sizeof(text));
	fputs("\n<p class=\"lead\">", f);
	out_escape(f, text);
	fputc(' ', f);
	out_verdict_check(r, text, sizeof(text));
	html_el(f, "b", result_is_right(r) && !result_copied_nothing(r) ? "good" : "bad", "%s", text);
	fputs("</p>\n", f);
	if (r->placement[0])
		html_el(f, "p", "lead", "The threads that measure, %s.", r->placement);
	if (r->note) {
		fputs("<p class=\"lead\">", f);
		html_el(f, "b", "warn", "%s", r->note);
		fputs("</p>\n", f);
	}
	fputs("<dl class=\"cards\">\n", f);
	speed_card(f, row);
	ratio_card(f, row);
	path_card(f, row);
	check_card(f, r);
	cpu_card(f, row);
	fputs("</dl>\n", f);
}

/* ---- sections -------------------------------------------------------------------- */

static void
section(FILE *f, const char *title, const char *hint)
{
	fputs("<section>\n", f);
	html_el(f, "h2", NULL, "%s", title);
	html_el(f, "p", "hint", "%s", hint);
	fputs("\n<figure>\n", f);
}

static void
section_end(FILE *f)
{
	fputs("</figure>\n</section>\n", f);
}

static void
curve_section(FILE *f, const struct result *results, size_t n, bool lat)
{
	if (n > 1)
		section(f, lat ? "Latency over size" : "Bandwidth over size",
			"One line a record; dashed, the raw sockets of the same run.");
	else
		section(f, lat ? "Latency over size" : "Bandwidth over size",
			"The band reaches from the fastest iteration to the 99th percentile; "
			"dashed, raw sockets on the same pages, with as many connections and "
			"threads, without protocol or check.");
	svg_curve(f, results, n);
	if (n > 1)
		html_legend(f, results, n);
	section_end(f);
}

static void
pictures(FILE *f, const struct result *r, const struct row *row)
{
	if (row->pairs.n > 1) {
		section(f, "Against raw sockets",
			"Each pair ran both back to back, in turn; a dot is the speed of ours "
			"over that of raw sockets. The band holds the median at 95 %.");
		svg_pairs(f, row);
		section_end(f);
	}
	if (row->histogram.n) {
		section(f, "Every round trip",
			"Half round trips of the largest size, on a logarithmic scale.");
		svg_histogram(f, row);
		section_end(f);
	}
	if (row_has_shares(row)) {
		section(f, "Share per NIC", "Payload of the largest size in its timed part.");
		svg_shares(f, row);
		section_end(f);
	}
	if (row->stage_us.wire + row->stage_us.ack > 0) {
		section(f, "Where the time went",
			"Of the mean chunk. Queue: ready until a channel took it. Wire: until the "
			"kernel had all of it. Unpack: landed until in place. Ack: the rest until "
			"acknowledged.");
		svg_stages(f, r);
		section_end(f);
	}
}

static void
tables(FILE *f, const struct result *results, size_t n, const struct row *row)
{
	section(f, "Figures",
		"GB is 10^9 bytes; sizes are powers of two. The ratio is the median of paired "
		"runs, with the interval that holds it at 95 %.");
	for (size_t i = 0; i < n; i++) {
		if (n > 1 && i < SVG_SERIES_MAX)
			html_key(f, i);
		if (n > 1)
			html_el(f, "code", NULL, "%s", results[i].command);
		html_rows(f, &results[i]);
	}
	section_end(f);
	if (row->per_channel.n && row_has_shares(row)) {
		section(f, "Channels",
			"Of the largest size. A stall is a moment when a channel had work "
			"but the wire or the peer would not take it.");
		html_channels(f, row);
		section_end(f);
	}
	if (row->threads.n) {
		section(f, "Threads",
			"CPUs asked for, what the kernel granted, and where they were seen.");
		html_threads(f, row);
		section_end(f);
	}
}

static void
page_foot(FILE *f, const struct result *results, size_t n)
{
	section(f, "Machine",
		"Where this was measured, and with which settings; those not at their "
		"default are bold.");
	html_machine(f, &results[0]);
	section_end(f);
	section(f, "Again", "The command that made this record.");
	html_el(f, "pre", NULL, "%s", results[0].command);
	section_end(f);
	html_el(f, "footer", NULL,
		"Made by tcpx %s. This file needs nothing else; the records are in it "
		"as JSON.",
		TCPX_VERSION);
	fputs("\n</main>\n", f);
	for (size_t i = 0; i < n; i++) {
		char *json = result_text(&results[i]);

		fprintf(f, "<script type=\"application/json\" id=\"result-%zu\">\n", i);
		if (json)
			out_script_json(f, json);
		fputs("\n</script>\n", f);
		free(json);
	}
	fputs("</body>\n</html>\n", f);
}

static void
page(FILE *f, const struct result *results, size_t n, const struct row *row)
{
	char title[128];

	out_verdict_speed(row, title, sizeof(title));
	page_head(f, &results[0], title);
	headline(f, &results[0], row);
	if (n > 1 || results[0].rows.n > 1)
		curve_section(f, results, n, row_is_latency(row));
	pictures(f, &results[0], row);
	tables(f, results, n, row);
	page_foot(f, results, n);
}

static void
mesh_page(FILE *f, const struct result *r)
{
	char title[128];

	page_head(f, r, mesh_headline(&r->mesh.at[0], title, sizeof(title)));
	html_mesh(f, r);
	page_foot(f, r, 1);
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
	const struct row *row = n ? result_subject(&results[0]) : NULL;
	bool to_stdout = !strcmp(path, "-"), failed, mesh = n && results[0].mesh.n;
	FILE *f;
	int rc = look_for_mesh(results, n, path);

	if (rc)
		return rc;
	if (!row && !mesh)
		return tcpx_fail(TCPX_SUB_TOOL, -EINVAL, "report %s: the first record has no rows",
				 path);
	f = to_stdout ? stdout : fopen(path, "we");
	if (!f)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "write report %s", path);
	if (mesh)
		mesh_page(f, &results[0]);
	else
		page(f, results, n, row);
	failed = ferror(f) != 0;
	failed |= (to_stdout ? fflush(f) : fclose(f)) != 0;
	if (failed)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "write report %s", path);
	return 0;
}
