/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a row, from sums whose rates are plain to see: GB, seconds and counts are round. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perf_rig.h"

/* In place of the library's: there is no session. */
int __wrap_tcpx_peer_query(tcpx_peer *p, struct tcpx_peer_info *info);

int
__wrap_tcpx_peer_query(tcpx_peer *p, struct tcpx_peer_info *info)
{
	(void)p;
	*info = (struct tcpx_peer_info){
		.struct_size = sizeof(*info), .channels_tx = 3, .channels_rx = 4, .resting_tx = 1,
		.channels_wanted = 4, .window_slots = 16, .chunk_bytes = 65536 };
	return 0;
}

/* A thousand transfers of 1 MB in 1 s by our clock, 2 s by the server's; the client used the CPU
 * for 3 s, the server for 5 s. */
static int
make(void **state)
{
	struct rig *r = rig_new(state);

	r->args.dist = "pull";
	r->args.check = 1;
	r->perf.at = (struct job_case){ .size = 1000000, .descs = 1 };
	r->perf.job.depth = 4;
	r->perf.path_GBps[0] = r->perf.path_GBps[1] = NAN;
	r->load = (struct load){ .perf = &r->perf, .slot = r->slot };
	r->stats->iters = r->stats->compared = 1000;
	r->stats->ns = 1000000000;
	r->stats->far_ns = 2000000000;
	r->stats->near.cpu_s = 3;
	r->stats->far.cpu_s = 5;
	return 0;
}

static const struct {
	const char *name;
	enum job_op op;
	bool bi, lat;
	double algbw, busbw, peer, transfers_per_s, client_cpu, server_cpu;
} rates[] = {
	{ "write", JOB_WRITE, false, false, 1, 1, 0.5, 1000, 3, 5 },
	{ "read", JOB_READ, false, false, 1, 1, 0.5, 1000, 3, 5 },
	{ "a lane", JOB_LANE, false, false, 1, 1, 0.5, 1000, 3, 5 },
	{ "write, both ways", JOB_WRITE, true, false, 1, 2, 0.5, 1000, 1.5, 2.5 },
	{ "send, both ways", JOB_SENDRECV, true, false, 1, 2, 0.5, 1000, 1.5, 2.5 },
	{ "there and back", JOB_WRITE, false, true, 1, 1, 0.5, NAN, 1.5, 2.5 },
	{ "a read and its answer", JOB_READ, false, true, 1, 1, 0.5, 1000, 3, 5 },
};

static void
figure_is(const char *name, const char *what, double got, double want)
{
	if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= 1e-9 * fabs(want)))
		fail_msg("%s: %s is %g, want %g", name, what, got, want);
}

TEST(rates_and_cost_are_those_of_the_bytes_moved)
{
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		struct rig *r;
		void *rig;

		make(&rig);
		r = rig;
		r->perf.job.op = rates[i].op;
		r->perf.job.bi = rates[i].bi;
		r->perf.job.lat = rates[i].lat;
		perf_fill_row(&r->load, r->stats, r->row);
		figure_is(rates[i].name, "algbw", r->row->algbw_GBps, rates[i].algbw);
		figure_is(rates[i].name, "busbw", r->row->busbw_GBps, rates[i].busbw);
		figure_is(rates[i].name, "peer_algbw", r->row->peer_algbw_GBps, rates[i].peer);
		figure_is(rates[i].name, "transfers", r->row->transfers_per_s,
			  rates[i].transfers_per_s);
		figure_is(rates[i].name, "client's CPU", r->row->client_cpu_s_per_GB,
			  rates[i].client_cpu);
		figure_is(rates[i].name, "server's CPU", r->row->server_cpu_s_per_GB,
			  rates[i].server_cpu);
		figure_is(rates[i].name, "CPU", r->row->cpu_s_per_GB,
			  rates[i].client_cpu + rates[i].server_cpu);
		assert_string_equal(r->row->dir, rates[i].bi ? "bi" : "uni");
		assert_int_equal(r->row->iters, 1000);
		rig_drop(&rig);
	}
}

/* A channel end that has carried @bytes in @chunks. */
static void
add_channel(struct usage *u, const char *nic, const char *peer_nic, bool sending, unsigned index,
	    uint64_t bytes, uint64_t chunks)
{
	struct tcpx_channel_info *c = &u->channel[u->channels++];

	*c = (struct tcpx_channel_info){
		.index = index, .sending = sending, .up = 1, .bytes = bytes, .chunks = chunks,
		.in_flight_sum = 3 * chunks, .in_flight_max = 5 + index, .retransmits = index };
	snprintf(c->nic, sizeof(c->nic), "%s", nic);
	snprintf(c->peer_nic, sizeof(c->peer_nic), "%s", peer_nic);
}

/* By the bytes of its own channels and its own clock: it may have seen fewer than we sent. */
TEST_WITH(servers_rate_is_of_what_the_server_counted, make, rig_drop)
{
	struct rig *r = *state;

	add_channel(&r->stats->far, "b0", "a0", false, 0, 600000000, 1);
	add_channel(&r->stats->far, "b1", "a1", false, 1, 200000000, 1);
	add_channel(&r->stats->far, "b0", "a0", true, 0, 77, 1);
	perf_fill_row(&r->load, r->stats, r->row);
	figure_is("write", "peer_algbw", r->row->peer_algbw_GBps, 0.4);
	r->perf.job.op = JOB_READ;
	r->stats->far.channel[2].bytes = 500000000;
	perf_fill_row(&r->load, r->stats, r->row);
	figure_is("read", "peer_algbw", r->row->peer_algbw_GBps, 0.25);
}

/* Ten times of 0.1 us and one of 0.12 us, each of them half a way there and back. */
TEST_WITH(latency_is_in_microseconds_and_half_the_way, make, rig_drop)
{
	struct rig *r = *state;

	r->perf.job.lat = true;
	for (int i = 0; i < 10; i++)
		load_add_time(r->stats, 100);
	load_add_time(r->stats, 120);
	perf_fill_row(&r->load, r->stats, r->row);
	figure_is("half", "min", r->row->half_rtt_us.min, 0.1);
	figure_is("half", "p50", r->row->half_rtt_us.p50, 0.1);
	figure_is("half", "p99", r->row->half_rtt_us.p99, 0.12);
	figure_is("half", "p99.9", r->row->half_rtt_us.p999, 0.12);
	figure_is("half", "max", r->row->half_rtt_us.max, 0.12);
	figure_is("half", "mean", r->row->half_rtt_us.mean, 1.12 / 11);
	figure_is("half", "stdev", r->row->half_rtt_us.stdev, sqrt(0.0004 / 11));
	figure_is("whole", "min", r->row->time_us.min, 0.2);
	figure_is("whole", "p50", r->row->time_us.p50, 0.2);
	figure_is("whole", "max", r->row->time_us.max, 0.24);
	figure_is("whole", "mean", r->row->time_us.mean, 2.24 / 11);
	figure_is("whole", "stdev", r->row->time_us.stdev, 2 * sqrt(0.0004 / 11));
	assert_int_equal(r->row->histogram.n, 2);
	figure_is("histogram", "us", r->row->histogram.at[1].us, 0.12);
	assert_int_equal(r->row->histogram.at[0].count, 10);
}

static const struct {
	unsigned check;
	bool unchecked;
	uint64_t compared;
	double share;
	bool all;
} shares[] = {
	{ 1, false, 1000, 1, true },
	{ 1, false, 250, 0.25, false },
	{ 1, false, 0, 0, false },
	{ 0, false, 0, NAN, false },
	{ 1, true, 0, NAN, false },
};

TEST_WITH(what_was_compared_is_what_the_row_claims, make, rig_drop)
{
	struct rig *r = *state;

	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		struct row *row = result_add_row(&r->result);

		r->args.check = shares[i].check;
		r->perf.unchecked = shares[i].unchecked;
		r->stats->compared = shares[i].compared;
		r->stats->wrong = 7 + i;
		perf_fill_row(&r->load, r->stats, row);
		figure_is("row", "compared", row->compared, shares[i].share);
		assert_int_equal(row->checked, shares[i].all);
		assert_int_equal(row->wrong, 7 + i);
	}
}

/* Two NICs, three channels: 1, 2 and 5 of 8 parts; and what both sides' stages add up to. */
TEST_WITH(nics_share_what_their_channels_sent, make, rig_drop)
{
	struct rig *r = *state;
	struct tcpx_counters *near = &r->stats->near.count, *far = &r->stats->far.count;

	add_channel(&r->stats->near, "a0", "b0", true, 0, 100, 10);
	add_channel(&r->stats->near, "a1", "b1", true, 1, 200, 20);
	add_channel(&r->stats->near, "a1", "b1", true, 2, 500, 50);
	add_channel(&r->stats->near, "a1", "b1", false, 3, 999, 99); /* of acknowledgements */
	*near = (struct tcpx_counters){ .chunks_tx = 80, .queue_ns = 80000, .wire_ns = 160000,
					.ack_ns = 800000 };
	*far = (struct tcpx_counters){ .chunks_rx = 40, .unpack_ns = 120000 };
	r->stats->near.ctxt_switches = 30;
	r->stats->far.ctxt_switches = 12;
	perf_fill_row(&r->load, r->stats, r->row);
	assert_int_equal(r->row->nics, 2);
	assert_int_equal(r->row->per_channel.n, 3);
	assert_string_equal(r->row->per_nic.at[1].nic, "a1");
	assert_int_equal(r->row->per_nic.at[1].bytes, 700);
	assert_int_equal(r->row->per_nic.at[1].retransmits, 3);
	figure_is("a0", "share", r->row->per_nic.at[0].share, 0.125);
	figure_is("a1", "share", r->row->per_nic.at[1].share, 0.875);
	figure_is("row", "in flight", r->row->in_flight.mean, 3);
	assert_int_equal(r->row->in_flight.max, 7);
	figure_is("stage", "queue", r->row->stage_us.queue, 1);
	figure_is("stage", "wire", r->row->stage_us.wire, 2);
	figure_is("stage", "unpack", r->row->stage_us.unpack, 3);
	figure_is("stage", "ack", r->row->stage_us.ack, 7);
	assert_int_equal(r->row->ctxt_switches, 42);
	assert_int_equal(r->row->channels, 3);
	assert_false(r->row->degraded);
}

/* The GPUs' copies carry 4 GB/s in large pieces: the 1 GB/s of the row is a quarter. */
TEST_WITH(path_is_the_faster_of_two_and_its_fraction_of_it, make, rig_drop)
{
	struct rig *r = *state;

	r->perf.path_GBps[0] = 2;
	r->perf.path_GBps[1] = 4;
	perf_fill_row(&r->load, r->stats, r->row);
	figure_is("row", "path", r->row->path_GBps, 4);
	figure_is("row", "path of 1 MiB", r->row->path_1M_GBps, 2);
	figure_is("row", "fraction", r->row->path_fraction, 0.25);
}
