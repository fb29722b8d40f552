/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cores.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "host/maybe.h"

#define CACHES 8 /* index0, index1...: a CPU has 4 or 5 */

/* Online siblings of @cpu; @cpu alone without a file. */
static void
read_siblings(const char *root, int cpu, const struct tcpx_cpuset *online,
	      struct tcpx_cpuset *set)
{
	static const char *const files[] = { "core_cpus_list", "thread_siblings_list" };
	struct tcpx_maybe_set found = { .why = "" };
	char path[128];

	for (unsigned i = 0; found.why && i < 2; i++) {
		snprintf(path, sizeof(path), TCPX_CPU_DIR "/cpu%d/topology/%s", cpu, files[i]);
		tcpx_maybe_list(root, path, &found);
	}
	*set = found.cpus;
	tcpx_cpuset_and(set, online);
	if (found.why || !tcpx_cpuset_has(set, cpu)) {
		tcpx_cpuset_init(set);
		tcpx_cpuset_add(set, cpu);
	}
}

/* The CPUs that share an L3 cache with @cpu; false: no file. */
static bool
read_l3(const char *root, int cpu, struct tcpx_cpuset *set)
{
	struct tcpx_maybe_set found;
	char path[128];
	long long level;

	for (int i = CACHES - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), TCPX_CPU_DIR "/cpu%d/cache/index%d/level", cpu, i);
		if (tcpx_io_read_number(root, path, &level) < 0 || level != 3)
			continue;
		snprintf(path, sizeof(path), TCPX_CPU_DIR "/cpu%d/cache/index%d/shared_cpu_list", cpu,
			 i);
		tcpx_maybe_list(root, path, &found);
		*set = found.cpus;
		return !found.why && tcpx_cpuset_has(set, cpu);
	}
	return false;
}

/* Place of the node with @cpu; -1 none. */
static int
node_of(const struct tcpx_host_cpus *cpus, int cpu)
{
	for (unsigned i = 0; i < cpus->node_count; i++)
		if (tcpx_cpuset_has(&cpus->node[i].cpus, cpu))
			return (int)i;
	return -1;
}

/* One look for each core, not for each CPU. */
static unsigned
read_cores(const char *root, const struct tcpx_host_cpus *cpus, struct tcpx_machine_core *cores)
{
	struct tcpx_cpuset left = cpus->online, siblings;
	unsigned count = 0;

	for (int cpu; (cpu = tcpx_cpuset_first(&left)) >= 0;) {
		struct tcpx_machine_core *core = &cores[count++];
		int node;

		read_siblings(root, cpu, &cpus->online, &siblings);
		/* a core that claims another's CPUs keeps only the free ones */
		tcpx_cpuset_and(&siblings, &left);
		node = node_of(cpus, tcpx_cpuset_first(&siblings));
		core->node = node < 0 ? -1 : cpus->node[node].id;
		core->l3 = -1;
		tcpx_cpuset_for_each(sibling, &siblings)
			if (core->cpu_count < TCPX_MACHINE_SIBLINGS)
				core->cpu[core->cpu_count++] = (uint16_t)sibling;
		for (unsigned i = 0; i < core->cpu_count; i++)
			tcpx_cpuset_remove(&left, core->cpu[i]);
	}
	return count;
}

/* Groups are numbered by their first CPU. */
static void
read_l3_groups(const char *root, struct tcpx_machine_core *cores, unsigned count)
{
	struct tcpx_cpuset group;
	int next = 0;

	for (unsigned i = 0; i < count; i++) {
		if (cores[i].l3 >= 0 || !read_l3(root, cores[i].cpu[0], &group))
			continue;
		for (unsigned j = i; j < count; j++)
			if (cores[j].l3 < 0 && tcpx_cpuset_has(&group, cores[j].cpu[0]))
				cores[j].l3 = next;
		next++;
	}
}

/* Reads x86's kinds: processors with two kinds of cores have a device for the counters of
 * each. */
static bool
read_atoms(const char *root, struct tcpx_cpuset *small)
{
	static const char *const files[] = { "/sys/devices/cpu_atom/cpus", "/sys/devices/cpu_lowpower/cpus" };
	struct tcpx_maybe_set found;

	tcpx_maybe_list(root, "/sys/devices/cpu_core/cpus", &found);
	if (found.why || tcpx_cpuset_empty(&found.cpus))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		tcpx_maybe_list(root, files[i], &found);
		if (!found.why)
			tcpx_cpuset_or(small, &found.cpus);
	}
	return true;
}

/* Reads the capacity of other processors' cores: the largest has 1024. */
static void
read_capacities(const char *root, const struct tcpx_machine_core *cores, unsigned count,
		struct tcpx_cpuset *small)
{
	long long most = 0, capacity;
	char path[128];

	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < count; i++) {
			snprintf(path, sizeof(path), TCPX_CPU_DIR "/cpu%u/cpu_capacity", cores[i].cpu[0]);
			if (tcpx_io_read_number(root, path, &capacity) < 0) {
				if (!i)
					return; /* a kernel without them */
				continue;
			}
			if (!pass && capacity > most)
				most = capacity;
			if (pass && capacity < most / 5 * 4)
				tcpx_cpuset_add(small, cores[i].cpu[0]);
		}
}

static void
read_kinds(const char *root, struct tcpx_machine_core *cores, unsigned count)
{
	struct tcpx_cpuset small;

	tcpx_cpuset_init(&small);
	if (!read_atoms(root, &small))
		read_capacities(root, cores, count, &small);
	for (unsigned i = 0; i < count; i++)
		cores[i].small = tcpx_cpuset_has(&small, cores[i].cpu[0]);
}

int
tcpx_cores_read(const char *root, const struct tcpx_host_cpus *cpus,
		struct tcpx_machine_core **out, unsigned *count)
{
	*out = calloc(cpus->count + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	*count = read_cores(root, cpus, *out);
	read_l3_groups(root, *out, *count);
	read_kinds(root, *out, *count);
	return 0;
}

/* "10 20": one number a node, in the order of their ids. Only 10..255 are valid. */
static void
parse_distances(const char *text, unsigned count, uint8_t *out)
{
	unsigned n = 0;
	char *end;

	for (const char *p = text; *p && n < count; p = end) {
		unsigned long v = strtoul(p, &end, 10);

		if (end == p)
			break;
		out[n++] = v >= 10 && v <= UINT8_MAX ? (uint8_t)v : 0;
	}
	if (n != count)
		memset(out, 0, count);
}

void
tcpx_node_distances_read(const char *root, const struct tcpx_host_cpus *cpus, unsigned node,
			 uint8_t distance[TCPX_HOST_NODES])
{
	char path[128], text[2048];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/distance",
		 cpus->node[node].id);
	if (tcpx_io_read(root, path, text, sizeof(text)) > 0)
		parse_distances(text, cpus->node_count, distance);
}
