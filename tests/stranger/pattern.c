/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern.h"

#include <string.h>

uint64_t
pattern_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

uint64_t
pattern_key(uint64_t seed, unsigned way, uint64_t seq)
{
	return pattern_mix(pattern_mix(seed + way) + seq);
}

size_t
pattern_size(uint64_t key, uint64_t seq, size_t max)
{
	uint64_t random = pattern_mix(key ^ 0x517e);
	unsigned bits = 0;

	if (seq < 3)
		return seq == 0 ? 1 : seq == 1 ? 0 : max;
	if (random % 16 == 0)
		return 0;
	while (((size_t)2 << bits) <= max)
		bits++;
	bits = 1 + (unsigned)(random >> 8) % bits;
	return 1 + (size_t)((random >> 16) % ((uint64_t)1 << bits));
}

void
pattern_fill(uint8_t *at, size_t size, uint64_t key, bool inverse)
{
	uint64_t flip = inverse ? ~(uint64_t)0 : 0;

	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = pattern_mix(key + i) ^ flip;

		memcpy(at + i, &word, size - i < 8 ? size - i : 8);
	}
}

size_t
pattern_differs(const uint8_t *at, size_t size, uint64_t key)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = pattern_mix(key + i);
		size_t n = size - i < 8 ? size - i : 8;

		if (memcmp(at + i, &word, n) == 0)
			continue;
		while (at[i] == ((const uint8_t *)&word)[i % 8])
			i++;
		return i;
	}
	return size;
}
