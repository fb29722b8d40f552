/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: the machine's goes forward, a test's goes where the test says. */
#include "base_test.h"

#include <time.h>

#include "base/clock.h"

TEST(system_clock_is_monotonic_nanoseconds)
{
	struct timespec ts;
	uint64_t before, now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	before = (uint64_t)ts.tv_sec * TCPX_SEC + (uint64_t)ts.tv_nsec;
	now = tcpx_clock_now(&tcpx_clock_system);
	assert_true(now >= before);
	assert_true(now - before < 60 * TCPX_SEC);
	assert_true(tcpx_clock_now(&tcpx_clock_system) >= now);
}

static uint64_t
moved(void *arg)
{
	return *(uint64_t *)arg;
}

TEST(clock_can_be_moved)
{
	uint64_t now = 5 * TCPX_MS;
	struct tcpx_clock clock = { moved, &now };

	assert_int_equal(tcpx_clock_now(&clock), 5000000);
	now += TCPX_SEC;
	assert_int_equal(tcpx_clock_now(&clock), 1005000000);
}
