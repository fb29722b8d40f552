/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates, the pull rule and turns; and a small simulation of NICs of unequal speed, in which
 * the rule must beat plain pull.
 */
#include "base_test.h"
#include "proto/sched.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define MS  1000000ull
#define SEC (1000 * MS)

/* ---- rates ------------------------------------------------------------------------- */

TEST(first_sample_is_taken_whole)
{
	struct tcpx_rate r = { 0 };
	struct tcpx_rate_mark m = tcpx_rate_now(&r, 5 * SEC);

	tcpx_rate_ack(&r, &m, 1000000, 5 * SEC + 1 * MS);
	assert_int_equal(r.Bps, 1000000000);
	assert_int_equal(r.delivered, 1000000);
	assert_int_equal(r.last_ns, 5 * SEC + 1 * MS);
}

TEST(later_samples_weigh_a_quarter)
{
	struct tcpx_rate r = { .Bps = 4000 };
	struct tcpx_rate_mark m = tcpx_rate_now(&r, 0);

	tcpx_rate_ack(&r, &m, 8000, SEC);
	assert_int_equal(r.Bps, 5000);
	m = tcpx_rate_now(&r, SEC);
	tcpx_rate_ack(&r, &m, 1000, 2 * SEC);
	assert_int_equal(r.Bps, 4000);
}

TEST(pipelined_chunks_sample_the_whole_pipe)
{
	struct tcpx_rate r = { 0 };
	struct tcpx_rate_mark m[4];

	for (int i = 0; i < 4; i++)
		m[i] = tcpx_rate_now(&r, 0); /* taken at once, acked 1 ms apart */
	for (int i = 0; i < 4; i++)
		tcpx_rate_ack(&r, &m[i], 1000, (unsigned)(i + 1) * MS);
	assert_int_equal(r.Bps, 1000000);
}

TEST(rates_survive_odd_clocks_and_sizes)
{
	struct tcpx_rate r = { 0 };
	struct tcpx_rate_mark m = tcpx_rate_now(&r, 100);

	tcpx_rate_ack(&r, &m, 10, 100); /* no time at all: 1 us */
	assert_int_equal(r.Bps, 10000000);
	r = (struct tcpx_rate){ 0 };
	tcpx_rate_ack(&r, &m, 10, 50); /* backward: 1 us */
	assert_int_equal(r.Bps, 10000000);
	r = (struct tcpx_rate){ 0 };
	tcpx_rate_ack(&r, &m, 1, 100 + 5 * SEC); /* below 1 byte a second: known, not 0 */
	assert_int_equal(r.Bps, 1);
	r = (struct tcpx_rate){ .delivered = UINT64_MAX / 2 };
	tcpx_rate_ack(&r, &m, 1, 1100);
	assert_int_equal(r.Bps, UINT64_MAX);
}

/* ---- the pull rule ----------------------------------------------------------------- */

static const struct {
	const char *name;
	struct tcpx_pull_channel c;
	struct tcpx_pull_session s;
	bool allowed;
} pull_cases[] = {
	{ "nothing outstanding anywhere", { 0, 0, 16, 1000 }, { 0, 0, 4000 }, true },
	{ "nothing outstanding, however slow", { 0, 0, 16, 1 }, { 0, 0, 1 << 30 }, true },
	{ "idle and slow, long queue", { 0, 0, 16, 8 * MIB }, { 100 * MIB, 16 * MIB, 400 * MIB },
	  true },
	{ "idle and slow, the others end sooner", { 0, 0, 16, 8 * MIB },
	  { 4 * MIB, 16 * MIB, 400 * MIB }, false },
	{ "unknown rate: first", { 0, 0, 16, 0 }, { 100 * MIB, 0, 0 }, true },
	{ "unknown rate: second", { MIB, 1, 16, 0 }, { 100 * MIB, MIB, 0 }, true },
	{ "unknown rate: no third", { 2 * MIB, 2, 16, 0 }, { 100 * MIB, 2 * MIB, 0 }, false },
	{ "window full", { 16 * MIB, 16, 16, 1 << 30 }, { 1024 * MIB, 16 * MIB, 1 << 30 }, false },
	{ "window of none", { 0, 0, 0, 1 << 30 }, { MIB, 0, 1 << 30 }, false },
	{ "fast, long queue", { 4 * MIB, 4, 16, 1 << 30 }, { 100 * MIB, 16 * MIB, 4ull << 30 },
	  true },
	{ "alone, to the end", { 4 * MIB, 4, 16, 1 << 30 }, { MIB, 4 * MIB, 1 << 30 }, true },
	{ "a quarter as fast, short queue", { 16 * MIB, 16, 64, 256 * MIB },
	  { MIB, 26 * MIB, 3328 * MIB }, false },
	{ "a quarter as fast, long queue", { 16 * MIB, 16, 64, 256 * MIB },
	  { 512 * MIB, 26 * MIB, 3328 * MIB }, true },
	{ "as before, but 80 ms deep", { 21 * MIB, 21, 64, 256 * MIB },
	  { 512 * MIB, 26 * MIB, 3328 * MIB }, false },
	{ "within 20 ms of the others", { 4 * MIB, 4, 64, 256 * MIB },
	  { 0, 5 * MIB, 3328 * MIB }, true },
	{ "sum of rates not there yet", { MIB, 1, 16, 1 << 30 }, { 4 * MIB, MIB, 0 }, true },
	{ "numbers at the edge", { UINT64_MAX / 2, 1, 16, 1 }, { UINT64_MAX / 2, UINT64_MAX / 2, 1 },
	  false },
};

TEST(pull_follows_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(pull_cases); i++)
		check(pull_cases[i].name, "allowed",
		      tcpx_pull_allowed(&pull_cases[i].c, &pull_cases[i].s, MIB),
		      pull_cases[i].allowed);
}

/* ---- simulation -------------------------------------------------------------------- */

#define NICS   4
#define WINDOW 16
#define RTT_NS (1 * MS)

struct sim_nic {
	uint64_t Bps;
	uint64_t idle_ns; /* when the wire is free again */
	struct { uint64_t ack_ns; struct tcpx_rate_mark mark; } msg[WINDOW];
	uint32_t head, count;
	struct tcpx_rate rate;
};

static bool
sim_may_take(const struct sim_nic *n, const struct sim_nic *all, uint64_t queued, uint32_t chunk,
	     bool plain)
{
	struct tcpx_pull_channel c = { n->count * (uint64_t)chunk, n->count, WINDOW, n->rate.Bps };
	struct tcpx_pull_session s = { .queued_bytes = queued };

	if (plain)
		return n->count < WINDOW;
	for (int i = 0; i < NICS; i++) {
		s.outstanding_bytes += all[i].count * (uint64_t)chunk;
		s.Bps += all[i].rate.Bps;
	}
	return tcpx_pull_allowed(&c, &s, chunk);
}

/* Moves @total bytes; returns what part of the sum of all rates it reached. */
static double
simulate(const uint64_t *Bps, uint64_t total, uint32_t chunk, bool plain)
{
	struct sim_nic nic[NICS] = { 0 };
	uint64_t now = 0, sum = 0, queued = total, flying = 0;

	for (int i = 0; i < NICS; i++) {
		nic[i].Bps = Bps[i];
		sum += Bps[i];
	}
	while (queued || flying) {
		struct sim_nic *next = NULL;
		bool took = queued > 0;

		while (took && queued) { /* a chunk each in turn, as loops do */
			took = false;
			for (int i = 0; i < NICS && queued; i++) {
				struct sim_nic *n = &nic[i];
				uint32_t at = (n->head + n->count) % WINDOW;

				if (!sim_may_take(n, nic, queued, chunk, plain))
					continue;
				n->idle_ns = (n->idle_ns > now ? n->idle_ns : now) +
					     chunk * SEC / n->Bps;
				n->msg[at].ack_ns = n->idle_ns + RTT_NS;
				n->msg[at].mark = tcpx_rate_now(&n->rate, now);
				n->count++;
				queued -= chunk;
				flying += chunk;
				took = true;
			}
		}
		for (int i = 0; i < NICS; i++) {
			if (nic[i].count && (!next || nic[i].msg[nic[i].head].ack_ns <
							      next->msg[next->head].ack_ns))
				next = &nic[i];
		}
		now = next->msg[next->head].ack_ns;
		tcpx_rate_ack(&next->rate, &next->msg[next->head].mark, chunk, now);
		next->head = (next->head + 1) % WINDOW;
		next->count--;
		flying -= chunk;
	}
	return (double)total * 1e9 / ((double)sum * (double)now);
}

/* Three NICs and one at a quarter of their rate (50 Gb/s each, and slower ones). */
TEST(slow_nic_does_not_hoard)
{
	const uint64_t even[NICS] = { 200 * MIB, 200 * MIB, 200 * MIB, 200 * MIB };
	const uint64_t odd[NICS] = { 200 * MIB, 200 * MIB, 200 * MIB, 50 * MIB };
	double ruled = simulate(odd, 128 * MIB, MIB, false);
	double plain = simulate(odd, 128 * MIB, MIB, true);

	print_message("# of the aggregate: %.3f by the rule, %.3f by plain pull\n", ruled, plain);
	assert_true(ruled >= 0.93);
	assert_true(plain < 0.8);
	assert_true(simulate(even, 128 * MIB, MIB, false) >= 0.93);
}

/* ---- turns ------------------------------------------------------------------------- */

struct work {
	struct tcpx_drr_node node;
	uint32_t chunk;
	uint64_t left, done;
};

static uint32_t
work_len(struct tcpx_drr_node *n)
{
	struct work *w = (struct work *)n;

	return w->left < w->chunk ? (uint32_t)w->left : w->chunk;
}

/* One chunk of the transfer at its turn; NULL: none has any. */
static struct work *
serve(struct tcpx_drr *d)
{
	struct work *w = (struct work *)tcpx_drr_peek(d, work_len);
	uint32_t len;

	if (!w)
		return NULL;
	assert_ptr_equal(tcpx_drr_peek(d, work_len), &w->node); /* asking changes nothing */
	len = work_len(&w->node);
	tcpx_drr_charge(d, &w->node, len);
	w->left -= len;
	w->done += len;
	if (!w->left)
		tcpx_drr_remove(d, &w->node);
	return w;
}

TEST(large_transfer_does_not_starve_small_ones)
{
	struct tcpx_drr d = { .quantum = MIB };
	struct work large = { .chunk = MIB, .left = 4096 * MIB };
	struct work small[3] = { { .chunk = 64 * KIB, .left = 2 * MIB },
				 { .chunk = 64 * KIB, .left = 3 * MIB },
				 { .chunk = 256 * KIB, .left = 64 * KIB } };

	tcpx_drr_add(&d, &large.node);
	for (int i = 0; i < 100; i++)
		assert_ptr_equal(serve(&d), &large);
	for (int i = 0; i < 3; i++)
		tcpx_drr_add(&d, &small[i].node);
	large.done = 0;
	while (small[0].left || small[1].left || small[2].left)
		serve(&d);
	/* 3 rounds were enough, so the large one had at most 4 turns of a quantum */
	assert_true(large.done <= 4 * MIB);
	for (int i = 0; i < 3; i++)
		assert_null(small[i].node.next);
	assert_ptr_equal(serve(&d), &large);
}

TEST(shares_are_even_in_bytes)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct tcpx_drr d = { .quantum = MIB };
	struct work w[5];
	uint64_t sum = 0;

	for (int i = 0; i < 5; i++) {
		w[i] = (struct work){ .chunk = (uint32_t)tcpx_rng_between(&rng, 4096, MIB),
				      .left = UINT64_MAX };
		tcpx_drr_add(&d, &w[i].node);
		tcpx_drr_add(&d, &w[i].node); /* in it already */
	}
	for (int turn = 0; turn < 20000; turn++) {
		serve(&d);
		for (int i = 0; turn % 100 == 0 && i < 5; i++)
			check_random(seed, llabs((long long)(w[i].done - w[0].done)) <=
						   (long long)(3 * MIB));
	}
	for (int i = 0; i < 5; i++)
		sum += w[i].done;
	for (int i = 0; i < 5; i++)
		check_random(seed, w[i].done > sum / 10);
}

TEST(shares_follow_weights)
{
	static const uint32_t weight[4] = { 0, 1, 4, 16 };
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct tcpx_drr d = { .quantum = MIB };
	struct work w[4];
	uint64_t one;

	for (int i = 0; i < 4; i++) {
		w[i] = (struct work){ .node.weight = weight[i], .left = UINT64_MAX,
				      .chunk = (uint32_t)tcpx_rng_between(&rng, 4096, MIB) };
		tcpx_drr_add(&d, &w[i].node);
	}
	while (w[0].done < 200 * MIB)
		serve(&d);
	one = w[1].done;
	check_random(seed, one + 2 * MIB > w[0].done && one < w[0].done + 2 * MIB);
	for (int i = 2; i < 4; i++)
		check_random(seed, w[i].done + 18 * MIB > weight[i] * one &&
					   w[i].done < weight[i] * one + 34 * MIB);
	tcpx_drr_remove(&d, &w[2].node);
	assert_int_equal(w[2].node.weight, 4); /* it stays, for the next time */
}

TEST(removing_passes_the_turn_on)
{
	struct tcpx_drr d = { .quantum = 1000 };
	struct work a = { .chunk = 1000, .left = 9000 }, b = a, c = a;

	assert_null(tcpx_drr_peek(&d, work_len));
	tcpx_drr_remove(&d, &a.node); /* never was in it */
	tcpx_drr_add(&d, &a.node);
	tcpx_drr_add(&d, &b.node);
	tcpx_drr_add(&d, &c.node);
	assert_ptr_equal(serve(&d), &a);
	assert_ptr_equal(serve(&d), &b);
	tcpx_drr_remove(&d, &b.node);
	assert_ptr_equal(serve(&d), &c); /* with a quantum of its own */
	assert_ptr_equal(serve(&d), &a);
	tcpx_drr_remove(&d, &a.node);
	tcpx_drr_remove(&d, &a.node);
	assert_ptr_equal(serve(&d), &c);
	tcpx_drr_remove(&d, &c.node);
	assert_null(d.turn);
	assert_null(tcpx_drr_peek(&d, work_len));
}

TEST(turns_end_without_a_quantum)
{
	struct tcpx_drr d = { .quantum = 0 };
	struct work a = { .chunk = MIB, .left = 2 * MIB };

	tcpx_drr_add(&d, &a.node);
	assert_ptr_equal(serve(&d), &a);
	assert_ptr_equal(serve(&d), &a);
	assert_null(serve(&d));
}
