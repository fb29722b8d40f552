/* SPDX-License-Identifier: Apache-2.0 */
/* How near a NIC is to a GPU: by the PCI paths that sysfs shows. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

#define DEVICES "/sys/devices"

void
sysfs_path(const char *link, char *out, size_t cap)
{
	char path[PATH_MAX];
	bool found = realpath(link, path) && !strncmp(path, DEVICES "/", sizeof(DEVICES));

	snprintf(out, cap, "%s", found ? path + sizeof(DEVICES) - 1 : "");
}

/* Of a path that begins with '/'. */
static size_t
segment_len(const char *path)
{
	return *path ? 1 + strcspn(path + 1, "/") : 0;
}

static int
segments(const char *path)
{
	int n = 0;

	for (; *path; path += segment_len(path))
		n++;
	return n;
}

int
path_score(const char *gpu, const char *nic)
{
	int shared = 0;

	if (!*gpu || !*nic)
		return 0;
	while (*gpu && segment_len(gpu) == segment_len(nic) &&
	       !memcmp(gpu, nic, segment_len(gpu))) {
		size_t len = segment_len(gpu);

		gpu += len;
		nic += len;
		shared++;
	}
	return shared * 100 - segments(gpu) - segments(nic);
}

int
read_number(const char *path, int otherwise)
{
	FILE *f = fopen(path, "re");
	int v = otherwise;

	if (f && fscanf(f, "%d", &v) != 1)
		v = otherwise;
	if (f)
		fclose(f);
	return v;
}
