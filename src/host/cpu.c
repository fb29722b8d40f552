/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs: online, allowed to this process, and by NUMA node. */
#include "host/cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/io.h"

#define LIST_BYTES 8192 /* longest list of CPUs */
#define ONLINE "/sys/devices/system/cpu/online"

/* As tcpx_cpuset_parse(), but an empty file is the empty set: a node without CPUs. */
static int
read_list(const char *root, const char *path, struct tcpx_cpuset *set)
{
	char list[LIST_BYTES];
	int rc;

	rc = tcpx_io_read(root, path, list, sizeof(list));
	if (rc > 0)
		return tcpx_cpuset_parse(list, set);
	if (rc == 0)
		tcpx_cpuset_init(set);
	return rc;
}

/* "node12" is 12; anything else is -1. */
static int
node_id(const char *name)
{
	uint64_t id;

	if (strncmp(name, "node", 4) != 0 || tcpx_parse_count(name + 4, &id) < 0 || id > 65535)
		return -1;
	return (int)id;
}

static int
by_id(const void *a, const void *b)
{
	const struct tcpx_host_node *x = a, *y = b;

	return x->id - y->id;
}

void
tcpx_cpu_nodes_read(const char *root, struct tcpx_host_cpus *cpus)
{
	struct tcpx_io_names names;

	cpus->node_count = 0;
	if (tcpx_io_list(root, "/sys/devices/system/node", &names) < 0)
		return;
	for (unsigned i = 0; i < names.count && cpus->node_count < TCPX_HOST_NODES; i++) {
		struct tcpx_host_node *node = &cpus->node[cpus->node_count];
		char path[64];

		node->id = node_id(names.entry[i]->d_name);
		if (node->id < 0)
			continue;
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node->id);
		if (read_list(root, path, &node->cpus) == 0)
			cpus->node_count++;
	}
	qsort(cpus->node, cpus->node_count, sizeof(cpus->node[0]), by_id);
	tcpx_io_names_free(&names);
}

/* The kernel refuses a buffer shorter than its own masks; cpu_set_t may be shorter. */
int
tcpx_host_own_cpus(struct tcpx_cpuset *set)
{
	cpu_set_t *mask = CPU_ALLOC(TCPX_CPUS_MAX);
	size_t bytes = CPU_ALLOC_SIZE(TCPX_CPUS_MAX);
	int rc = 0;

	if (!mask)
		return -ENOMEM;
	tcpx_cpuset_init(set);
	if (sched_getaffinity(0, bytes, mask) < 0)
		rc = -errno;
	for (int cpu = 0; rc == 0 && cpu < TCPX_CPUS_MAX; cpu++)
		if (CPU_ISSET_S((size_t)cpu, bytes, mask))
			rc = tcpx_cpuset_add(set, cpu);
	CPU_FREE(mask);
	return rc;
}

static int
read_status_mask(const char *root, struct tcpx_cpuset *set)
{
	char list[LIST_BYTES];
	int rc = tcpx_io_field(root, "/proc/self/status", "Cpus_allowed_list:", list, sizeof(list));

	return rc < 0 ? rc : tcpx_cpuset_parse(list, set);
}

int
tcpx_host_cpus(const char *root, struct tcpx_host_cpus *out)
{
	struct tcpx_cpuset online, allowed;
	int rc;

	rc = read_list(root, ONLINE, &online);
	if (rc == 0 && tcpx_cpuset_empty(&online))
		rc = -EINVAL;
	/* A container may hide /sys: then only the mask is known. */
	if (rc < 0 && tcpx_io_is_machine(root))
		rc = tcpx_host_own_cpus(&online);
	if (rc < 0)
		return tcpx_fail(TCPX_SUB_HOST, rc, "read a list of CPUs such as 0-3 from %s%s",
				 root ? root : "", ONLINE);

	rc = tcpx_io_is_machine(root) ? tcpx_host_own_cpus(&allowed)
				      : read_status_mask(root, &allowed);
	if (rc < 0)
		allowed = online;
	tcpx_cpuset_and(&allowed, &online);
	if (tcpx_cpuset_empty(&allowed))
		allowed = online;

	tcpx_cpu_nodes_read(root, out);
	out->online = online;
	out->allowed = allowed;
	out->count = tcpx_cpuset_count(&online);
	out->allowed_count = tcpx_cpuset_count(&allowed);
	return 0;
}
