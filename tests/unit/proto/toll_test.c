/* SPDX-License-Identifier: Apache-2.0 */
#include "base_test.h"

#include "proto/breach.h"
#include "proto/toll.h"

#define MS   1000000ull
#define SEC  (1000 * MS)
#define NOW  (1000 * SEC)
#define MOST (300 * MS)
#define FIRST (100 * MS)
#define COST (TCPX_TOLL_ENTRY_NS * TCPX_TOLL_TIMES)

TEST(a_little_is_free_after_a_while)
{
	struct tcpx_toll t = { .paid_ns = NOW };
	uint64_t free_entries = TCPX_TOLL_FREE_NS / COST;

	tcpx_toll_charge(&t, 1, MOST, NOW);
	assert_true(tcpx_toll_is_due(&t, NOW));
	assert_false(tcpx_toll_is_due(&t, NOW + COST));
	tcpx_toll_charge(&t, free_entries, MOST, NOW + SEC);
	assert_false(tcpx_toll_is_due(&t, NOW + SEC));
	tcpx_toll_charge(&t, 1, MOST, NOW + SEC);
	assert_true(tcpx_toll_is_due(&t, NOW + SEC));
	assert_int_equal(t.paid_ns, NOW + SEC + COST);
}

TEST(nobody_waits_for_long)
{
	struct tcpx_toll t = { 0 };

	for (int i = 0; i < 3; i++) {
		tcpx_toll_charge(&t, UINT32_MAX, MOST, NOW);
		assert_int_equal(t.paid_ns, NOW + MOST);
	}
}

/* Whatever is asked for, and whenever it may be. */
TEST(who_is_always_refused_has_a_small_part)
{
	struct tcpx_toll t = { .paid_ns = NOW };
	uint64_t now_ns = NOW, busy_ns = 0;

	for (int i = 0; i < 10000; i++) {
		uint32_t entries = 500 + (uint32_t)(i * 2654435761u % 400000);

		tcpx_toll_charge(&t, entries, MOST, now_ns);
		busy_ns += entries * TCPX_TOLL_ENTRY_NS;
		now_ns += entries * TCPX_TOLL_ENTRY_NS;
		if (tcpx_toll_is_due(&t, now_ns))
			now_ns = t.paid_ns;
	}
	assert_in_range(busy_ns, 1, (now_ns - NOW) / 20);
}

TEST(who_broke_the_protocol_comes_later_each_time)
{
	static const uint64_t wait_ms[] = { 100, 200, 400, 800, 1600, 3200, 3200 };
	struct tcpx_breaches b = { 0 };
	uint64_t now_ns = NOW;

	assert_int_equal(tcpx_breach_until(&b, FIRST, now_ns), 0);
	for (size_t i = 0; i < ARRAY_LEN(wait_ms); i++) {
		uint64_t until_ns = now_ns + wait_ms[i] * MS;

		tcpx_breach(&b, now_ns);
		assert_int_equal(tcpx_breach_until(&b, FIRST, now_ns), until_ns);
		assert_int_equal(tcpx_breach_until(&b, FIRST, until_ns - 1), until_ns);
		assert_int_equal(tcpx_breach_until(&b, FIRST, until_ns), 0);
		now_ns = until_ns;
	}
}

TEST(breaches_are_forgotten)
{
	struct tcpx_breaches b = { 0 };

	for (int i = 0; i < 100; i++)
		tcpx_breach(&b, NOW);
	tcpx_breach(&b, NOW + 1000 * TCPX_BREACH_FORGET_NS);
	assert_int_equal(b.count, 1);
	assert_int_equal(tcpx_breach_until(&b, FIRST, b.newest_ns), b.newest_ns + 100 * MS);
}

TEST(those_from_there_take_turns_after_many)
{
	struct tcpx_breaches b = { 0 };

	for (uint64_t i = 1; i < TCPX_BREACH_FEW; i++) {
		tcpx_breach(&b, NOW);
		assert_int_equal(tcpx_breach_turn(&b, NOW, FIRST, NOW), 0);
	}
	tcpx_breach(&b, NOW);
	assert_int_equal(tcpx_breach_turn(&b, NOW, FIRST, NOW), NOW + 25 * MS);
	assert_int_equal(tcpx_breach_turn(&b, NOW, FIRST, NOW + 25 * MS), 0);
	assert_int_equal(tcpx_breach_turn(&b, NOW - 25 * MS, FIRST, NOW), 0);
	assert_int_equal(tcpx_breach_turn(&b, NOW, 0, NOW), 0);
	/* one is forgotten */
	assert_int_equal(tcpx_breach_turn(&b, NOW + TCPX_BREACH_FORGET_NS, FIRST, NOW + TCPX_BREACH_FORGET_NS), 0);
}
