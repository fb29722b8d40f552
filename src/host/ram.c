/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory there is for this process: the machine's, or the less that its container has. */
#include <stdio.h>

#include "host/host.h"
#include "host/io.h"

/* "MemTotal:  12345 kB"; 0: not there. */
static uint64_t
installed(const char *root)
{
	unsigned long long kib;
	char text[64];

	return tcpx_io_field(root, "/proc/meminfo", "MemTotal:", text, sizeof(text)) == 0 &&
	       sscanf(text, "%llu kB", &kib) == 1 ? kib * 1024 : 0;
}

uint64_t
tcpx_host_ram(const char *root)
{
	static const char *const limits[] = { "/sys/fs/cgroup/memory.max",
					      "/sys/fs/cgroup/memory/memory.limit_in_bytes" };
	uint64_t ram = installed(root);
	long long limit;

	for (int i = 0; i < 2; i++) /* "max" is no number */
		if (tcpx_io_read_number(root, limits[i], &limit) == 0 && limit > 0 &&
		    (ram == 0 || (uint64_t)limit < ram))
			ram = (uint64_t)limit;
	return ram;
}
