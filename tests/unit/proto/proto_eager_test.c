/* SPDX-License-Identifier: Apache-2.0 */
/* Byte credit: both sides count alike. */
#include "base_test.h"

#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "proto/eager.h"
#include "proto/frame.h"

TEST(test_a_message_costs_more_than_its_bytes)
{
	struct tcpx_eager_tx t = { .granted = 3 * TCPX_EAGER_KEEP };

	for (int i = 0; i < 3; i++)
		assert_true(tcpx_eager_use(&t, tcpx_eager_cost(0)));
	assert_false(tcpx_eager_use(&t, tcpx_eager_cost(0)));
	assert_int_equal(t.used, t.granted);
}

TEST(test_no_more_than_is_granted)
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
	assert_int_equal(tcpx_eager_grant(&r), 1250);
}

/* Less than a quarter of the window is left, or less than one of the longest messages takes. */
TEST(test_a_window_that_is_short)
{
	uint64_t longest = tcpx_eager_cost(TCPX_LANE_DATA_MAX);
	struct tcpx_eager_rx r = { .window = 256 << 10 }, wide = { .window = 16 * longest };
	const uint64_t len = TCPX_LANE_DATA_MAX;

	(void)tcpx_eager_grant(&r);
	assert_int_equal(tcpx_eager_arrived(&r, (256 << 10) - longest), 0);
	assert_false(tcpx_eager_short(&r, len));
	assert_int_equal(tcpx_eager_arrived(&r, 1), 0);
	assert_true(tcpx_eager_short(&r, len));
	assert_false(tcpx_eager_short(&r, 0)); /* there are none of these */
	(void)tcpx_eager_grant(&wide);
	assert_int_equal(tcpx_eager_arrived(&wide, 12 * longest), 0);
	assert_false(tcpx_eager_short(&wide, len));
	assert_int_equal(tcpx_eager_arrived(&wide, 1), 0);
	assert_true(tcpx_eager_short(&wide, len));
	assert_true(tcpx_eager_short(&wide, 0));
}

TEST(test_what_begins_holds_its_credit)
{
	struct tcpx_eager_rx r = { .window = 1000 };

	assert_int_equal(tcpx_eager_grant(&r), 1000);
	assert_int_equal(tcpx_eager_begins(&r, 1001), TCPX_EPROTO);
	assert_int_equal(tcpx_eager_begins(&r, 800), 0);
	assert_int_equal(tcpx_eager_begins(&r, 201), TCPX_EPROTO);
	assert_int_equal(tcpx_eager_begins(&r, UINT64_MAX), TCPX_EPROTO);
	assert_int_equal(tcpx_eager_arrived(&r, 201), TCPX_EPROTO);
	assert_int_equal(tcpx_eager_arrived(&r, 100), 0);
	tcpx_eager_stops(&r, 800);
	assert_int_equal(tcpx_eager_arrived(&r, 900), 0);
	assert_int_equal(tcpx_eager_begins(&r, 1), TCPX_EPROTO);
}

TEST(test_a_grant_takes_nothing_back)
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
	tcpx_eager_unused(&t, 100);
	assert_true(tcpx_eager_use(&t, 100));
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
			r.window *= tcpx_eager_short(&r, 0) && r.window < (1 << 20) ? 2 : 1;
			grant = tcpx_eager_grant(&r);
		}
		if (tcpx_rng_below(&rng, 2))
			assert_int_equal(tcpx_eager_granted(&t, grant), 0);
		if (taken == put && t.granted == grant)
			assert_true(t.granted - t.used >= r.window / 2);
	}
	assert_true(taken > 500);
}

enum { SENT, COMES, KEPT, OVER };

/* One step of one message: it comes to a receive or into memory that keeps it, begins, is lost and goes
 * again; or its lane ends, and what has not come will not. */
static void
step(struct tcpx_rng *rng, struct tcpx_eager_tx *t, struct tcpx_eager_rx *r, uint64_t cost, uint8_t *at)
{
	uint64_t luck = tcpx_rng_below(rng, 4);

	if (*at == SENT && luck == 0) {
		t->used -= cost;
		*at = OVER;
	} else if (*at == SENT && luck == 1) {
		assert_int_equal(tcpx_eager_arrived(r, cost), 0);
		*at = KEPT;
	} else if (*at == SENT) {
		assert_int_equal(tcpx_eager_begins(r, cost), 0);
		*at = COMES;
	} else if (*at == COMES) {
		tcpx_eager_stops(r, cost);
		if (luck)
			assert_int_equal(tcpx_eager_arrived(r, cost), 0);
		*at = luck ? KEPT : SENT;
	} else if (*at == KEPT) {
		if (tcpx_eager_taken(r, cost))
			assert_int_equal(tcpx_eager_granted(t, tcpx_eager_grant(r)), 0);
		*at = OVER;
	}
}

/* Channels that are lost and lanes that end: what is kept and what begins stays within the window, nobody
 * who keeps to it is refused, and both sides' sums are the same when nothing is under way. */
static void
run_channels(uint64_t seed)
{
	enum { DEEP = 40 };
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct tcpx_eager_tx t = { .granted = 0 };
	struct tcpx_eager_rx r = { .window = TCPX_EAGER_FIRST };
	uint64_t cost[DEEP] = { 0 };
	uint8_t at[DEEP];
	bool open = true;

	memset(at, OVER, sizeof(at));
	assert_int_equal(tcpx_eager_granted(&t, tcpx_eager_grant(&r)), 0);
	for (int n = 0; n < 20000 || open; n++) {
		size_t k = tcpx_rng_below(&rng, DEEP);
		uint64_t now = tcpx_eager_cost(tcpx_rng_below(&rng, TCPX_EAGER_MOST + 1));

		if (at[k] != OVER) {
			step(&rng, &t, &r, cost[k], &at[k]);
		} else if (n < 20000 && tcpx_eager_use(&t, now)) {
			at[k] = SENT;
			cost[k] = now;
		}
		assert_true(r.used - r.taken + r.coming <= r.window);
		open = false;
		for (k = 0; k < DEEP; k++)
			open |= at[k] != OVER;
	}
	assert_int_equal(t.used, r.used);
	assert_int_equal(r.used, r.taken);
	assert_int_equal(r.coming, 0);
}

TEST(test_seeds)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		run_seed(seed);
	for (uint64_t seed = 1; seed <= 50; seed++)
		run_channels(seed);
}
