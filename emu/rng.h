/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that a seed repeats (splitmix64). */
#ifndef EMU_RNG_H
#define EMU_RNG_H

#include <stdint.h>

static inline uint64_t
emu_rng_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* 0 .. n - 1, for small n. */
static inline uint32_t
emu_rng_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((emu_rng_next(state) >> 32) * n >> 32);
}

/* A state derived from others. */
static inline uint64_t
emu_rng_mix(uint64_t a, uint64_t b)
{
	uint64_t state = a ^ (b * 0xd6e8feb86659fd93ull);

	return emu_rng_next(&state);
}

#endif
