/* SPDX-License-Identifier: Apache-2.0 */
/* When refusals prove that a peer has gone, and what a silence means. */
#include "base_test.h"
#include "proto/health.h"

#define MS 1000000ull

TEST(two_rounds_apart_are_the_proof)
{
	static const struct {
		uint32_t addresses;
		uint64_t apart_ms, every_ms, proven_at_ms; /* refusals from 0 on */
	} rows[] = {
		{ 1, 500, 20, 500 },
		{ 1, 500, 500, 500 },
		{ 4, 500, 20, 620 },    /* the first round ends at 60, the second begins at 560 */
		{ 4, 500, 200, 1800 },
		{ 8, 2500, 20, 2780 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_refusals r = { 0 };
		uint64_t at = 0;

		while (!tcpx_refused_again(&r, rows[i].addresses, rows[i].apart_ms * MS, false,
					   at * MS))
			at += rows[i].every_ms;
		if (at != rows[i].proven_at_ms)
			fail_msg("row %zu: proven after %llu ms", i, (unsigned long long)at);
	}
}

TEST(one_answer_in_between_takes_it_back)
{
	struct tcpx_refusals r = { 0 };

	for (uint64_t ms = 0; ms < 10000; ms += 20) {
		if (ms % 400 == 380)
			r.row = 0; /* a time-out, or an address that listens */
		assert_false(tcpx_refused_again(&r, 2, 500 * MS, false, ms * MS));
	}
}

/* Refusals every 20 ms from 0 on, of two addresses; a link of ours is down for a while. */
TEST(refusals_while_a_link_of_ours_is_down_prove_nothing)
{
	static const struct {
		uint64_t down_ms, up_ms, proven_at_ms; /* 0: never */
	} rows[] = {
		{ 0, 0, 540 },          /* never down: 20 ends the first round, 520 and 540 are the second */
		{ 0, 10000, 0 },        /* down all the time */
		{ 0, 300, 840 },        /* from the link's return on as from the first refusal */
		{ 100, 120, 660 },      /* between the rounds */
		{ 520, 540, 1080 },     /* in the second */
		{ 560, 10000, 540 },    /* afterwards */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_refusals r = { 0 };
		uint64_t ms = 0;

		while (ms < 10000 && !tcpx_refused_again(&r, 2, 500 * MS,
				ms >= rows[i].down_ms && ms < rows[i].up_ms, ms * MS))
			ms += 20;
		if ((ms < 10000 ? ms : 0) != rows[i].proven_at_ms)
			fail_msg("row %zu: proven after %llu ms", i, (unsigned long long)ms);
	}
}

TEST(a_channel_counts_that_was_closed_as_the_stream_was_cut)
{
	static const struct {
		uint64_t closed_ms, cut_ms;
		bool together;
	} rows[] = { { 1000, 1000, true }, { 1100, 1000, true }, { 900, 1000, true },
		     { 1101, 1000, false }, { 899, 1000, false }, { 0, 50, false } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(tcpx_ended_together(rows[i].closed_ms * MS, rows[i].cut_ms * MS),
				 rows[i].together);
}

TEST(a_reset_connection_proves_less_than_a_closed_one)
{
	assert_int_equal(tcpx_rounds_apart(true, 10000 * MS), 500 * MS);
	assert_int_equal(tcpx_rounds_apart(false, 10000 * MS), 2500 * MS);
	assert_int_equal(tcpx_rounds_apart(false, 1000 * MS), 500 * MS);
}

/* A silence from 0 on. What becomes of it, and when; times in ms. */
TEST(a_silence_is_judged_by_who_is_silent)
{
	static const struct {
		uint64_t stall, keepalive, process; /* 0: for ever */
		bool in_use;
		int kernel;
		enum tcpx_silence_verdict end;
		uint64_t at_least, at_most;
	} rows[] = {
		/* the defaults: a connection that is dead is cut before a third of the deadline */
		{ 10000, 5000, 10000, true, 0, TCPX_SILENCE_CUT, 1250, 1260 },
		{ 10000, 5000, 10000, true, -1, TCPX_SILENCE_CUT, 2500, 2510 },
		{ 10000, 5000, 10000, true, 1, TCPX_SILENCE_OVER, 10000, 10420 },
		{ 10000, 5000, 10000, false, 0, TCPX_SILENCE_CUT, 5830, 5840 },
		{ 10000, 5000, 10000, false, 1, TCPX_SILENCE_OVER, 10000, 10420 },
		/* a stopped process is waited for */
		{ 10000, 5000, 60000, true, 1, TCPX_SILENCE_OVER, 60000, 60420 },
		{ 10000, 5000, 0, true, 1, TCPX_SILENCE_STOPPED, 99999, 100000 },
		/* a short deadline, a keep-alive that is shorter still */
		{ 1000, 5000, 1000, true, 0, TCPX_SILENCE_CUT, 125, 127 },
		{ 100000, 50, 100000, true, 0, TCPX_SILENCE_CUT, 150, 152 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_patience p = tcpx_patience_of(rows[i].stall * MS, rows[i].keepalive * MS,
					rows[i].process ? rows[i].process * MS : UINT64_MAX);
		struct tcpx_silence s = { .heard_ns = MS, .in_use = rows[i].in_use };
		enum tcpx_silence_verdict v = TCPX_SILENCE_NONE;
		uint64_t now;

		for (now = MS; v < TCPX_SILENCE_CUT && now < 100000 * MS;
		     now = tcpx_silence_next(&p, &s, now)) {
			v = tcpx_silence_judge(&p, &s, rows[i].kernel, now);
			if (v == TCPX_SILENCE_ASK || v == TCPX_SILENCE_STOPPED) {
				assert_true(now >= s.pinged_ns + p.look_ns);
				s.asked_ns = s.asked_ns ? s.asked_ns : now;
				s.pinged_ns = now;
			}
			if (v == TCPX_SILENCE_STOPPED)
				assert_int_equal(rows[i].kernel, 1);
			if (v >= TCPX_SILENCE_CUT)
				break;
		}
		if (rows[i].end == TCPX_SILENCE_STOPPED)
			assert_true(v < TCPX_SILENCE_CUT);
		else
			assert_int_equal(v, rows[i].end);
		if (now / MS < rows[i].at_least || now / MS > rows[i].at_most)
			fail_msg("row %zu: after %llu ms", i, (unsigned long long)(now / MS));
	}
}

/* Thousands may be open: an idle one is looked at when a PING is due, and not before. */
TEST(an_idle_session_is_left_alone)
{
	struct tcpx_patience p = tcpx_patience_of(24000 * MS, 5000 * MS, 24000 * MS);
	struct tcpx_silence s = { .heard_ns = 100 * MS };

	assert_int_equal(tcpx_silence_next(&p, &s, 200 * MS), 5100 * MS);
	s.in_use = true;
	assert_int_equal(tcpx_silence_next(&p, &s, 200 * MS), 1100 * MS);
	s.in_use = false;
	s.asked_ns = s.pinged_ns = 5100 * MS;
	assert_int_equal(tcpx_silence_next(&p, &s, 5100 * MS), 6100 * MS);
}

/* Whatever is set: what a dead connection costs leaves two thirds for another. */
TEST(a_dead_connection_is_cut_before_a_third_of_the_deadline)
{
	for (uint64_t stall = 1; stall < 86400000; stall = stall * 3 + 1)
		for (uint64_t keepalive = 1; keepalive < 86400000; keepalive = keepalive * 3 + 1) {
			struct tcpx_patience p = tcpx_patience_of(stall * MS, keepalive * MS, 0);

			assert_true(6 * p.look_ns < stall * MS / 3); /* asked, and five looks more */
		}
}

TEST(a_stall_costs_one_transfer_while_others_move)
{
	static const struct {
		uint64_t own, way, held; /* ms */
		bool owed;
		enum tcpx_stall stall;   /* after 30 s, with a deadline of 10 */
		uint64_t waited;         /* ms */
	} rows[] = {
		{ 20001, 20001, 0, false, TCPX_STALL_NONE, 0 },
		{ 20001, 1, 1, true, TCPX_STALL_NONE, 0 },       /* it moves itself */
		{ 20000, 20000, 0, false, TCPX_STALL_SESSION, 0 },
		{ 20000, 20000, 25000, true, TCPX_STALL_SESSION, 0 },
		{ 1, 29999, 0, false, TCPX_STALL_NONE, 0 },      /* waits for its turn */
		{ 1, 29999, 20001, false, TCPX_STALL_NONE, 0 },  /* on a slow channel */
		{ 1, 29999, 20000, false, TCPX_STALL_XFER, 0 },  /* on one that is dead */
		{ 1, 29999, 0, true, TCPX_STALL_XFER, 0 },       /* never answered */
		{ 1, 1, 0, false, TCPX_STALL_NONE, 20001 },   /* others held the buffers */
		{ 1, 1, 0, false, TCPX_STALL_SESSION, 20000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_stall_facts f = { rows[i].own * MS, rows[i].way * MS, rows[i].held * MS,
					      rows[i].owed, rows[i].waited * MS };

		if (tcpx_stall_judge(&f, 10000 * MS, 30000 * MS) != rows[i].stall)
			fail_msg("row %zu", i);
	}
}
