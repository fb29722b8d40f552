/* SPDX-License-Identifier: Apache-2.0 */
/* The series of a measurement, by a clock of the test's. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/perf/pace.h"

#define GB 1000000000ull

struct rig {
	struct row row;
	struct pace pace;
};

static struct pace *
begin(struct rig *r, uint64_t every_ns)
{
	*r = (struct rig){ .pace = { .row = &r->row, .size = GB, .every_ns = every_ns, .at = 1,
				     .of = 1 } };
	pace_begin(&r->pace, 100 * TCPX_SEC);
	r->pace.terminal = false; /* wherever the test runs */
	pace_run(&r->pace, 100 * TCPX_SEC);
	return &r->pace;
}

/* A look at @ms of the run, if one is due. */
static void
look(struct pace *p, uint64_t ms, uint64_t bytes)
{
	uint64_t now = 100 * TCPX_SEC + ms * TCPX_MS;

	if (pace_due(p, now))
		pace_look(p, now, bytes, 0.5);
}

static void
point_is(const struct rig *r, size_t i, double t_s, uint64_t bytes, double GBps)
{
	assert_true(i < r->row.series.n);
	assert_float_equal(r->row.series.at[i].t_s, t_s, 1e-9);
	assert_int_equal(r->row.series.at[i].bytes, bytes);
	assert_float_equal(r->row.series.at[i].GBps, GBps, 1e-9);
}

TEST(a_stall_is_a_point_without_bytes)
{
	struct rig r;
	struct pace *p = begin(&r, TCPX_SEC);

	look(p, 400, GB / 2);
	look(p, 1000, GB);
	for (unsigned ms = 1100; ms <= 2000; ms += 100)
		look(p, ms, GB);
	look(p, 3050, 2 * GB);
	look(p, 3900, 3 * GB);
	pace_run_end(p, 104 * TCPX_SEC, 3 * GB);
	pace_end(p, false);
	assert_int_equal(r.row.series.n, 4);
	point_is(&r, 0, 1, GB, 1);
	point_is(&r, 1, 2, 0, 0);
	point_is(&r, 2, 3.05, GB, 1 / 1.05);
	point_is(&r, 3, 4, GB, 1 / 0.95);
	free(r.row.series.at);
}

/* What passes between two runs is no time of the series. */
TEST(runs_follow_each_other)
{
	struct rig r;
	struct pace *p = begin(&r, TCPX_SEC / 2);

	pace_run_end(p, 100 * TCPX_SEC + 300 * TCPX_MS, GB);
	assert_int_equal(r.row.series.n, 0);
	pace_run(p, 200 * TCPX_SEC);
	pace_run_end(p, 200 * TCPX_SEC + 300 * TCPX_MS, 2 * GB);
	pace_run(p, 300 * TCPX_SEC);
	pace_run_end(p, 300 * TCPX_SEC + 20 * TCPX_MS, GB); /* too short for a point */
	pace_end(p, true);
	assert_int_equal(r.row.series.n, 1);
	point_is(&r, 0, 0.62, 4 * GB, 4 / 0.62);
	free(r.row.series.at);
}

TEST(a_short_measurement_has_a_series_if_asked)
{
	struct rig r;

	for (int keep = 0; keep < 2; keep++) {
		struct pace *p = begin(&r, TCPX_SEC);

		pace_run_end(p, 102 * TCPX_SEC, GB);
		pace_end(p, keep);
		assert_int_equal(r.row.series.n, keep);
		free(r.row.series.at);
	}
}

TEST(a_line_for_each_point)
{
	struct rig r;
	struct pace *p = begin(&r, TCPX_SEC);
	char *text;
	size_t len;

	p->lines = open_memstream(&text, &len);
	look(p, 1001, 2 * GB);
	pace_run_end(p, 102 * TCPX_SEC, 2 * GB);
	pace_end(p, true);
	fclose(p->lines);
	assert_string_equal(text, "  1000000000     0.00-1.00 s       2 GB     2.00 GB/s\n"
				  "  1000000000     1.00-2.00 s        0 B        0 GB/s\n");
	free(text);
	free(r.row.series.at);
}
