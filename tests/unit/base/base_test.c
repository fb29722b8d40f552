/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the tests of this folder. */
#include "base_test.h"

#include <time.h>

char captured[16384];

static void
capture(void *arg, int level, const char *line)
{
	size_t len = strlen(captured);

	snprintf(captured + len, sizeof(captured) - len, "%s\n", line);
}

void
capture_start(void)
{
	captured[0] = '\0';
	tcpx_log_sink(capture, NULL);
}

unsigned
captured_count(const char *part)
{
	unsigned count = 0;

	for (const char *at = captured; (at = strstr(at, part)) != NULL; at += strlen(part))
		count++;
	return count;
}

uint64_t
test_seed(void)
{
	const char *fixed = getenv("TCPX_TEST_SEED");
	struct timespec now;

	if (fixed)
		return strtoull(fixed, NULL, 10);
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
