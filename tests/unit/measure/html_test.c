/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reports; and that no text of a record can become markup or script. */
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
#include "measure/report/result.h"
#include "measure/report/result_fields.h"
#include "tool/tool.h"

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

static void
a_report_has_its_title_and_its_data(void **state)
{
	struct result r, back;
	char *html, *json, *from;

	sample_result(&r);
	sample_row(&r, 1 << 20);
	sample_row(&r, 1 << 26);
	html = report_text(&r, 1);
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
several_records_are_in_one_report(void **state)
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
extreme_figures_make_a_page(void **state)
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
		assert_null(strstr(html, ">nan<"));
		free(html);
		for (size_t k = 0; k < r.rows.n; k++) /* the same without latency */
			r.rows.at[k].half_rtt_us.p50 = NAN;
		html = report_text(&r, 1);
		assert_null(strstr(html, ">nan<"));
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
		cmocka_unit_test(a_report_has_its_title_and_its_data),
		cmocka_unit_test(several_records_are_in_one_report),
		cmocka_unit_test(a_difference_stands_in_title_and_card_with_its_interval),
		cmocka_unit_test(a_difference_within_its_interval_is_none),
		cmocka_unit_test(a_table_has_no_column_without_a_figure),
		cmocka_unit_test(no_text_of_a_record_becomes_markup),
		cmocka_unit_test(no_text_of_a_mesh_becomes_markup),
		cmocka_unit_test(extreme_figures_make_a_page),
		cmocka_unit_test(a_report_about_nothing_or_to_nowhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
