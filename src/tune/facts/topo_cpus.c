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
read_lists(const char *root, struct tcpx_topo *topo)
{
	const struct {
		const char *path;
		struct tcpx_maybe_set *set;
	} lists[] = {
		{ TCPX_CPU_DIR "/possible", &topo->possible },
		{ TCPX_CPU_DIR "/present", &topo->present },
		{ TCPX_CPU_DIR "/offline", &topo->offline },
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

void
tcpx_topo_cpus_read(const char *root, struct tcpx_topo *topo)
{
	struct tcpx_facts *f = &topo->facts;

	read_lists(root, topo);
	for (unsigned i = 0; i < f->core_count; i++)
		f->cores[i].package = read_package(root, f->cores[i].cpu[0]);
	for (unsigned i = 0; i < f->cpus.node_count; i++)
		topo->memory_kib[i] = read_memory(root, f->cpus.node[i].id);
}
