/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time is a value. It comes from a tcpx_clock: the machine's monotonic clock, or one
 * that a test moves.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct tcpx_clock {
	uint64_t (*now_ns)(void *arg);
	void *arg;
};

/* CLOCK_MONOTONIC. */
extern const struct tcpx_clock tcpx_clock_system;

static inline uint64_t
tcpx_clock_now(const struct tcpx_clock *c)
{
	return c->now_ns(c->arg);
}

#define TCPX_MS 1000000ull    /* ns in a millisecond */
#define TCPX_SEC 1000000000ull /* ns in a second      */

#endif
