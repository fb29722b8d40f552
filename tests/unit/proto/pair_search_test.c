/* SPDX-License-Identifier: Apache-2.0 */
/* Where planned pairs of NICs do not connect: which others are tried, in tables and in
 * random networks. */
#include <errno.h>
#include <stdlib.h>

#include "base_test.h"
#include "base/err.h"
#include "proto/pair_search.h"

#define MOST 8

/* NICs by name, each in a subnet of its own but for those of one digit: "a1" and "b1" are
 * on one. */
static uint32_t
nics_of(const char *names, char room[MOST][8], struct tcpx_pair_nic *nic)
{
	uint32_t count = 0;
	int used;

	for (; sscanf(names, " %7s%n", room[count], &used) == 1; names += used, count++) {
		const char *digit = strpbrk(room[count], "0123456789");

		nic[count] = (struct tcpx_pair_nic){ .name = room[count],
			.addr = { .family = 4, .prefix = digit ? 24 : 32,
				  .ip = { 10, digit ? (uint8_t)(*digit - '0') : 100, 0, (uint8_t)room[count][0] } } };
	}
	return count;
}

struct net {
	char near_room[MOST][8], far_room[MOST][8];
	struct tcpx_pair_nic near[MOST], far[MOST];
	uint32_t near_count, far_count;
	struct tcpx_pair_search *search;
};

static void
open_net(struct net *n, const char *near, const char *far)
{
	n->near_count = nics_of(near, n->near_room, n->near);
	n->far_count = nics_of(far, n->far_room, n->far);
	n->search = tcpx_pair_search_new(n->near, n->near_count, n->far, n->far_count);
	assert_non_null(n->search);
}

/* One channel each way on each pair of the plan; then the first, receiving, does what the
 * table says. */
static const struct {
	const char *name, *near, *far;
	const char *plan;   /* "0-0 1-1": of each pair a channel that sends and one that receives */
	const char *stands; /* pairs that connect */
	const char *fails;  /* pairs that have failed, the last is asked about */
	bool nothing;
	const char *next;   /* "" none */
} cases[] = {
	{ "a guess: a far NIC without a pair goes first", "x y", "u v w", "0-0 1-1", "", "0-0", true, "0-2" },
	{ "... than one whose attempt runs", "x y", "u v", "0-0 1-1", "", "0-0", true, "0-1" },
	{ "what failed is not tried again", "x y", "u v w", "0-0 1-1", "", "0-2 0-0", true, "0-1" },
	{ "what another channel tries is waited for", "x", "u v", "0-0 0-1", "", "0-0", true, "0-1" },
	{ "all have failed", "x", "u v", "0-0", "", "0-1 0-0", true, "" },
	{ "... and another NIC has no channel yet", "x y", "u", "0-0", "", "0-0", true, "1-0" },
	{ "... but on one subnet it waits", "x1 y1", "u1", "0-0", "", "0-0", false, "" },
	{ "it has a pair of its own by now", "x y", "u v", "0-0 1-1", "1-0 0-1", "0-0", false, "0-1" },
	{ "a pair on one subnet waits for its NICs", "x1 y2", "u1 v2", "0-0 1-1", "1-1", "0-0", false, "" },
	{ "... but for another on that subnet", "x1 y1", "u1 v1", "0-0 1-1", "", "0-0", false, "0-1" },
	{ "... or where nothing connects", "x1 y2", "u1 v2", "0-0 1-1", "", "0-0", true, "0-1" },
	{ "a NIC with two pairs lends one to a far NIC that it does not reach", "x y", "u v w",
	  "0-0 1-1 0-2", "0-0 1-1", "0-2", false, "1-2" },
	{ "... and keeps it where nobody reaches that", "x y", "u v w", "0-0 1-1 0-2", "0-0 1-1", "1-2 0-2",
	  false, "0-0" },
	{ "it goes where fewest go", "x", "u v w", "0-0 0-0 0-1 0-2", "0-0 0-1", "0-2", false, "0-1" },
	{ "on one subnet it waits beside the others", "x1", "u1 v1 w1", "0-0 0-1 0-2", "0-0 0-1", "0-2", false,
	  "" },
};

static bool
pair_next(const char **text, struct tcpx_pair *p)
{
	unsigned near, far;
	int used;

	if (sscanf(*text, " %u-%u%n", &near, &far, &used) != 2)
		return false;
	*text += used;
	*p = (struct tcpx_pair){ (uint16_t)near, (uint16_t)far };
	return true;
}

TEST(the_next_pair_follows_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *plan = cases[i].plan, *stands = cases[i].stands, *fails = cases[i].fails;
		struct tcpx_pair p, to;
		char text[16] = "";
		struct net n;

		open_net(&n, cases[i].near, cases[i].far);
		while (pair_next(&plan, &p)) {
			tcpx_pair_search_join(n.search, p, false);
			tcpx_pair_search_join(n.search, p, true);
		}
		while (pair_next(&stands, &p))
			tcpx_pair_search_found(n.search, p, 0);
		while (pair_next(&fails, &p))
			tcpx_pair_search_found(n.search, p, -ETIMEDOUT);
		if (tcpx_pair_search_next(n.search, p, true, cases[i].nothing, &to))
			snprintf(text, sizeof(text), "%u-%u", to.near, to.far);
		check_text(cases[i].name, text, cases[i].next);
		free(n.search);
	}
}

TEST(a_nic_without_an_address_is_left_for_later)
{
	struct tcpx_pair p = { 0, 0 }, to;
	struct net n;

	open_net(&n, "x", "u v");
	memset(n.far[0].addr.ip, 0, sizeof(n.far[0].addr.ip));
	free(n.search);
	n.search = tcpx_pair_search_new(n.near, n.near_count, n.far, n.far_count);
	assert_non_null(n.search);
	tcpx_pair_search_found(n.search, p, -EADDRNOTAVAIL);
	assert_false(tcpx_pair_search_next(n.search, p, true, true, &to));
	free(n.search);
}

TEST(what_connected_once_is_not_left)
{
	struct tcpx_pair p = { 0, 0 }, to;
	struct net n;

	open_net(&n, "x", "u v");
	tcpx_pair_search_found(n.search, p, 0);
	tcpx_pair_search_found(n.search, p, -ETIMEDOUT);
	assert_true(tcpx_pair_search_stands(n.search, p));
	assert_false(tcpx_pair_search_failed(n.search, p));
	assert_false(tcpx_pair_search_next(n.search, p, true, true, &to));
	free(n.search);
}

TEST(the_list_names_each_pair_and_its_error)
{
	struct net n;
	char text[128];

	open_net(&n, "x y", "u v w");
	tcpx_pair_search_found(n.search, (struct tcpx_pair){ 1, 0 }, -ETIMEDOUT);
	tcpx_pair_search_found(n.search, (struct tcpx_pair){ 1, 2 }, -EADDRNOTAVAIL);
	assert_int_equal(tcpx_pair_search_list(n.search, 0, n.far, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	tcpx_pair_search_list(n.search, 1, n.far, text, sizeof(text));
	assert_string_equal(text, "u 10.100.0.117: no answer; w 10.100.0.119: no such address there");
	assert_int_equal(tcpx_pair_search_list(n.search, 1, n.far, text, 8), 7);
	assert_string_equal(text, "u 10.10");
	free(n.search);
}

/* Random networks: after at most one attempt of each pair every NIC that reaches one has a
 * channel each way on a pair that connects, and nobody has tried a pair twice. */
TEST(every_nic_with_a_path_finds_it)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 2000; round++) {
		static const char *const names[] = { "a b c d e f g h", "a1 b1 c1 d1 e1 f1 g1 h1" };
		bool reaches[MOST][MOST], tried[2][MOST][MOST] = { 0 };
		struct tcpx_pair at[2][2 * MOST];
		bool up[2][2 * MOST] = { 0 }, moved = true;
		struct net n;
		int pairs;

		open_net(&n, names[round % 2], names[round % 2]);
		n.near_count = 1 + (uint32_t)tcpx_rng_below(&rng, MOST);
		n.far_count = 1 + (uint32_t)tcpx_rng_below(&rng, MOST);
		free(n.search);
		n.search = tcpx_pair_search_new(n.near, n.near_count, n.far, n.far_count);
		pairs = tcpx_pair_plan(n.near, n.near_count, n.far, n.far_count, at[0], 0);
		assert_true(tcpx_pair_plan(n.near, n.near_count, n.far, n.far_count, at[0],
					   (uint32_t)pairs) > 0);
		memcpy(at[1], at[0], sizeof(at[0]));
		for (uint32_t i = 0; i < n.near_count; i++)
			for (uint32_t j = 0; j < n.far_count; j++)
				reaches[i][j] = tcpx_rng_below(&rng, 3) == 0;
		for (int k = 0; k < 2 * pairs; k++)
			tcpx_pair_search_join(n.search, at[k % 2][k / 2], k % 2);
		while (moved) {
			moved = false;
			for (int k = 0; k < 2 * pairs; k++) {
				struct tcpx_pair *p = &at[k % 2][k / 2], to;
				bool yes = reaches[p->near][p->far];

				if (up[k % 2][k / 2])
					continue;
				up[k % 2][k / 2] = yes;
				tcpx_pair_search_found(n.search, *p, yes ? 0 : -ETIMEDOUT);
				if (!tried[k % 2][p->near][p->far])
					moved = true;
				tried[k % 2][p->near][p->far] = true;
				if (yes || !tcpx_pair_search_next(n.search, *p, k % 2, true, &to))
					continue;
				check_random(seed, to.near != p->near || to.far != p->far);
				tcpx_pair_search_leave(n.search, *p, k % 2);
				tcpx_pair_search_join(n.search, to, k % 2);
				*p = to;
				moved = true;
			}
		}
		for (uint32_t i = 0; i < n.near_count; i++) {
			bool could = false, has[2] = { false, false };

			for (uint32_t j = 0; j < n.far_count; j++)
				could |= reaches[i][j];
			for (int k = 0; k < 2 * pairs; k++)
				has[k % 2] |= up[k % 2][k / 2] && at[k % 2][k / 2].near == i;
			check_random(seed, could == has[0] && could == has[1]);
		}
		free(n.search);
	}
}

TEST(a_silent_attempt_is_repeated_and_then_left)
{
	uint64_t wait_ns = tcpx_pair_patience_ns(0);

	assert_int_equal(wait_ns, 250000000);
	assert_int_equal(tcpx_pair_patience_ns(100000000), 400000000);
	assert_int_equal(tcpx_pair_patience_ns(UINT64_MAX), 1000000000);
	assert_int_equal(tcpx_pair_judge(5, 1, false, wait_ns, 4 + wait_ns), TCPX_PAIR_WAIT);
	assert_int_equal(tcpx_pair_judge(5, 1, false, wait_ns, 5 + wait_ns), TCPX_PAIR_REPEAT);
	assert_int_equal(tcpx_pair_judge(5, 1, true, wait_ns, 5 + wait_ns), TCPX_PAIR_REPEAT);
	assert_int_equal(tcpx_pair_judge(5, 2, false, wait_ns, 5 + wait_ns), TCPX_PAIR_SILENT);
	assert_int_equal(tcpx_pair_judge(5, 2, true, wait_ns, 5 + wait_ns), TCPX_PAIR_WAIT);
}

int
main(void)
{
	return run_cases(NULL, NULL);
}
