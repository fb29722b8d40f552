/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole reports: every picture is well-formed, and no text of a
 * record can become markup or script.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "result_sample.h"
#include "measure/report/html.h"
#include "measure/report/html_compare.h"
#include "tool/out_text.h"
#include "measure/report/result.h"
#include "measure/report/result_fields.h"
#include "measure/report/svg.h"
#include "measure/report/svg_plot.h"
#include "tool/tool.h"

/* ---- well-formed ----------------------------------------------------------------- */

/* Behind the tag at @s; with its name in @name. NULL: no end, or a bare < & inside. */
static const char *
read_tag(const char *s, char *name, size_t cap)
{
	size_t slash = s[1] == '/', len = slash + strcspn(s + 1 + slash, " \n/>");
	char quote = '\0';

	if (len == 0 || len >= cap)
		return NULL;
	memcpy(name, s + 1, len);
	name[len] = '\0';
	for (s += 1 + len; *s; s++) {
		if (quote && *s == quote)
			quote = '\0';
		else if (!quote && (*s == '"' || *s == '\''))
			quote = *s;
		else if (!quote && *s == '>')
			return s + 1;
		else if (*s == '<')
			return NULL;
	}
	return NULL;
}

/* Elements are closed in order, and & begins an entity. Enough of XML for our pictures. */
static bool
is_well_formed(const char *s, const char *end)
{
	char open[32][16], name[16];
	size_t depth = 0;

	while (s < end) {
		const char *tag = s;

		if (*s == '&' && !memchr(s, ';', strlen(s) < 7 ? strlen(s) : 7))
			return false;
		if (*s != '<') {
			s++;
			continue;
		}
		s = read_tag(s, name, sizeof(name));
		if (!s)
			return false;
		if (name[0] == '/') {
			if (!depth || strcmp(open[--depth], name + 1))
				return false;
		} else if (s[-2] != '/') {
			if (depth == ARRAY_LEN(open) || tag >= end)
				return false;
			strcpy(open[depth++], name);
		}
	}
	return depth == 0;
}

static void
the_check_itself_sees_what_is_not_well_formed(void **state)
{
	static const struct { const char *text; bool good; } cases[] = {
		{ "<a><b x=\"1\"/>t &lt; </a>", true }, { "<a>", false }, { "<a></b>", false },
		{ "<a><b></a></b>", false }, { "<a>& </a>", false }, { "<a x=\"<\"/>", false },
		{ "<a x=\"1>", false }, { "</a>", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(
			is_well_formed(cases[i].text, cases[i].text + strlen(cases[i].text)),
			cases[i].good);
}

/* The report about @n records as text, to be freed. */
static char *
report_text(const struct result *results, size_t n)
{
	char path[] = "/tmp/tcpx-report-XXXXXX", *text = NULL;
	int fd = mkstemp(path);
	size_t room = 0;
	FILE *f;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(report_write(results, n, path), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(getdelim(&text, &room, '\0', f) > 0);
	fclose(f);
	unlink(path);
	return text;
}

/* How many pictures @html has, all of them well-formed and without nonsense numbers. */
static size_t
count_pictures(const char *html)
{
	size_t count = 0;

	for (const char *s = html; (s = strstr(s, "<svg ")); count++) {
		const char *end = strstr(s, "</svg>");

		assert_non_null(end);
		end += strlen("</svg>");
		if (!is_well_formed(s, end))
			fail_msg("not well-formed: %.*s", (int)(end - s), s);
		assert_null(memmem(s, (size_t)(end - s), "\"nan\"", 5));
		assert_null(memmem(s, (size_t)(end - s), "\"inf\"", 5));
		assert_null(memmem(s, (size_t)(end - s), "\"-nan\"", 6));
		s = end;
	}
	return count;
}

static void
a_report_has_its_pictures_and_its_data(void **state)
{
	struct result r, back;
	char *html, *json, *from;

	sample_result(&r);
	sample_row(&r, 1 << 20);
	sample_row(&r, 1 << 26);
	html = report_text(&r, 1);
	/* curve, rate, CPU, pairs, shares, stages: for a screen and for a phone */
	assert_int_equal(count_pictures(html), 2 * 6);
	assert_non_null(strstr(html, "1.00 to 2.00 s: 0 GB/s"));
	assert_non_null(strstr(html, "64 MiB write from host to cuda:1 at 5.25 GB/s over 2 NICs"));
	assert_null(strstr(html, "http://") ? strstr(html, "src=") : NULL);

	from = strstr(html, "id=\"result-0\">");
	assert_non_null(from);
	from += strlen("id=\"result-0\">");
	assert_int_equal(
		result_parse(from, (size_t)(strstr(from, "</script>") - from), "html", &back), 0);
	json = result_text(&back);
	free(html);
	html = result_text(&r);
	assert_string_equal(json, html);
	free(json);
	free(html);
	result_fini(&back);
	result_fini(&r);
}

static void
a_latency_report_has_a_histogram(void **state)
{
	struct result r;
	char *html;

	sample_result(&r);
	sample_latency_row(&r);
	html = report_text(&r, 1);
	assert_int_equal(count_pictures(html), 2 * 4); /* histogram instead of the curve */
	assert_non_null(strstr(html, "Histogram of half round trips"));
	free(html);
	result_fini(&r);
}

/* A text whose middle stood at a tick beside an edge would be cut there. */
static void
ticks_at_an_edge_are_whole(void **state)
{
	static const struct { double first, last; const char *text; } cases[] = {
		{ 1095, 2000, "<text class=\"tick\" " }, { 1300, 1825, "<text class=\"tick end\" " },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct row_bucket bucket[] = { { cases[i].first, 5 }, { cases[i].last, 5 } };
		struct row row = { .op = "write", .half_rtt_us.p50 = NAN, .histogram = { bucket, 2 } };
		char text[32768] = "";
		FILE *f = fmemopen(text, sizeof(text), "w");

		svg_histogram(f, SVG_NARROW, &row);
		fclose(f);
		assert_non_null(strstr(text, cases[i].text));
	}
}

static void
several_records_are_compared_in_one_plot(void **state)
{
	struct result r[2];
	char *html;

	for (size_t i = 0; i < 2; i++) {
		sample_result(&r[i]);
		sample_row(&r[i], 1 << 20)->busbw_GBps = 2;
		sample_row(&r[i], 1 << 26);
	}
	SET(r[1].machine.host, "gamma");
	html = report_text(r, 2);
	count_pictures(html);
	assert_non_null(strstr(html, "line s0"));
	assert_non_null(strstr(html, "line s1"));
	assert_non_null(strstr(html, "<td class=\"w\">gamma</td>"));
	assert_non_null(strstr(html, "id=\"result-1\""));
	free(html);
	for (size_t i = 0; i < 2; i++)
		result_fini(&r[i]);
}

/* Two records of a case, B's blocks taking @times as long. */
static void
sample_two(struct result r[2], double times)
{
	for (size_t i = 0; i < 2; i++) {
		struct row *row;

		sample_result(&r[i]);
		row = sample_row(&r[i], 1 << 26);
		for (size_t k = 0; k < row->pairs.n; k++)
			row->pairs.at[k].ours_us = (1000 + 40 * (double)k) * (i ? times : 1);
	}
	r[1].rows.at[0].busbw_GBps /= times;
}

static void
a_difference_stands_in_title_and_card_with_its_interval(void **state)
{
	struct result r[2];
	char *html;

	sample_two(r, 1.5);
	result_add_setting(&r[1], "TCPX_WINDOW", "64", "environment");
	html = report_text(r, 2);
	assert_non_null(strstr(html, "<h1>64 MiB write: A 5.25 GB/s, B 3.50 GB/s, \u221233\u00a0% "
				     "(\u221239\u00a0% to \u221227\u00a0% at 95 %)</h1>"));
	assert_non_null(strstr(html, "<b class=\"bad\">\u221233\u00a0%</b>"));
	assert_non_null(strstr(html, "<td class=\"mono\">TCPX_WINDOW</td><td class=\"w\">\u2013</td>"
				     "<td class=\"w\">64</td>"));
	assert_null(strstr(html, "<td class=\"mono\">TCPX_CHUNK</td><td class=\"w\">512K"));
	free(html);
	for (size_t i = 0; i < 2; i++)
		result_fini(&r[i]);
}

static void
a_difference_within_its_interval_is_none(void **state)
{
	struct result r[2];
	struct change c;
	char *html;

	sample_two(r, 1);
	r[1].rows.at[0].busbw_GBps = 2; /* the figure alone claims nothing */
	c = compare_rows(&r[0].rows.at[0], &r[1].rows.at[0]);
	assert_true(c.lo < 0 && c.hi > 0);
	html = report_text(r, 2);
	assert_non_null(strstr(html, "no difference shown"));
	assert_null(strstr(html, "class=\"bad\""));
	free(html);
	r[1].rows.at[0].pairs.n = 5; /* too few */
	c = compare_rows(&r[0].rows.at[0], &r[1].rows.at[0]);
	assert_float_equal(c.mean, 2 / 5.25 - 1, 1e-9);
	assert_true(isnan(c.lo) && isnan(c.hi));
	for (size_t i = 0; i < 2; i++)
		result_fini(&r[i]);
}

static void
a_table_has_no_column_without_a_figure(void **state)
{
	struct result r;
	struct row *row;
	char *html;

	sample_result(&r);
	sample_row(&r, 1 << 20);
	html = report_text(&r, 1);
	assert_non_null(strstr(html, "of path, %"));
	assert_non_null(strstr(html, ">not copied<"));
	assert_null(strstr(html, ">p99<")); /* 20 iterations have no 99th percentile */
	free(html);
	row = &r.rows.at[0];
	row->path_fraction = row->ratio_ci.lo = row->ratio_ci.hi = NAN;
	row->iters = ROW_P99_ITERS;
	for (size_t i = 0; i < row->per_channel.n; i++)
		row->per_channel.at[i].tx.lent_bytes = 0;
	html = report_text(&r, 1);
	assert_null(strstr(html, "of path, %"));
	assert_null(strstr(html, ">not copied<"));
	assert_null(strstr(html, ">95 %<"));
	assert_non_null(strstr(html, ">p99<"));
	assert_null(strstr(html, ">p99.9<"));
	free(html);
	result_fini(&r);
}

static void
the_band_of_latencies_reaches_the_slowest(void **state)
{
	struct result r;
	struct row *row;
	double x, y;
	char *html, *band;

	sample_result(&r);
	sample_latency_row(&r);
	row = sample_latency_row(&r);
	row->size = 4096;
	row->half_rtt_us.p99 = 50 * row->half_rtt_us.p50;
	html = report_text(&r, 1);
	band = strstr(html, "<polygon class=\"band\" points=\"");
	assert_non_null(band);
	band = strchr(strstr(band, "points=\""), ' '); /* the second point is the largest size */
	assert_int_equal(sscanf(band, "%lf,%lf", &x, &y), 2);
	assert_true(y > 34); /* within the plot, whose top that is */
	assert_non_null(strstr(html, "log scale"));
	free(html);
	result_fini(&r);
}

#define SHORT "</script><b>\"'&<script>"
#define HOSTILE "</script><script>alert(1)</script>\"'&<!--"

/* Every text of the record becomes hostile, those that must be of a list apart. */
static void
spoil(const struct shape *shape, char *object)
{
	for (const struct field *d = shape->fields; d < shape->fields + shape->count; d++) {
		char *place = object + d->offset, *text;
		struct field_list list;

		if (d->type == FIELD_STRING && !d->words) {
			snprintf(place, d->room, "%s", d->room < 64 ? SHORT : HOSTILE "\x01\xff");
		} else if (d->type == FIELD_TEXT) {
			memcpy(&text, place, sizeof(text));
			free(text);
			text = strdup(HOSTILE "\x01\xff");
			memcpy(place, &text, sizeof(text));
		} else if (d->type == FIELD_OBJECT || d->type == FIELD_PART) {
			spoil(d->shape, place);
		} else if (d->type == FIELD_LIST) {
			list = field_list_of(d, object);
			for (size_t i = 0; i < list.n; i++)
				spoil(d->shape, list.at + i * d->shape->bytes);
		}
	}
}

static void
check_hostile(const struct result *r, size_t n)
{
	char *html = report_text(r, n);
	const char *body = strstr(html, "</head>"); /* our own script is above */
	size_t scripts = 0;

	count_pictures(html);
	assert_non_null(body);
	assert_null(strstr(body, "<script>"));
	assert_null(strstr(html, "<!--"));
	assert_null(strstr(html, "<b>"));
	assert_null(strchr(html, '\x01'));
	assert_null(strchr(html, '\xff'));
	for (const char *s = body; (s = strstr(s, "</script")); s++)
		scripts++;
	assert_int_equal(scripts, n); /* the ends of the data */
	free(html);
}

static void
no_text_of_a_record_becomes_markup(void **state)
{
	struct result r[2];

	for (size_t i = 0; i < 2; i++) {
		sample_result(&r[i]);
		sample_row(&r[i], 1 << 26);
		spoil(&result_shape, (char *)&r[i]);
	}
	check_hostile(r, 1);
	check_hostile(r, 2);
	for (size_t i = 0; i < 2; i++)
		result_fini(&r[i]);
}

static void
no_text_of_a_mesh_becomes_markup(void **state)
{
	struct result_mesh *mesh;
	struct result r;

	sample_result(&r);
	mesh = LIST_ADD(&r.mesh);
	for (unsigned i = 0; i < 2; i++) {
		LIST_ADD(&mesh->ranks)->rank = i;
		*LIST_ADD(&mesh->pairs) = (struct result_mesh_pair){ .from = i, .to = 1 - i,
								     .GBps = 1, .failed = i };
	}
	spoil(&result_shape, (char *)&r);
	check_hostile(&r, 1);
	result_fini(&r);
}

static void
extreme_figures_still_draw(void **state)
{
	static const double extremes[] = { 0, 1e-300, 1e-3, 1, 1e300 };
	struct result r;

	sample_result(&r);
	for (size_t i = 0; i < ARRAY_LEN(extremes); i++) {
		double v = extremes[i];
		struct row *row = sample_latency_row(&r);
		char *html;

		row->size = i ? UINT64_MAX >> i : 0;
		row->busbw_GBps = row->baseline_GBps = row->ratio = v;
		row->time_us = row->half_rtt_us = (struct row_time){ v, v, v, v, v, v, v };
		row->stage_us = (struct row_stage){ v, v, v, v };
		row->per_nic.at[0].share = v;
		row->pairs.at[0].ratio = v;
		row->histogram.at[0] = (struct row_bucket){ v, UINT64_MAX };
		html = report_text(&r, 1);
		count_pictures(html);
		free(html);
		for (size_t k = 0; k < r.rows.n; k++) /* the same without latency */
			r.rows.at[k].half_rtt_us.p50 = NAN;
		html = report_text(&r, 1);
		count_pictures(html);
		free(html);
	}
	result_fini(&r);
}

static void
quiet(void *arg, int level, const char *line)
{
}

static void
a_report_about_nothing_or_to_nowhere_is_refused(void **state)
{
	struct result r;

	sample_result(&r);
	tcpx_log_sink(quiet, NULL);
	assert_int_not_equal(report_write(&r, 1, "/dev/null"), 0);
	assert_int_not_equal(report_write(&r, 0, "/dev/null"), 0);
	sample_row(&r, 1 << 20);
	assert_int_not_equal(report_write(&r, 1, "/nonexistent/report.html"), 0);
	assert_int_not_equal(report_write(&r, 1, "/dev/full"), 0);
	tcpx_log_sink(NULL, NULL);
	result_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_check_itself_sees_what_is_not_well_formed),
		cmocka_unit_test(a_report_has_its_pictures_and_its_data),
		cmocka_unit_test(a_latency_report_has_a_histogram),
		cmocka_unit_test(ticks_at_an_edge_are_whole),
		cmocka_unit_test(several_records_are_compared_in_one_plot),
		cmocka_unit_test(a_difference_stands_in_title_and_card_with_its_interval),
		cmocka_unit_test(a_difference_within_its_interval_is_none),
		cmocka_unit_test(a_table_has_no_column_without_a_figure),
		cmocka_unit_test(the_band_of_latencies_reaches_the_slowest),
		cmocka_unit_test(no_text_of_a_record_becomes_markup),
		cmocka_unit_test(no_text_of_a_mesh_becomes_markup),
		cmocka_unit_test(extreme_figures_still_draw),
		cmocka_unit_test(a_report_about_nothing_or_to_nowhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
