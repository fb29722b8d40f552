/* SPDX-License-Identifier: Apache-2.0 */
/* A row becomes a run of iperf3: its figures have the names and units of iperf3. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "result_sample.h"
#include "measure/report/out.h"
#include "tool/tool.h"

#define BYTES (20.0 * (1 << 26))
#define HERE_S (BYTES / 5.25e9)
#define THERE_S (BYTES / 5.2e9)
#define CPU "end/cpu_utilization_percent/"

/* Returns a new reference. */
static json_t *
document_of(const struct result *r)
{
	const struct out_view view = { .width = 80 };
	char *text;
	json_t *doc;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	out_all(f, OUT_IPERF3, r, &view);
	fclose(f);
	doc = json_loads(text, 0, NULL);
	assert_non_null(doc);
	free(text);
	return doc;
}

/* Finds the member at @path, "end/sum_sent/bytes"; NULL: there is none. */
static const json_t *
member(const json_t *at, const char *path)
{
	char copy[128], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", path);
	while (at && (name = strsep(&rest, "/")))
		at = json_is_array(at) ? json_array_get(at, (size_t)atoi(name)) :
					 json_object_get(at, name);
	return at;
}

static void
figure_is(const char *row, const json_t *doc, const char *path, double want)
{
	double got = json_number_value(member(doc, path));

	if (!json_is_number(member(doc, path)) || !(fabs(got - want) <= 1e-6 * fabs(want)))
		fail_msg("%s: %s is %.9g, want %.9g", row, path, got, want);
}

static const struct {
	const char *op, *dir;
	double client, server; /* % of a CPU */
	double sent_s, received_s;
} rows[] = {
	/* 0.15 and 0.2 s of CPUs for a GB; 5.25 GB are moved each second, or twice that */
	{ "write", "uni", 78.75, 105, HERE_S, THERE_S },
	{ "read", "uni", 78.75, 105, THERE_S, HERE_S },
	{ "sendrecv", "bi", 157.5, 210, HERE_S, THERE_S },
};

static void
sides_have_their_own_cpus_and_clocks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *name = rows[i].op;
		struct result r;
		struct row *row;
		json_t *doc;

		sample_result(&r);
		row = sample_row(&r, 1 << 26);
		SET(row->op, rows[i].op);
		SET(row->dir, rows[i].dir);
		doc = document_of(&r);
		figure_is(name, doc, CPU "host_total", rows[i].client);
		figure_is(name, doc, CPU "remote_total", rows[i].server);
		figure_is(name, doc, "end/sum_sent/bytes", BYTES);
		figure_is(name, doc, "end/sum_sent/seconds", rows[i].sent_s);
		figure_is(name, doc, "end/sum_sent/bits_per_second",
			  8 * BYTES / rows[i].sent_s);
		figure_is(name, doc, "end/sum_received/seconds", rows[i].received_s);
		figure_is(name, doc, "end/sum_received/bits_per_second",
			  8 * BYTES / rows[i].received_s);
		assert_int_equal(json_is_true(member(doc, "end/sum_sent/sender")),
				 strcmp(name, "read") != 0);
		assert_int_equal(member(doc, "end/sum_sent_bidir_reverse") != NULL,
				 !strcmp(rows[i].dir, "bi"));
		if (!strcmp(rows[i].dir, "bi")) {
			figure_is(name, doc, "end/sum_sent_bidir_reverse/seconds", THERE_S);
			figure_is(name, doc, "end/sum_received_bidir_reverse/seconds", HERE_S);
		}
		json_decref(doc);
		result_fini(&r);
	}
}

static void
streams_are_channels_with_their_retransmits(void **state)
{
	struct result r;
	struct row *row;
	json_t *doc;

	(void)state;
	sample_result(&r);
	row = sample_row(&r, 1 << 26);
	row->per_channel.at[1].tx.retransmits = 4;
	row->per_nic.at[0].retransmits = 2;
	row->per_nic.at[1].retransmits = 5;
	doc = document_of(&r);
	figure_is("all", doc, "end/sum_sent/retransmits", 7);
	figure_is("first", doc, "end/streams/0/sender/bytes", 1006632960);
	figure_is("second", doc, "end/streams/1/sender/bytes", 335544320);
	figure_is("second", doc, "end/streams/1/sender/retransmits", 4);
	figure_is("second", doc, "end/streams/1/sender/socket", 1);
	figure_is("second", doc, "end/streams/1/sender/seconds", HERE_S);
	figure_is("second", doc, "end/streams/1/receiver/seconds", THERE_S);
	assert_string_equal(json_string_value(member(doc, "start/connected/1/local_host")),
			    "10.1.0.1");
	figure_is("stall", doc, "intervals/1/sum/bytes", 0);
	figure_is("stall", doc, "intervals/1/sum/start", 1);
	figure_is("last", doc, "intervals/2/sum/bits_per_second", 42e9);
	json_decref(doc);
	result_fini(&r);
}

static void
what_was_not_measured_is_left_out(void **state)
{
	struct result r;
	struct row *row;
	json_t *doc;

	(void)state;
	sample_result(&r);
	row = sample_row(&r, 1 << 26);
	row->cpu_s_per_GB = row->client_cpu_s_per_GB = row->server_cpu_s_per_GB = NAN;
	row->peer_algbw_GBps = NAN;
	doc = document_of(&r);
	assert_null(member(doc, "end/cpu_utilization_percent"));
	assert_null(member(doc, "end/sender_tcp_congestion"));
	assert_null(member(doc, "error"));
	figure_is("by our clock", doc, "end/sum_received/seconds", HERE_S);
	json_decref(doc);
	result_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sides_have_their_own_cpus_and_clocks),
		cmocka_unit_test(streams_are_channels_with_their_retransmits),
		cmocka_unit_test(what_was_not_measured_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
