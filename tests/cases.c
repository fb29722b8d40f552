/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <stdlib.h>

/* The linker names both ends of the section that TEST() writes to. */
extern const struct test_case *const __start_test_cases[], *const __stop_test_cases[];

static int
by_line(const void *a, const void *b)
{
	const struct test_case *const *x = a, *const *y = b;

	return (*x)->line - (*y)->line;
}

int
run_cases(CMFixtureFunction before, CMFixtureFunction after)
{
	size_t count = (size_t)(__stop_test_cases - __start_test_cases);
	const struct test_case **all = calloc(count, sizeof(*all));
	struct CMUnitTest *tests = calloc(count, sizeof(*tests));
	int failed = 1;

	if (all && tests) {
		for (size_t i = 0; i < count; i++)
			all[i] = __start_test_cases[i];
		qsort(all, count, sizeof(*all), by_line);
		for (size_t i = 0; i < count; i++)
			tests[i] = all[i]->test;
		failed = _cmocka_run_group_tests("tests", tests, count, before, after);
	}
	free(all);
	free(tests);
	return failed;
}

__attribute__((weak)) int
main(void)
{
	return run_cases(NULL, NULL);
}
