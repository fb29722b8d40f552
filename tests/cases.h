/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test cases on cmocka: TEST(name) { ... } puts a case on the list of its program. Cases run
 * in the order of the file. A program without a main() gets that of cases.c.
 */
#ifndef CASES_H
#define CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct test_case {
	struct CMUnitTest test;
	int line;
};

#define TEST(name) TEST_WITH(name, NULL, NULL)
/* Calls @before and @after around the case; NULL: nothing. */
#define TEST_WITH(name, before, after)                                                  \
	static void name(void **state);                                                 \
	static const struct test_case case_of_##name = {                                \
		{ #name, name, before, after, NULL }, __LINE__                          \
	};                                                                              \
	__attribute__((section("test_cases"), used))                                    \
	static const struct test_case *const place_of_##name = &case_of_##name;         \
	static void name(void **state __attribute__((unused)))

/* Runs all cases, @before and @after around all; NULL: nothing. Returns main's status. */
int run_cases(CMFixtureFunction before, CMFixtureFunction after);

#endif
