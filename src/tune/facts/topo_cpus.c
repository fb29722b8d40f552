/* SPDX-License-Identifier: Apache-2.0 */
/* Cores with their packages, nodes with their memory, lists of CPUs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cores.h"
#include "host/io.h"
#include "tune/facts/topo_part.h"

static int
read_package(const char *root, int cpu)
{
	char path[128];
	long long package;

	snprintf(path, sizeof(path), TCPX_CPU_DIR "/cpu%d/topology/physical_package_id", cpu);
	if (tcpx_io_read_number(root, path, &package) < 0 || package < 0 || package > INT32_MAX)
		return -1;
	return (int)package;
}

static int
read_cores(const char *root, struct tcpx_topo *topo)
{
	struct tcpx_machine_core *cores;
	int rc = tcpx_cores_read(root, &topo->cpus, &cores, &topo->core_count);

	if (rc < 0)
		return rc;
	topo->cores = calloc(topo->core_count + 1, sizeof(*topo->cores));
	for (unsigned i = 0; topo->cores && i < topo->core_count; i++) {
		topo->cores[i].core = cores[i];
		topo->cores[i].package = read_package(root, cores[i].cpu[0]);
	}
	free(cores);
	return topo->cores ? 0 : -ENOMEM;
}

/* "Node 0 MemTotal:  12345 kB" */
static struct tcpx_maybe
read_memory(const char *root, int id)
{
	char path[128], text[4096], *at;
	long long kib;
	int rc;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", id);
	rc = tcpx_io_read(root, path, text, sizeof(text));
	if (rc < 0)
		return tcpx_maybe_not(tcpx_maybe_why(rc));
	at = strstr(text, "MemTotal:");
	if (!at || sscanf(at, "MemTotal: %lld kB", &kib) != 1 || kib < 0)
		return tcpx_maybe_not(tcpx_maybe_why(-EINVAL));
	return tcpx_maybe_is(kib);
}

static void
read_nodes(const char *root, struct tcpx_topo *topo)
{
	for (unsigned i = 0; i < topo->cpus.node_count; i++) {
		struct tcpx_topo_node *node = &topo->nodes[i];

		node->has_cpu = !tcpx_cpuset_empty(&topo->cpus.node[i].cpus);
		node->memory_kib = read_memory(root, topo->cpus.node[i].id);
		tcpx_node_distances_read(root, &topo->cpus, i, node->distance);
	}
}

static void
read_lists(const char *root, struct tcpx_topo *topo)
{
	const struct {
		const char *path;
		struct tcpx_maybe_set *set;
	} lists[] = {
		{ TCPX_CPU_DIR "/possible", &topo->possible },
		{ TCPX_CPU_DIR "/present", &topo->present },
		{ TCPX_CPU_DIR "/offline", &topo->offline },
		{ TCPX_CPU_DIR "/isolated", &topo->isolated },
		{ TCPX_CPU_DIR "/nohz_full", &topo->nohz_full },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		tcpx_maybe_list(root, lists[i].path, lists[i].set);
	/* a kernel without such CPUs writes "(null)" */
	if (topo->nohz_full.why && tcpx_io_exists(root, TCPX_CPU_DIR "/nohz_full"))
		topo->nohz_full.why = NULL;
	tcpx_maybe_mask(root, "/proc/irq/default_smp_affinity", &topo->irq_default);
	topo->smt = tcpx_maybe_number(root, TCPX_CPU_DIR "/smt/active");
	topo->numa_balancing = tcpx_maybe_number(root, "/proc/sys/kernel/numa_balancing");
}

int
tcpx_topo_cpus_read(const char *root, struct tcpx_topo *topo)
{
	int rc;

	read_lists(root, topo);
	if (!tcpx_io_exists(root, TCPX_CPU_DIR "/online") && !tcpx_io_is_machine(root))
		return 0; /* a tree without CPUs: tcpx_host_cpus() would complain */
	if (tcpx_host_cpus(root, &topo->cpus) < 0)
		return 0; /* the reason is recorded */
	rc = read_cores(root, topo);
	if (rc < 0)
		return rc;
	read_nodes(root, topo);
	return 0;
}
