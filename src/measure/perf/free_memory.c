/* SPDX-License-Identifier: Apache-2.0 */
/* By the kernel's estimate, and by the limit of the control group that we see as our own. */
#include "measure/perf/free_memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The number in @line after @key; false: it is another line, or "max". */
static bool
number_after(const char *line, const char *key, uint64_t *value)
{
	size_t len = strlen(key);

	return !strncmp(line, key, len) && sscanf(line + len, "%" SCNu64, value) == 1;
}

/* From the file's line that begins with @key ("" the first). */
static bool
read_number(const char *root, const char *file, const char *key, uint64_t *value)
{
	char path[512], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, file);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f) && !(found = number_after(line, key, value)))
		if (!key[0])
			break;
	if (f)
		fclose(f);
	return found;
}

uint64_t
perf_free_bytes_at(const char *root)
{
	static const char *const limits[][4] = {
		{ "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
		  "/sys/fs/cgroup/memory.stat", "inactive_file " },
		{ "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		  "/sys/fs/cgroup/memory/memory.usage_in_bytes",
		  "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file " },
	};
	uint64_t left = 0, limit, used, files;

	if (read_number(root, "/proc/meminfo", "MemAvailable:", &left))
		left *= 1024;
	for (int i = 0; i < 2; i++) {
		if (!read_number(root, limits[i][0], "", &limit) ||
		    !read_number(root, limits[i][1], "", &used))
			continue;
		if (read_number(root, limits[i][2], limits[i][3], &files))
			used -= files < used ? files : used; /* the kernel takes them back */
		if ((used < limit ? limit - used : 0) < left)
			left = used < limit ? limit - used : 0;
	}
	return left;
}

uint64_t
perf_free_bytes(void)
{
	return perf_free_bytes_at("");
}
