/* SPDX-License-Identifier: Apache-2.0 */
/*
 * word(k) = fold(fold(key + k * STEP) * MIX) with fold(z) = z ^ z >> 32. Every part can be
 * undone (a fold is its own inverse, odd factors have inverses), so a word gives k back.
 */
#include "tool/gpu/pattern.h"

#include <endian.h>
#include <string.h>

#define STEP         0x9e3779b97f4a7c15ull
#define STEP_INVERSE 0xf1de83e19937733dull
#define MIX          0xbf58476d1ce4e5b9ull
#define MIX_INVERSE  0x96de1b173f119089ull

_Static_assert(STEP * STEP_INVERSE == 1 && MIX * MIX_INVERSE == 1, "inverses modulo 2^64");

static inline uint64_t
fold(uint64_t z)
{
	return z ^ z >> 32;
}

static inline uint64_t
mix(uint64_t z)
{
	return fold(fold(z) * MIX);
}

static inline uint64_t
unmix(uint64_t word)
{
	return fold(fold(word) * MIX_INVERSE);
}

struct pattern
pattern_of(uint64_t seed, uint64_t transfer)
{
	return (struct pattern){ mix(mix(seed + STEP) + transfer * MIX) };
}

uint64_t
pattern_word(struct pattern p, uint64_t index)
{
	return mix(p.key + index * STEP);
}

uint8_t
pattern_byte(struct pattern p, uint64_t offset)
{
	return (uint8_t)(pattern_word(p, offset / 8) >> offset % 8 * 8);
}

void
pattern_fill(struct pattern p, uint64_t offset, void *mem, size_t len)
{
	uint8_t *out = mem;
	uint64_t z;

	for (; len && offset % 8; len--)
		*out++ = pattern_byte(p, offset++);
	z = p.key + offset / 8 * STEP;
	for (; len >= 8; len -= 8, out += 8, offset += 8, z += STEP) {
		uint64_t word = htole64(mix(z));

		memcpy(out, &word, 8);
	}
	for (; len; len--)
		*out++ = pattern_byte(p, offset++);
}

/* Compares one byte at a time. Sets *first at the first wrong byte, unless that is known. */
static uint64_t
count_wrong(struct pattern p, uint64_t offset, const uint8_t *in, size_t len, bool first_known,
	    uint64_t *first)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < len; i++) {
		if (in[i] == pattern_byte(p, offset + i))
			continue;
		if (!first_known && !wrong)
			*first = offset + i;
		wrong++;
	}
	return wrong;
}

uint64_t
pattern_check(struct pattern p, uint64_t offset, const void *mem, size_t len, uint64_t *first)
{
	enum { BLOCK_WORDS = 64 }; /* compared without a branch inside */
	const uint8_t *in = mem;
	size_t head = -offset % 8 < len ? -offset % 8 : len;
	uint64_t wrong = count_wrong(p, offset, in, head, false, first);

	offset += head;
	in += head;
	len -= head;
	while (len >= 8 * BLOCK_WORDS) {
		uint64_t z = p.key + offset / 8 * STEP, differ = 0;

		for (int i = 0; i < BLOCK_WORDS; i++, z += STEP) {
			uint64_t word;

			memcpy(&word, in + 8 * i, 8);
			differ |= le64toh(word) ^ mix(z);
		}
		if (differ)
			wrong += count_wrong(p, offset, in, 8 * BLOCK_WORDS, wrong > 0, first);
		offset += 8 * BLOCK_WORDS;
		in += 8 * BLOCK_WORDS;
		len -= 8 * BLOCK_WORDS;
	}
	return wrong + count_wrong(p, offset, in, len, wrong > 0, first);
}

bool
pattern_find(struct pattern p, uint64_t word, uint64_t len, uint64_t *offset)
{
	uint64_t index = (unmix(word) - p.key) * STEP_INVERSE;

	if (index >= (len + 7) / 8)
		return false;
	*offset = index * 8;
	return true;
}
