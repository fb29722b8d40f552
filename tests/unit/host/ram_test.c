/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a machine, and of a container in it. */
#include "../fixture.h"

#include "host/host.h"

#define MIB (1024 * 1024ull)

static const struct {
	const char *meminfo, *v2, *v1;
	uint64_t ram;
} rows[] = {
	{ NULL, NULL, NULL, 0 },
	{ "MemFree: 7 kB\n", NULL, NULL, 0 },
	{ "MemTotal:        8388608 kB\nMemFree:  12 kB\n", NULL, NULL, 8192 * MIB },
	{ "MemTotal:        8388608 kB\n", "max\n", NULL, 8192 * MIB },
	{ "MemTotal:        8388608 kB\n", "536870912\n", NULL, 512 * MIB },
	{ "MemTotal:        8388608 kB\n", NULL, "268435456\n", 256 * MIB },
	{ "MemTotal:        8388608 kB\n", NULL, "9223372036854771712\n", 8192 * MIB },
	{ NULL, "536870912\n", NULL, 512 * MIB },
};

static void
put(struct fixture *f, const char *path, const char *text)
{
	if (text)
		fixture_write(f, path, text);
}

TEST(the_least_of_machine_and_container)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;

		fixture_init(&f);
		put(&f, "proc/meminfo", rows[i].meminfo);
		put(&f, "sys/fs/cgroup/memory.max", rows[i].v2);
		put(&f, "sys/fs/cgroup/memory/memory.limit_in_bytes", rows[i].v1);
		assert_int_equal(tcpx_host_ram(f.root), rows[i].ram);
		fixture_fini(&f);
	}
}

TEST(this_machine_has_some)
{
	assert_true(tcpx_host_ram(NULL) > 16 * MIB);
}
