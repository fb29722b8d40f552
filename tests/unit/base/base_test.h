/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the tests of this folder: checks that name the row and, for random tests,
 * the seed; and a log sink that remembers its lines.
 */
#ifndef BASE_TEST_H
#define BASE_TEST_H

#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rng.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define check(name, what, got, want)                                                       \
	do {                                                                               \
		long long got_ = (long long)(got), want_ = (long long)(want);              \
		if (got_ != want_)                                                         \
			fail_msg("%s: %s is %lld, want %lld", name, what, got_, want_);    \
	} while (0)

#define check_text(name, got, want)                                                        \
	do {                                                                               \
		if (strcmp(got, want))                                                     \
			fail_msg("%s: \"%s\", want \"%s\"", name, got, want);              \
	} while (0)

#define check_has(text, part)                                                              \
	do {                                                                               \
		if (!strstr(text, part))                                                   \
			fail_msg("\"%s\" lacks \"%s\"", text, part);                       \
	} while (0)

/* In a test with @seed: repeat it with TCPX_TEST_SEED. */
#define check_random(seed, condition)                                                      \
	do {                                                                               \
		if (!(condition))                                                          \
			fail_msg("TCPX_TEST_SEED=%llu: %s", (unsigned long long)(seed),    \
				 #condition);                                              \
	} while (0)

uint64_t test_seed(void);

/* Lines logged since capture_start(), each with a newline. */
extern char captured[16384];
void capture_start(void);
unsigned captured_count(const char *part);

#endif
