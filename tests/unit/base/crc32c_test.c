/* SPDX-License-Identifier: Apache-2.0 */
/* CRC32C: published vectors, against one bit at a time, in parts, and joined. */
#include "base_test.h"

#include "base/crc32c.h"

/* RFC 3720, B.4, and the catalogue's check value */
TEST(published_values)
{
	uint8_t data[48] = { 0 };

	assert_int_equal(tcpx_crc32c(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(tcpx_crc32c_table(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(tcpx_crc32c(0, data, 32), 0x8a9136aau);
	memset(data, 0xff, 32);
	assert_int_equal(tcpx_crc32c(0, data, 32), 0x62a8ab43u);
	for (int i = 0; i < 32; i++)
		data[i] = (uint8_t)i;
	assert_int_equal(tcpx_crc32c(0, data, 32), 0x46dd794eu);
	for (int i = 0; i < 32; i++)
		data[i] = (uint8_t)(31 - i);
	assert_int_equal(tcpx_crc32c(0, data, 32), 0x113fdb5cu);
	assert_int_equal(tcpx_crc32c(0, data, 0), 0);
	assert_int_equal(tcpx_crc32c(0x113fdb5cu, data, 0), 0x113fdb5cu);
}

static uint32_t
by_bits(uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static uint8_t room[40000];

/* Lengths about where the ways of summing change, at every alignment. */
TEST(all_ways_agree)
{
	static const size_t near[] = { 0, 1, 7, 8, 9, 383, 384, 385, 767, 768, 3071, 3072, 3073,
				       3456, 6144, 9600, 30000 };
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = (uint8_t)tcpx_rng_next(&rng);
	for (int round = 0; round < 600; round++) {
		size_t at = tcpx_rng_below(&rng, 64);
		size_t len = round < 170 ? near[round % 17] : tcpx_rng_below(&rng, 12000);
		uint32_t from = round % 3 ? (uint32_t)tcpx_rng_next(&rng) : 0;
		uint32_t want = by_bits(from, room + at, len);

		check_random(seed, tcpx_crc32c(from, room + at, len) == want);
		check_random(seed, tcpx_crc32c_table(from, room + at, len) == want);
	}
}

TEST(parts_and_neighbours_sum_alike)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 300; round++) {
		size_t len = tcpx_rng_below(&rng, sizeof(room)), done = 0, part;
		uint32_t whole = tcpx_crc32c(0, room, len), sum = 0, joined = 0, moved = 0;

		for (; done < len; done += part) {
			part = tcpx_rng_between(&rng, 1, len - done);
			sum = tcpx_crc32c(sum, room + done, part);
			joined = tcpx_crc32c_join(joined, tcpx_crc32c(0, room + done, part), part);
			moved = tcpx_crc32c_past(moved, tcpx_crc32c_mover(part)) ^
				tcpx_crc32c(0, room + done, part);
		}
		check_random(seed, sum == whole && joined == whole && moved == whole);
	}
	assert_int_equal(tcpx_crc32c_join(0x12345678, 0, 0), 0x12345678);
}

TEST(every_changed_bit_is_found)
{
	uint32_t right = tcpx_crc32c(0, room, 4096);

	for (size_t bit = 0; bit < 8 * 4096; bit += 5) {
		room[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(tcpx_crc32c(0, room, 4096), right);
		room[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(tcpx_crc32c(0, room, 4096), right);
}

int
main(void)
{
	print_message("# by %s\n", tcpx_crc32c_is_native() ? "instructions" : "a table");
	return run_cases(NULL, NULL);
}
