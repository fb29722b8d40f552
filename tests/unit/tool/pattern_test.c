/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fill in pieces gives the same bytes as one at once, and every wrong byte is
 * found and located.
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tool/gpu/pattern.h"

enum { LEN = 5000 };

TEST(pieces_join_to_the_whole)
{
	struct pattern p = pattern_of(1, 2);
	struct tcpx_rng rng = tcpx_rng_seed(3);
	uint8_t whole[LEN], pieces[LEN];
	size_t at = 0;

	pattern_fill(p, 0, whole, LEN);
	while (at < LEN) {
		size_t n = tcpx_rng_between(&rng, 1, 40);

		n = n < LEN - at ? n : LEN - at;
		pattern_fill(p, at, pieces + at, n);
		at += n;
	}
	assert_memory_equal(whole, pieces, LEN);
	for (size_t i = 0; i < LEN; i++)
		assert_int_equal(whole[i], pattern_byte(p, i));
}

TEST(right_bytes_pass_at_any_offset)
{
	struct pattern p = pattern_of(4, 0);
	uint8_t mem[LEN];
	uint64_t first = 77;

	for (uint64_t offset = 0; offset < 20; offset++)
		for (size_t len = 0; len < LEN; len += 311) {
			pattern_fill(p, offset, mem, len);
			assert_int_equal(pattern_check(p, offset, mem, len, &first), 0);
		}
	assert_int_equal(first, 77);
}

TEST(every_wrong_byte_is_counted_and_the_first_is_named)
{
	struct pattern p = pattern_of(5, 1);
	uint8_t mem[LEN];
	uint64_t first;

	for (uint64_t offset = 0; offset < 9; offset++)
		for (size_t wrong = 0; wrong + 1600 < LEN; wrong += 97) {
			pattern_fill(p, offset, mem, LEN);
			mem[wrong] ^= 1;
			mem[wrong + 1] ^= 0x80;
			mem[wrong + 1600] ^= 0xff;
			assert_int_equal(pattern_check(p, offset, mem, LEN, &first), 3);
			assert_int_equal(first, offset + wrong);
		}
}

TEST(a_word_names_its_place)
{
	struct pattern p = pattern_of(6, 7);
	uint64_t offset;

	for (uint64_t k = 0; k < 1000; k++) {
		assert_true(pattern_find(p, pattern_word(p, k), 8 * 1000, &offset));
		assert_int_equal(offset, 8 * k);
	}
	assert_false(pattern_find(p, pattern_word(p, 1000), 8 * 1000, &offset));
	assert_true(pattern_find(p, pattern_word(p, 1000), 8 * 1000 + 1, &offset));
	assert_false(pattern_find(p, 0, 1 << 20, &offset));
}

TEST(seeds_and_transfers_share_no_words)
{
	uint64_t offset, word = pattern_word(pattern_of(1, 1), 5);

	assert_false(pattern_find(pattern_of(1, 2), word, 1ull << 40, &offset));
	assert_false(pattern_find(pattern_of(2, 1), word, 1ull << 40, &offset));
}
