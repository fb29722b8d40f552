/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the repeatable ones and the ones for keys. */
#include "base_test.h"

#include "base/random.h"

TEST(same_seed_same_numbers)
{
	struct tcpx_rng rng = tcpx_rng_seed(1234567);

	/* from the generator's published reference */
	assert_true(tcpx_rng_next(&rng) == 6457827717110365317u);
	assert_true(tcpx_rng_next(&rng) == 3203168211198807973u);
	assert_true(tcpx_rng_next(&rng) == 9817491932198370423u);
}

TEST(below_and_between_keep_their_bounds_and_reach_them)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	unsigned seen[5] = { 0 };

	for (int i = 0; i < 5000; i++) {
		uint64_t v = tcpx_rng_between(&rng, 10, 14);

		check_random(seed, v >= 10 && v <= 14);
		seen[v - 10]++;
	}
	for (int i = 0; i < 5; i++)
		check_random(seed, seen[i] > 700 && seen[i] < 1300);
	assert_int_equal(tcpx_rng_below(&rng, 0), 0);
	assert_int_equal(tcpx_rng_below(&rng, 1), 0);
	check_random(seed, tcpx_rng_below(&rng, (1ull << 63) + 1) <= 1ull << 63);
}

TEST(kernel_bytes_fill_all_and_differ)
{
	/* longer than one getrandom() is sure to give whole */
	static unsigned char a[1000], b[1000], none[64];

	assert_int_equal(tcpx_random_bytes(a, sizeof(a)), 0);
	assert_int_equal(tcpx_random_bytes(b, sizeof(b)), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a + sizeof(a) - sizeof(none), none, sizeof(none));
	assert_int_equal(tcpx_random_bytes(a, 0), 0);
}
