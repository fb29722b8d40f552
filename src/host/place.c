/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places on the PCI bus, and the distance of a NIC and a GPU (host.h). A NUMA node counts only if
 * the machine has it: firmware and hypervisors report -1, or nodes that do not exist.
 */
#include "host/place.h"

#include <stdio.h>
#include <string.h>

#include "host/io.h"

#define DEVICES "/sys/devices/"

/* Climbs from @path to the nearest PCI device; a virtio NIC is one level below its own. */
static bool
climb_to_pci(const char *root, char *path)
{
	char link[TCPX_IO_PATH + 16], bus[32];

	while (strncmp(path, DEVICES, strlen(DEVICES)) == 0) {
		snprintf(link, sizeof(link), "%s/subsystem", path);
		if (tcpx_io_read_link(root, link, bus, sizeof(bus)) == 0 && !strcmp(bus, "pci"))
			return true;
		*strrchr(path, '/') = '\0';
	}
	return false;
}

static const struct tcpx_host_node *
find_node(const struct tcpx_host_cpus *cpus, long long id)
{
	for (unsigned i = 0; i < cpus->node_count; i++)
		if (cpus->node[i].id == id)
			return &cpus->node[i];
	return NULL;
}

static const struct tcpx_host_node *
node_around(const struct tcpx_host_cpus *cpus, const struct tcpx_cpuset *local)
{
	for (unsigned i = 0; i < cpus->node_count; i++)
		if (!tcpx_cpuset_empty(local) && tcpx_cpuset_within(local, &cpus->node[i].cpus))
			return &cpus->node[i];
	return NULL;
}

static void
find_numa(struct tcpx_host_place *place, long long from_file, const struct tcpx_host_cpus *cpus)
{
	const struct tcpx_host_node *node;

	if ((node = find_node(cpus, from_file)) != NULL)
		place->numa_source = TCPX_NUMA_FILE;
	else if (cpus->node_count == 1 && (node = &cpus->node[0]) != NULL)
		place->numa_source = TCPX_NUMA_ONLY;
	else if ((node = node_around(cpus, &place->local_cpus)) != NULL)
		place->numa_source = TCPX_NUMA_CPULIST;
	place->numa = node ? node->id : -1;
}

void
tcpx_place_read(const char *root, const char *dir, const struct tcpx_host_cpus *cpus,
		struct tcpx_host_place *place)
{
	char path[TCPX_IO_PATH], file[TCPX_IO_PATH + 16], list[4096];
	long long node = -1;

	*place = (struct tcpx_host_place){ .numa = -1 };
	if (tcpx_io_realpath(root, dir, path) < 0 || !climb_to_pci(root, path))
		return;
	/* A truncated path would give wrong distances: none is better. */
	if (!tcpx_io_join(place->path, sizeof(place->path), "%s", path + strlen(DEVICES)))
		place->path[0] = '\0';
	if (!tcpx_io_join(place->pci, sizeof(place->pci), "%s", strrchr(path, '/') + 1))
		place->pci[0] = '\0';

	snprintf(file, sizeof(file), "%s/local_cpulist", path);
	if (tcpx_io_read(root, file, list, sizeof(list)) > 0 &&
	    tcpx_cpuset_parse(list, &place->local_cpus) < 0)
		tcpx_warn(TCPX_SUB_HOST, "%s: \"%.64s\" is not a list of CPUs; left out", file,
			  list);
	snprintf(file, sizeof(file), "%s/numa_node", path);
	if (tcpx_io_read_number(root, file, &node) < 0)
		node = -1;
	find_numa(place, node, cpus);
}

unsigned
tcpx_place_common(const char *a, const char *b)
{
	unsigned depth = 0;

	while (*a && *b) {
		size_t len = strcspn(a, "/");

		if (len != strcspn(b, "/") || memcmp(a, b, len) != 0)
			break;
		depth++;
		a += len + (a[len] == '/');
		b += len + (b[len] == '/');
	}
	return depth;
}

/* A path is host bridge / root port / switch / ... / device. */
enum tcpx_distance
tcpx_host_distance(const struct tcpx_host_nic *nic, const struct tcpx_host_gpu *gpu)
{
	const struct tcpx_host_place *a = &nic->place, *b = &gpu->place;
	unsigned depth = tcpx_place_common(a->path, b->path);

	if (depth >= 3)
		return TCPX_SAME_SWITCH;
	if (depth == 2)
		return TCPX_SAME_ROOT_PORT;
	if (a->numa < 0 || b->numa < 0)
		return TCPX_DISTANCE_UNKNOWN;
	return a->numa == b->numa ? TCPX_SAME_NODE : TCPX_CROSS_NODE;
}

const char *
tcpx_host_distance_name(enum tcpx_distance distance)
{
	static const char *const names[TCPX_DISTANCES] = {
		[TCPX_SAME_SWITCH] = "same switch",
		[TCPX_SAME_ROOT_PORT] = "same root port",
		[TCPX_SAME_NODE] = "same node",
		[TCPX_CROSS_NODE] = "cross node",
		[TCPX_DISTANCE_UNKNOWN] = "unknown",
	};

	return (unsigned)distance < TCPX_DISTANCES ? names[distance] : "?";
}

const char *
tcpx_host_numa_source_name(enum tcpx_numa_source source)
{
	static const char *const names[TCPX_NUMA_SOURCES] = {
		[TCPX_NUMA_UNKNOWN] = "unknown",
		[TCPX_NUMA_FILE] = "device",
		[TCPX_NUMA_CPULIST] = "local CPUs",
		[TCPX_NUMA_ONLY] = "only node",
	};

	return (unsigned)source < TCPX_NUMA_SOURCES ? names[source] : "?";
}
