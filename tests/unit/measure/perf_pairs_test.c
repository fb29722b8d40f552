/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The comparison with plain sockets, where runs of either kind take the time that the test gives
 * them: the order of the runs, the ratio and its interval, the rates and the cost.
 */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/perf/baseline.h"
#include "measure/perf/load_check.h"
#include "measure/perf/load_measure.h"
#include "perf_rig.h"

enum { PAIRS = 7, RUN = 10, MS = 1000000, MB = 1000000, CALIBRATION_MS = 100 };

/* Times of the sockets in each pair, where ours takes 100 ms. */
static const unsigned raw_ms[PAIRS] = { 80, 125, 50, 150, 120, 110, 90 };

static struct {
	char order[256];         /* o: a run of ours, r: of the sockets, c: a size is chosen */
	unsigned raw_runs, marks;
	bool settled;            /* the sockets' calls have their size                */
	uint64_t now_ns, echo_ns;
} seen;

static void
note(char what)
{
	size_t len = strlen(seen.order);

	if (len + 1 < sizeof(seen.order))
		seen.order[len] = what;
}

/* In place of what moves bytes and asks the server. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_load_measure(struct load *l, uint64_t iters, struct load_stats *stats);
int __wrap_load_arm(struct perf *p, const struct load_side *here, struct job_slots s, uint64_t *seed);
int __wrap_load_compare(struct perf *p, const struct load_side *here, struct job_slots s,
			uint64_t seed, const struct tcpx_xfer_info *moved, uint64_t *wrong);
int __wrap_baseline_connect(const struct baseline_plan *plan, uint16_t port, struct baseline **out);
int __wrap_baseline_run(struct baseline *b, uint64_t rounds, uint64_t *ns);
int __wrap_baseline_echo(struct baseline *b, uint64_t slot);
void __wrap_baseline_set_call(struct baseline *b, uint64_t bytes);
const char *__wrap_baseline_congestion(struct baseline *b, char buf[BASELINE_NAMES]);
void __wrap_baseline_close(struct baseline *b);
int __wrap_perf_ask(struct perf *p, const char *type, json_t *msg, const char *want, json_t **reply);
int __wrap_tcpx_query_nics(tcpx_engine *e, struct tcpx_nic_info *out, size_t stride, size_t *count);
void __wrap_usage_read(tcpx_engine *engine, const char *peer, struct usage *u);
void __wrap_usage_read_process(struct usage *u);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ .tv_nsec = (long)seen.now_ns };
	return 0;
}

int
__wrap_load_measure(struct load *l, uint64_t iters, struct load_stats *stats)
{
	note('o');
	for (uint64_t i = 0; i < iters; i++)
		load_add_time(stats, 50);
	stats->iters = stats->compared = iters;
	stats->ns = iters * 100 * MS;
	stats->far_ns = iters * 70 * MS;
	stats->wrong = 2;
	stats->near.cpu_s = 3;
	stats->far.cpu_s = 5;
	(void)l;
	return 0;
}

int
__wrap_load_arm(struct perf *p, const struct load_side *here, struct job_slots s, uint64_t *seed)
{
	(void)p, (void)here, (void)s;
	*seed = 1;
	return 0;
}

int
__wrap_load_compare(struct perf *p, const struct load_side *here, struct job_slots s,
		    uint64_t seed, const struct tcpx_xfer_info *moved, uint64_t *wrong)
{
	(void)p, (void)here, (void)s, (void)seed, (void)moved;
	*wrong += 1;
	return 0;
}

int
__wrap_baseline_connect(const struct baseline_plan *plan, uint16_t port, struct baseline **out)
{
	static char any;

	assert_in_range(plan->conns, 1, 2);
	assert_int_equal(port, 77);
	*out = (struct baseline *)&any;
	return 0;
}

int
__wrap_baseline_run(struct baseline *b, uint64_t rounds, uint64_t *ns)
{
	(void)b;
	note('r');
	*ns = rounds * MS * (seen.settled ? raw_ms[seen.raw_runs++ % PAIRS] : CALIBRATION_MS);
	return 0;
}

int
__wrap_baseline_echo(struct baseline *b, uint64_t slot)
{
	(void)b, (void)slot;
	note('r');
	seen.now_ns += seen.echo_ns;
	return 0;
}

void
__wrap_baseline_set_call(struct baseline *b, uint64_t bytes)
{
	(void)b, (void)bytes;
	note('c');
}

const char *
__wrap_baseline_congestion(struct baseline *b, char buf[BASELINE_NAMES])
{
	(void)b;
	snprintf(buf, BASELINE_NAMES, "reno");
	return buf;
}

void
__wrap_baseline_close(struct baseline *b)
{
	(void)b;
}

/* The server's CPU has worked for 2 s whenever it is asked. */
int
__wrap_perf_ask(struct perf *p, const char *type, json_t *msg, const char *want, json_t **reply)
{
	(void)p, (void)want;
	json_decref(msg);
	seen.settled |= !strcmp(type, "mark"); /* no size is chosen any more */
	seen.marks += !strcmp(type, "mark");
	*reply = json_pack("{s:i, s:s, s:f}", "port", 77, "congestion", "cubic", "cpu_s",
			   2.0 * seen.marks);
	return 0;
}

int
__wrap_tcpx_query_nics(tcpx_engine *e, struct tcpx_nic_info *out, size_t stride, size_t *count)
{
	(void)e, (void)out, (void)stride;
	*count = 0;
	return 0;
}

void
__wrap_usage_read(tcpx_engine *engine, const char *peer, struct usage *u)
{
	(void)engine, (void)peer;
	memset(u, 0, sizeof(*u));
	u->threads = 1;
	u->channels = 2; /* one each way */
	u->channel[0] = (struct tcpx_channel_info){ .up = 1, .sending = 1 };
	u->channel[1] = (struct tcpx_channel_info){ .up = 1 };
}

/* Ours for 1 s. */
void
__wrap_usage_read_process(struct usage *u)
{
	u->cpu_s = seen.marks;
}

static int
make(void **state)
{
	struct rig *r = rig_new(state);

	r->args = (struct perf_args){ .pairs = PAIRS, .check = 1, .baseline = true };
	r->perf.at = (struct job_case){ .size = MB, .descs = 1 };
	r->perf.job.depth = 1;
	r->load = (struct load){ .perf = &r->perf, .ring = 1 };
	memset(&seen, 0, sizeof(seen));
	return 0;
}

static void
figure_is(const char *what, double got, double want)
{
	if (!(fabs(got - want) <= 1e-9 * fabs(want)))
		fail_msg("%s is %g, want %g", what, got, want);
}

TEST_WITH(each_kind_is_first_in_every_other_pair, make, rig_drop)
{
	struct rig *r = *state;
	const char *pairs;

	assert_int_equal(perf_pairs(&r->load, RUN, r->stats, r->row), 0);
	pairs = strrchr(seen.order, 'c'); /* then the size of calls is settled */
	assert_non_null(pairs);
	assert_string_equal(pairs + 1, "or" "ro" "or" "ro" "or" "ro" "or");
}

TEST_WITH(ratio_is_the_sockets_time_by_ours, make, rig_drop)
{
	struct rig *r = *state;

	assert_int_equal(perf_pairs(&r->load, RUN, r->stats, r->row), 0);
	assert_int_equal(r->row->pairs.n, PAIRS);
	for (size_t i = 0; i < PAIRS; i++) {
		figure_is("ours", r->row->pairs.at[i].ours_us, 100000);
		figure_is("raw", r->row->pairs.at[i].baseline_us, raw_ms[i] * 1000.0);
		figure_is("ratio", r->row->pairs.at[i].ratio, raw_ms[i] / 100.0);
	}
	figure_is("median", r->row->ratio, 1.1);
	figure_is("from", r->row->ratio_ci.lo, 0.5);
	figure_is("to", r->row->ratio_ci.hi, 1.5);
}

/* 7 transfers of 1 MB in 725 ms, each of which took 3 s of CPUs. */
TEST_WITH(sockets_have_their_own_rate_cost_and_verdict, make, rig_drop)
{
	struct rig *r = *state;

	for (unsigned bi = 0; bi < 2; bi++) {
		memset(&seen, 0, sizeof(seen));
		r->perf.job.bi = bi;
		r->row = result_add_row(&r->result);
		assert_int_equal(perf_pairs(&r->load, RUN, r->stats, r->row), 0);
		figure_is("rate", r->row->baseline_GBps, 0.007 / 0.725);
		figure_is("cost", r->row->baseline_cpu_s_per_GB, 7 * 3 / (bi ? 0.014 : 0.007));
		figure_is("compared", r->row->baseline_compared, 1);
		figure_is("wrong", r->row->baseline_wrong, 7);
		assert_string_equal(r->row->baseline_congestion, "reno, cubic");
	}
}

TEST_WITH(runs_of_ours_add_up, make, rig_drop)
{
	struct rig *r = *state;

	assert_int_equal(perf_pairs(&r->load, RUN, r->stats, r->row), 0);
	assert_int_equal(r->stats->iters, PAIRS * RUN);
	assert_int_equal(r->stats->compared, PAIRS * RUN);
	assert_int_equal(r->stats->ns, PAIRS * RUN * 100ull * MS);
	assert_int_equal(r->stats->far_ns, PAIRS * RUN * 70ull * MS);
	assert_int_equal(r->stats->wrong, PAIRS * 2);
	assert_int_equal(r->stats->hist.count, PAIRS * RUN);
	figure_is("client's CPU", r->stats->near.cpu_s, PAIRS * 3);
	figure_is("server's CPU", r->stats->far.cpu_s, PAIRS * 5);
}

/* Half a way there and back; a read is a round trip by itself. Ours takes 50 ns. */
TEST_WITH(latency_is_compared_by_the_same_way, make, rig_drop)
{
	static const struct { enum job_op op; uint64_t echo_ns; } ways[] = {
		{ JOB_WRITE, 200 }, { JOB_SENDRECV, 200 }, { JOB_READ, 100 },
	};
	struct rig *r = *state;

	r->perf.job.lat = r->args.lat = true;
	r->args.check = 0;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		memset(&seen, 0, sizeof(seen));
		seen.echo_ns = ways[i].echo_ns;
		r->perf.job.op = ways[i].op;
		r->row = result_add_row(&r->result);
		assert_int_equal(perf_pairs(&r->load, RUN, r->stats, r->row), 0);
		figure_is("ours", r->row->pairs.at[6].ours_us, 0.05);
		figure_is("raw", r->row->pairs.at[6].baseline_us, 0.1);
		figure_is("ratio", r->row->ratio, 2);
		figure_is("p50", r->row->baseline_half_rtt_us.p50, 0.1);
		figure_is("p99", r->row->baseline_half_rtt_us.p99, 0.1);
		figure_is("p99.9", r->row->baseline_half_rtt_us.p999, 0.1);
		assert_true(isnan(r->row->baseline_GBps) && isnan(r->row->baseline_compared));
	}
}
