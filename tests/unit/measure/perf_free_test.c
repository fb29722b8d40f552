/* SPDX-License-Identifier: Apache-2.0 */
/* Free memory is what the machine and our container both have left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "measure/perf/free_memory.h"
#include "tool/tool.h"

enum { FILES = 7 };
static const char *const names[FILES] = {
	"/proc/meminfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
	"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
	"/sys/fs/cgroup/memory.stat", "/sys/fs/cgroup/memory/memory.stat",
};

#define MEMINFO "MemTotal: 9 kB\nMemFree:  1 kB\nMemAvailable:     8 kB\nCached: 3 kB\n"
static const struct {
	const char *text[FILES]; /* NULL: no such file */
	uint64_t bytes;
} machines[] = {
	{ { NULL }, 0 },
	{ { MEMINFO }, 8192 },
	{ { "MemTotal: 9 kB\n" }, 0 },
	{ { MEMINFO, "max\n", "77\n" }, 8192 },
	{ { MEMINFO, "5000\n", "1000\n" }, 4000 },
	{ { MEMINFO, "5000\n", "6000\n" }, 0 },
	{ { MEMINFO, "9000000\n", "1000\n" }, 8192 },
	{ { MEMINFO, NULL, NULL, "3000\n", "1000\n" }, 2000 },
	{ { MEMINFO, "5000\n", "4000\n", NULL, NULL, "anon 7\ninactive_file 3000\n" }, 4000 },
	{ { MEMINFO, "5000\n", "4000\n", NULL, NULL, "inactive_file 9000\n" }, 5000 },
	{ { MEMINFO, NULL, NULL, "3000\n", "2000\n", NULL,
	    "inactive_file 1\ntotal_inactive_file 500\n" }, 1500 },
	{ { MEMINFO, NULL, NULL, "9223372036854771712\n", "1000\n" }, 8192 },
};

static void
free_memory_is_the_least(void **state)
{
	static const char *const folders[] = { "/proc", "/sys", "/sys/fs", "/sys/fs/cgroup",
					       "/sys/fs/cgroup/memory" };
	char root[] = "/tmp/free-XXXXXX", path[128], command[160];

	(void)state;
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		for (int k = 0; k < FILES; k++) {
			FILE *f;

			snprintf(path, sizeof(path), "%s%s", root, names[k]);
			remove(path);
			f = machines[i].text[k] ? fopen(path, "w") : NULL;
			if (f) {
				fputs(machines[i].text[k], f);
				fclose(f);
			}
		}
		if (perf_free_bytes_at(root) != machines[i].bytes)
			fail_msg("machine %zu has %llu", i,
				 (unsigned long long)perf_free_bytes_at(root));
	}
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(free_memory_is_the_least) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
