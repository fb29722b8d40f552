/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan keeps its promises for many seeds, and the judge finds what was planted.
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "chaos/judge.h"
#include "tcpx/err.h"

#define SEC 1000000000ull

TEST(faults_are_in_order_and_one_a_host)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		unsigned hosts = 2 + seed % 7, nics = 1 + seed % 4, seen = 0;
		uint64_t last = 0, until[CHAOS_HOSTS_MAX] = { 0 };
		struct chaos_plan p, again;
		struct chaos_event e, f;

		chaos_plan_init(&p, seed, hosts, nics, 5 * SEC, 200000000);
		chaos_plan_init(&again, seed, hosts, nics, 5 * SEC, 200000000);
		for (int i = 0; i < 200; i++) {
			chaos_plan_next(&p, &e);
			chaos_plan_next(&again, &f);
			assert_memory_equal(&e, &f, sizeof(e));
			assert_true(e.at_ns >= last && e.at_ns >= until[e.host]);
			assert_true(e.host < hosts && e.nic < nics && e.for_ns <= 10 * SEC);
			last = e.at_ns;
			until[e.host] = e.at_ns + e.for_ns;
			seen |= 1u << e.fault;
		}
		assert_int_equal(seen, (1u << CHAOS_FAULTS) - 1);
	}
}

TEST(transfers_stay_inside_their_memory)
{
	struct tcpx_rng rng = tcpx_rng_seed(5);
	unsigned kinds = 0, cancelled = 0;
	struct chaos_work w;

	for (int i = 0; i < 20000; i++) {
		unsigned me = (unsigned)i % 5;

		chaos_work_next(&rng, 5, me, &w);
		assert_true(w.to < 5 && w.to != me && w.len && w.cut <= w.len);
		assert_true(w.offset >= CHAOS_EDGE &&
			    w.offset + w.len + CHAOS_EDGE <= CHAOS_BYTES);
		kinds |= 1u << w.kind;
		cancelled += w.cancel_us != 0;
	}
	assert_int_equal(kinds, 1 << CHAOS_WRITE | 1 << CHAOS_READ | 1 << CHAOS_SEND |
				1 << CHAOS_NOTE);
	assert_in_range(cancelled, 500, 2000);
}

TEST(a_planted_byte_is_found_anywhere)
{
	uint8_t bytes[200];

	chaos_fill(bytes, sizeof(bytes), 77);
	for (size_t first = 0; first < 30; first++) {
		size_t len = sizeof(bytes) - first;

		assert_int_equal(chaos_wrong_from(bytes + first, len, 77, first), 0);
		assert_true(chaos_wrong_from(bytes + first, len, 78, first) > len / 2);
	}
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 1;
		assert_int_equal(chaos_wrong_from(bytes, sizeof(bytes), 77, 0), 1);
		assert_int_equal(chaos_wrong_from(bytes, i, 77, 0), 0);
		bytes[i] ^= 1;
	}
}

/* A fault from @from to @to, in seconds. */
static void
fault(struct chaos_judge *j, enum chaos_fault kind, unsigned host, unsigned nic, unsigned from,
      unsigned to)
{
	int n = chaos_judge_begin(j, kind, host, nic, from * SEC);

	assert_true(n >= 0);
	chaos_judge_end(j, n, to * SEC);
}

TEST(apart_is_without_a_path_or_a_process)
{
	struct chaos_judge j;

	chaos_judge_init(&j, 4, 2, 10 * SEC, 10 * SEC);
	fault(&j, CHAOS_LINK, 0, 0, 10, 20);
	fault(&j, CHAOS_ADDRESS, 1, 1, 15, 30);  /* with h1 no path in 15 to 20 */
	fault(&j, CHAOS_FREEZE, 2, 0, 40, 47);
	fault(&j, CHAOS_ALL_NICS, 3, 0, 60, 61);
	fault(&j, CHAOS_RATE, 0, 0, 70, 80);
	fault(&j, CHAOS_RESET, 0, 0, 90, 90);
	assert_int_equal(chaos_judge_apart(&j, 0, 1, 0, 100 * SEC), 5 * SEC);
	assert_int_equal(chaos_judge_apart(&j, 1, 0, 17 * SEC, 100 * SEC), 3 * SEC);
	assert_int_equal(chaos_judge_apart(&j, 0, 2, 0, 100 * SEC), 7 * SEC);
	assert_int_equal(chaos_judge_apart(&j, 2, 3, 0, 100 * SEC), 8 * SEC);
	assert_int_equal(chaos_judge_calm_since(&j, 1, 2, 100 * SEC), 47 * SEC);
	assert_int_equal(chaos_judge_calm_since(&j, 1, 2, 20 * SEC), 20 * SEC);
	assert_false(chaos_judge_overdue(&j, 1, 2, 1 * SEC, 86 * SEC));
	assert_true(chaos_judge_overdue(&j, 1, 2, 1 * SEC, 88 * SEC));
	assert_false(chaos_judge_overdue(&j, 1, 2, 80 * SEC, 88 * SEC));
	chaos_judge_fini(&j);
}

TEST(planted_codes_are_found)
{
	static const struct {
		int code;
		enum chaos_kind kind;
		unsigned peer, gone, ended;
		bool cancelled;
		uint64_t wrong;
		bool right;
	} table[] = {
		{ 0, CHAOS_WRITE, 1, 0, 5, false, 0, true },
		{ 0, CHAOS_WRITE, 1, 0, 5, false, 1, false },
		{ TCPX_ECANCELED, CHAOS_READ, 1, 0, 5, true, 0, true },
		{ TCPX_ECANCELED, CHAOS_READ, 1, 0, 5, false, 0, false },
		{ TCPX_ECANCELED, CHAOS_RECV, 1, 0, 5, false, 0, true },
		{ TCPX_ECANCELED, CHAOS_SEND, 1, 0, 5, false, 0, false },
		{ TCPX_ECANCELED, CHAOS_SEND, 1, 4, 5, false, 0, true }, /* closing */
		{ TCPX_EPEERGONE, CHAOS_WRITE, 1, 0, 5, false, 0, false },
		{ TCPX_EPEERGONE, CHAOS_WRITE, 1, 6, 5, false, 0, false },
		{ TCPX_EPEERGONE, CHAOS_WRITE, 1, 4, 5, false, 0, true },
		{ TCPX_ESTALLED, CHAOS_WRITE, 1, 0, 35, false, 0, false }, /* 5 s */
		{ TCPX_ESTALLED, CHAOS_WRITE, 2, 0, 51, false, 0, true },  /* 9 s */
		{ TCPX_ESTALLED, CHAOS_WRITE, 2, 0, 90, false, 0, false }, /* long ago */
		{ TCPX_ESTALLED, CHAOS_WRITE, 1, 10, 35, false, 0, true }, /* dead */
		{ TCPX_ETIMEDOUT, CHAOS_SESSION, 2, 0, 51, false, 0, true },
		{ TCPX_ETIMEDOUT, CHAOS_SESSION, 1, 0, 51, false, 0, false },
		{ TCPX_ELIMIT, CHAOS_WRITE, 2, 0, 45, false, 0, true },
		{ TCPX_ELIMIT, CHAOS_READ, 2, 0, 45, false, 0, false },
		{ TCPX_EPROTO, CHAOS_WRITE, 2, 0, 51, false, 0, false },
		{ TCPX_ECLOSED, CHAOS_WRITE, 1, 4, 5, false, 0, false },
		{ -11, CHAOS_WRITE, 1, 4, 5, true, 0, false },
	};
	struct chaos_judge j;

	chaos_judge_init(&j, 3, 2, 10 * SEC, 10 * SEC);
	fault(&j, CHAOS_ALL_NICS, 0, 0, 20, 25);
	fault(&j, CHAOS_FREEZE, 2, 0, 41, 50);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct chaos_outcome o = {
			.kind = table[i].kind, .peer = table[i].peer,
			.peer_gone_ns = table[i].gone * SEC,
			.posted_ns = table[i].ended * SEC - 2 * SEC,
			.ended_ns = table[i].ended * SEC, .code = table[i].code,
			.cancelled = table[i].cancelled, .wrong = table[i].wrong,
		};

		if (!chaos_judge_outcome(&j, &o) != table[i].right)
			fail_msg("row %zu", i);
	}
	chaos_judge_fini(&j);
}

TEST(planted_leaks_are_found)
{
	const struct chaos_held before = { 11, 3, 20000 };
	struct chaos_held after = before;

	assert_null(chaos_judge_held(&before, &after));
	after.fds++;
	assert_string_equal(chaos_judge_held(&before, &after), "descriptors");
	after = before;
	after.threads++;
	assert_string_equal(chaos_judge_held(&before, &after), "threads");
	after = before;
	after.heap += 1 << 20;
	assert_string_equal(chaos_judge_held(&before, &after), "memory");
}
