/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes for a party out of a whole: refused above either limit, and always some for the next. */
#include "base_test.h"

#include <pthread.h>

#include "base/quota.h"

TEST(a_party_has_its_limit)
{
	struct tcpx_quota whole = { .limit = 1000 }, a = { .limit = 100, .whole = &whole };

	assert_false(tcpx_quota_charge(&a, 101));
	assert_true(tcpx_quota_charge(&a, 60));
	assert_false(tcpx_quota_charge(&a, 41));
	assert_false(tcpx_quota_charge(&a, UINT64_MAX));
	assert_true(tcpx_quota_charge(&a, 40));
	assert_int_equal(tcpx_quota_used(&whole), 100);
	tcpx_quota_give(&a, 60);
	assert_int_equal(tcpx_quota_used(&a), 40);
	assert_int_equal(tcpx_quota_used(&whole), 40);
}

TEST(the_whole_has_its_limit)
{
	struct tcpx_quota whole = { .limit = 100 };

	assert_true(tcpx_quota_charge(&whole, 100));
	assert_false(tcpx_quota_charge(&whole, 1));
	tcpx_quota_give(&whole, 100);
	assert_true(tcpx_quota_charge(&whole, 0));
}

static uint64_t
fill(struct tcpx_quota *q)
{
	while (tcpx_quota_charge(q, 1))
		;
	return tcpx_quota_used(q);
}

TEST(greedy_ones_leave_a_share_for_the_next)
{
	struct tcpx_quota whole = { .limit = 1000 }, of[10];

	for (int i = 0; i < 10; i++)
		of[i] = (struct tcpx_quota){ .limit = 1000, .whole = &whole };
	assert_int_equal(fill(&of[0]), 500);
	assert_int_equal(fill(&of[1]), 250);
	for (int i = 2; i < 9; i++)
		fill(&of[i]);
	assert_in_range(fill(&of[9]), 1, 100);
	tcpx_quota_give(&of[0], 500);
	assert_true(tcpx_quota_charge(&of[9], 100));
}

TEST(a_group_leaves_as_much_as_it_has)
{
	struct tcpx_quota whole = { .limit = 1000 };
	struct tcpx_quota group[2] = { { .limit = 500, .whole = &whole }, { .limit = 500, .whole = &whole } };
	struct tcpx_quota of[20];

	for (int i = 0; i < 20; i++)
		of[i] = (struct tcpx_quota){ .limit = 1000, .whole = &group[i / 10] };
	assert_int_equal(fill(&of[0]), 250); /* as much as is left to its group */
	assert_int_equal(fill(&of[1]), 125);
	for (int i = 2; i < 10; i++)
		fill(&of[i]);
	assert_in_range(tcpx_quota_used(&group[0]), 490, 500);
	assert_int_equal(tcpx_quota_used(&whole), tcpx_quota_used(&group[0]));
	assert_in_range(fill(&of[10]), 250, 260);
	for (int i = 0; i < 11; i++)
		tcpx_quota_give(&of[i], tcpx_quota_used(&of[i]));
	assert_int_equal(tcpx_quota_used(&group[0]), 0);
	assert_int_equal(tcpx_quota_used(&whole), 0);
}

/* Others of it keep nobody's answers out; the whole does. */
TEST(what_a_group_has_is_no_limit_for_answers)
{
	struct tcpx_quota whole = { .limit = 120 }, group = { .limit = 50, .whole = &whole };
	struct tcpx_quota a = { .limit = 100, .whole = &group };

	assert_true(tcpx_quota_charge(&group, 50));
	assert_false(tcpx_quota_charge(&a, 1));
	assert_true(tcpx_quota_draw(&a, 60));
	assert_int_equal(tcpx_quota_used(&group), 110);
	assert_int_equal(tcpx_quota_used(&whole), 110);
	assert_false(tcpx_quota_draw(&a, 11));
	assert_int_equal(tcpx_quota_used(&a), 60);
	assert_int_equal(tcpx_quota_used(&group), 110);
	tcpx_quota_give(&a, 60);
	assert_int_equal(tcpx_quota_used(&whole), 50);
}

TEST(a_reserve_is_for_answers)
{
	struct tcpx_quota whole = { .limit = 150 };
	struct tcpx_quota a = { .limit = 100, .reserve = 20, .whole = &whole };

	assert_int_equal(fill(&a), 75); /* as much as is left */
	assert_true(tcpx_quota_draw(&a, 25));
	assert_false(tcpx_quota_draw(&a, 1));
	tcpx_quota_give(&a, 30);
	assert_false(tcpx_quota_charge(&a, 11));
	assert_true(tcpx_quota_charge(&a, 5));
}

#define THREADS 4
#define ROUNDS  20000

static void *
in_and_out(void *arg)
{
	struct tcpx_quota *q = arg;
	uintptr_t in = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if (!tcpx_quota_charge(q, 7))
			continue;
		in++;
		tcpx_quota_give(q, 7);
	}
	return (void *)in;
}

TEST(threads_neither_lose_nor_find_bytes)
{
	struct tcpx_quota whole = { .limit = 40 }, q = { .limit = 20, .whole = &whole };
	pthread_t t[THREADS];
	uintptr_t all = 0;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, in_and_out, &q), 0);
	for (int i = 0; i < THREADS; i++) {
		void *in;

		pthread_join(t[i], &in);
		all += (uintptr_t)in;
	}
	assert_true(all > 0);
	assert_int_equal(tcpx_quota_used(&q), 0);
	assert_int_equal(tcpx_quota_used(&whole), 0);
}

static uint64_t hoard, had_last;

static bool
yields(struct tcpx_quota *whole, uint64_t bytes, uint64_t had)
{
	uint64_t some = bytes < hoard ? bytes : hoard;

	had_last = had;
	tcpx_quota_give(whole, some);
	hoard -= some;
	return some > 0;
}

TEST(what_matters_least_is_given_up_for_the_whole_alone)
{
	struct tcpx_quota whole = { .limit = 1000, .yield = yields };
	struct tcpx_quota a = { .limit = 200, .whole = &whole };

	hoard = 900;
	assert_true(tcpx_quota_charge(&whole, 900));
	assert_true(tcpx_quota_charge(&a, 40));
	assert_int_equal(hoard, 900); /* there was room */
	assert_true(tcpx_quota_charge(&a, 30));
	assert_int_equal(hoard, 840); /* and as much is free as it has */
	assert_int_equal(had_last, 70);
	assert_false(tcpx_quota_charge(&a, 150));
	assert_false(tcpx_quota_charge(&a, UINT64_MAX));
	assert_int_equal(hoard, 840); /* its own limit is none of theirs */
	assert_true(tcpx_quota_draw(&a, 130));
	assert_int_equal(had_last, 0); /* answers are asked for no share */
	assert_int_equal(tcpx_quota_used(&whole), 200 + hoard);
	assert_int_equal(tcpx_quota_used(&a), 200);
}

TEST(when_there_is_no_more_of_it_the_whole_is_full)
{
	struct tcpx_quota whole = { .limit = 100, .yield = yields };
	struct tcpx_quota a = { .limit = 100, .whole = &whole };

	hoard = 5;
	assert_true(tcpx_quota_charge(&whole, 95));
	assert_false(tcpx_quota_charge(&a, 50));
	assert_int_equal(hoard, 0);
	assert_int_equal(tcpx_quota_used(&a), 0);
	assert_int_equal(tcpx_quota_used(&whole), 90);
}
