/* SPDX-License-Identifier: Apache-2.0 */
/* Byte credit: both sides count alike. */
#include "base_test.h"

#include "base/err.h"
#include "base/rng.h"
#include "proto/eager.h"

static void
test_a_message_costs_more_than_its_bytes(void **state)
{
	struct tcpx_eager_tx t = { .granted = 3 * TCPX_EAGER_KEEP };

	for (int i = 0; i < 3; i++)
		assert_true(tcpx_eager_use(&t, tcpx_eager_cost(0)));
	assert_false(tcpx_eager_use(&t, tcpx_eager_cost(0)));
	assert_int_equal(t.used, t.granted);
}

static void
test_no_more_than_is_granted(void **state)
{
	struct tcpx_eager_rx r = { .window = 1000 };

	assert_int_equal(tcpx_eager_arrived(&r, 1), TCPX_EPROTO);
	assert_int_equal(tcpx_eager_grant(&r), 1000);
	assert_int_equal(tcpx_eager_arrived(&r, 1001), TCPX_EPROTO);
	assert_int_equal(tcpx_eager_arrived(&r, 800), 0);
	assert_int_equal(tcpx_eager_arrived(&r, 201), TCPX_EPROTO);
	assert_int_equal(tcpx_eager_arrived(&r, UINT64_MAX), TCPX_EPROTO);
	assert_false(tcpx_eager_taken(&r, 100));
	assert_int_equal(tcpx_eager_arrived(&r, 201), TCPX_EPROTO); /* not granted yet */
	assert_true(tcpx_eager_taken(&r, 150));
	assert_true(tcpx_eager_short(&r));
	assert_int_equal(tcpx_eager_grant(&r), 1250);
	assert_false(tcpx_eager_short(&r));
}

static void
test_a_grant_takes_nothing_back(void **state)
{
	struct tcpx_eager_tx t = { .granted = 0 };

	assert_false(tcpx_eager_use(&t, 1));
	assert_int_equal(tcpx_eager_granted(&t, 100), 0);
	assert_int_equal(tcpx_eager_granted(&t, 100), 0);
	assert_int_equal(tcpx_eager_granted(&t, 99), TCPX_EPROTO);
	assert_true(tcpx_eager_use(&t, 100));
	assert_int_equal(tcpx_eager_granted(&t, UINT64_MAX), 0);
	assert_true(tcpx_eager_use(&t, UINT64_MAX - 100));
	assert_false(tcpx_eager_use(&t, 1));
}

/* Messages and grants on their way for as long as they like: no more is kept than the window, and a
 * sender that waits gets on once all is taken. */
static void
run_seed(uint64_t seed)
{
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct tcpx_eager_tx t = { .granted = 0 };
	struct tcpx_eager_rx r = { .window = TCPX_EAGER_LEAST };
	uint64_t wire[4096], kept[4096], put = 0, got = 0, taken = 0, grant = tcpx_eager_grant(&r);

	for (int step = 0; step < 4000; step++) {
		uint64_t cost = tcpx_eager_cost(tcpx_rng_below(&rng, 9000));

		if (tcpx_rng_below(&rng, 2) && tcpx_eager_use(&t, cost))
			wire[put++] = cost;
		if (tcpx_rng_below(&rng, 2) && got < put) {
			kept[got] = wire[got];
			assert_int_equal(tcpx_eager_arrived(&r, wire[got++]), 0);
		}
		assert_true(r.used - r.taken <= r.window);
		if (tcpx_rng_below(&rng, 2) && taken < got && tcpx_eager_taken(&r, kept[taken++])) {
			r.window *= tcpx_eager_short(&r) && r.window < (1 << 20) ? 2 : 1;
			grant = tcpx_eager_grant(&r);
		}
		if (tcpx_rng_below(&rng, 2))
			assert_int_equal(tcpx_eager_granted(&t, grant), 0);
		if (taken == put && t.granted == grant)
			assert_true(t.granted - t.used >= r.window / 2);
	}
	assert_true(taken > 500);
}

static void
test_seeds(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		run_seed(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_costs_more_than_its_bytes),
		cmocka_unit_test(test_no_more_than_is_granted),
		cmocka_unit_test(test_a_grant_takes_nothing_back),
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests_name("eager", tests, NULL, NULL);
}
