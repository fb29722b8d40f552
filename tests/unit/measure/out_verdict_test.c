/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a row: what was moved, what bounds it, and how it compares. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "result_sample.h"
#include "measure/report/out_bound.h"
#include "measure/report/out_verdict.h"
#include "measure/report/result.h"
#include "tool/tool.h"

TEST(titles_say_what_was_moved)
{
	struct result r;
	struct row *row;
	char text[256];

	sample_result(&r);
	row = sample_row(&r, 10000 * 8192);
	row->ratio = row->path_fraction = NAN;
	SET(row->peer_mem, "host");
	row->descs = 10000;
	out_verdict_speed(row, text, sizeof(text));
	assert_string_equal(text, "10000 x 8 KiB pages, write at 5.25 GB/s over 2 NICs.");
	row->descs = 1;
	row->size = 1 << 20;
	SET(row->dir, "bi");
	row->algbw_GBps = 0.67;
	row->busbw_GBps = 1.34;
	out_verdict_speed(row, text, sizeof(text));
	assert_string_equal(text, "1 MiB bidirectional write: each way 0.670, both 1.34 GB/s over 2"
			    " NICs.");
	result_fini(&r);
}

TEST(a_bound_is_named_only_when_something_is_nearly_full)
{
	static const struct {
		struct bound_facts facts;
		const char *says;
	} cases[] = {
		{ { .line_fraction = NAN, .path_fraction = NAN, .busy = NAN, .sender_busy = NAN,
		    .receiver_busy = NAN }, "" },
		{ { .line_fraction = 0.84, .path_fraction = 0.5, .busy = 1, .cpus = 2,
		    .sender_busy = 0.5, .receiver_busy = 0.8, .sender_threads = 1,
		    .receiver_threads = 1, .in_flight = 8, .window = 16 }, "" },
		{ { .line_fraction = 0.88, .path_fraction = NAN, .busy = 2, .cpus = 2 },
		  "Bound by: wire (88 % of the NICs' rate). More: --nics." },
		{ { .line_fraction = NAN, .path_fraction = 0.9 },
		  "Bound by: GPU copies (90 % of what they carry alone)." },
		{ { .line_fraction = NAN, .path_fraction = NAN, .busy = 1.84, .cpus = 2,
		    .receiver_busy = 1, .receiver_threads = 1 },
		  "Bound by: CPUs (1.84 of 2 busy with both sides)." },
		{ { .line_fraction = NAN, .path_fraction = NAN, .busy = 1.5, .cpus = 16,
		    .sender_busy = 0.5, .receiver_busy = 0.97, .sender_threads = 1,
		    .receiver_threads = 1 },
		  "Bound by: receiver's CPU (0.970 busy, 1 I/O thread). More: --threads" },
		{ { .line_fraction = NAN, .path_fraction = NAN, .busy = NAN, .sender_busy = 1.9,
		    .receiver_busy = 1.8, .sender_threads = 2, .receiver_threads = 4 },
		  "Bound by: sender's CPU (1.90 busy, 2 I/O threads)." },
		{ { .line_fraction = NAN, .path_fraction = NAN, .busy = NAN, .sender_busy = NAN,
		    .receiver_busy = NAN, .in_flight = 15, .window = 16 },
		  "Bound by: window (15.0 of 16 messages of a channel wait" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[256];

		out_bound_text(&cases[i].facts, text, sizeof(text));
		if (cases[i].says[0] ? strncmp(text, cases[i].says, strlen(cases[i].says)) : text[0])
			fail_msg("%zu: %s", i, text);
	}
}

/* A read's sender is the server; the rate is that of the NICs that carried it. */
TEST(bounds_come_from_the_record)
{
	struct bound_facts f;
	struct result r;
	struct row *row;

	sample_result(&r);
	row = sample_row(&r, 1 << 26);
	f = bound_facts_of(&r, row);
	assert_true(isnan(f.line_fraction)); /* the rate of one NIC is not known */
	assert_float_equal(f.sender_busy, 0.15 * 5.25, 1e-9);
	SET(row->op, "read");
	r.nics.at[0].mbps = r.nics.at[1].mbps = 25000;
	f = bound_facts_of(&r, row);
	assert_float_equal(f.line_fraction, 42. / 50, 1e-9);
	assert_float_equal(f.receiver_busy, 0.15 * 5.25, 1e-9);
	assert_true(isnan(f.busy)); /* two machines */
	SET(r.role, "self");
	f = bound_facts_of(&r, row);
	assert_float_equal(f.busy, 0.35 * 5.25, 1e-9);
	row->iters = 7; /* 89 ms */
	f = bound_facts_of(&r, row);
	assert_true(isnan(f.busy) && isnan(f.sender_busy) && isnan(f.receiver_busy));
	result_fini(&r);
}

TEST(a_headline_claims_no_more_than_its_interval)
{
	static const struct {
		double ratio, lo, hi;
		size_t pairs;
		double share; /* of the first of two NICs */
		const char *text;
	} cases[] = {
		{ 0.925, 0.848, 0.992, 9, 0.5, ", 92.5 % of what raw sockets carry (84.8 to 99.2 %)" },
		{ 1.3, 1.1, 1.5, 9, 0.5, ", 130 % of what raw sockets carry (110 to 150 %)" },
		{ 1.2, 0.522, 1.552, 9, 0.5,
		  ", no difference to raw sockets shown (1.20, 0.522 to 1.55)" },
		{ 1, 1, 1, 9, 0.5, ", no difference to raw sockets shown (1.00, 1.00 to 1.00)" },
		{ 3.17, NAN, NAN, 5, 0.5, "; beside raw sockets in 5 pairs: too few for an interval" },
		{ 3.17, NAN, NAN, 1, 0.5, "; beside raw sockets in 1 pair: too few for an interval" },
		{ 3, 2, 4, 9, 0.7, ", 300 % of what raw sockets carry (200 to 400 %). Raw sockets "
		  "split evenly over NICs, so the slowest decides" },
		{ NAN, NAN, NAN, 0, 0.7, "" },
	};
	char text[256], want[256];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result r;
		struct row *row;

		sample_result(&r);
		row = sample_row(&r, 1 << 26);
		SET(row->peer_mem, "host");
		row->path_fraction = NAN;
		row->ratio = cases[i].ratio;
		row->ratio_ci = (struct row_interval){ cases[i].lo, cases[i].hi };
		row->pairs.n = cases[i].pairs < row->pairs.n ? cases[i].pairs : row->pairs.n;
		row->per_nic.at[0].share = cases[i].share;
		row->per_nic.at[1].share = 1 - cases[i].share;
		out_verdict_speed(row, text, sizeof(text));
		snprintf(want, sizeof(want), "64 MiB write at 5.25 GB/s over 2 NICs%s.",
			 cases[i].text);
		assert_string_equal(text, want);
		result_fini(&r);
	}
}

TEST(a_latency_claims_no_more_than_its_interval)
{
	static const struct { struct row_interval ci; const char *end; } cases[] = {
		{ { 0.5, 0.8 }, ", 1.25 times that of raw sockets (1.25 to 2.00)." },
		{ { 0.5, 1.25 }, ", no difference to raw sockets shown (1.25, 0.800 to 2.00)." },
		{ { NAN, NAN }, "; beside raw sockets in 7 pairs: too few for an interval." },
	};
	struct result r;
	struct row *row;
	char text[256];

	sample_result(&r);
	row = sample_latency_row(&r);
	row->path_fraction = NAN;
	row->ratio = 0.8;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		row->ratio_ci = cases[i].ci;
		out_verdict_speed(row, text, sizeof(text));
		assert_string_equal(text + strlen(text) - strlen(cases[i].end), cases[i].end);
	}
	result_fini(&r);
}
