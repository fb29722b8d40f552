/* SPDX-License-Identifier: Apache-2.0 */
/* When refusals prove that a peer has gone. */
#include "base_test.h"
#include "proto/health.h"

#define MS 1000000ull

static void
two_rounds_apart_are_the_proof(void **state)
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

		while (!tcpx_refused_again(&r, rows[i].addresses, rows[i].apart_ms * MS, at * MS))
			at += rows[i].every_ms;
		if (at != rows[i].proven_at_ms)
			fail_msg("row %zu: proven after %llu ms", i, (unsigned long long)at);
	}
}

static void
one_answer_in_between_takes_it_back(void **state)
{
	struct tcpx_refusals r = { 0 };

	for (uint64_t ms = 0; ms < 10000; ms += 20) {
		if (ms % 400 == 380)
			r.row = 0; /* a time-out, or an address that listens */
		assert_false(tcpx_refused_again(&r, 2, 500 * MS, ms * MS));
	}
}

static void
a_reset_connection_proves_less_than_a_closed_one(void **state)
{
	assert_int_equal(tcpx_rounds_apart(true, 10000 * MS), 500 * MS);
	assert_int_equal(tcpx_rounds_apart(false, 10000 * MS), 2500 * MS);
	assert_int_equal(tcpx_rounds_apart(false, 1000 * MS), 500 * MS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_rounds_apart_are_the_proof),
		cmocka_unit_test(one_answer_in_between_takes_it_back),
		cmocka_unit_test(a_reset_connection_proves_less_than_a_closed_one),
	};

	return cmocka_run_group_tests_name("proto/health", tests, NULL, NULL);
}
