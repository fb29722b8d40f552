/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small generator for tests and jitter (splitmix64): one seed gives the same numbers on
 * every machine. Keys come from random.h, never from here.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct tcpx_rng {
	uint64_t state;
};

static inline struct tcpx_rng
tcpx_rng_seed(uint64_t seed)
{
	return (struct tcpx_rng){ seed };
}

static inline uint64_t
tcpx_rng_next(struct tcpx_rng *rng)
{
	uint64_t z = (rng->state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Evenly distributed in [0, n); 0 when n is 0. */
static inline uint64_t
tcpx_rng_below(struct tcpx_rng *rng, uint64_t n)
{
	uint64_t odd = n ? -n % n : 0; /* 2^64 mod n: the values that would make it uneven */
	uint64_t v;

	do
		v = tcpx_rng_next(rng);
	while (v < odd);
	return n ? v % n : 0;
}

/* Evenly distributed in [low, high]; high is below 2^64 - 1 or low above 0. */
static inline uint64_t
tcpx_rng_between(struct tcpx_rng *rng, uint64_t low, uint64_t high)
{
	return low + tcpx_rng_below(rng, high - low + 1);
}

#endif
