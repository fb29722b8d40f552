/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's monotonic clock behind the clock interface. */
#include "base/clock.h"

#include <time.h>

static uint64_t
system_now_ns(void *arg)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * TCPX_SEC + (uint64_t)ts.tv_nsec;
}

const struct tcpx_clock tcpx_clock_system = { .now_ns = system_now_ns };
