/* SPDX-License-Identifier: Apache-2.0 */
/* Cores, caches and nodes. An offline CPU has no files: only online ones are looked at. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/io.h"
#include "host/topo_part.h"

#define CPU_DIR "/sys/devices/system/cpu"
#define CACHES 8 /* index0, index1...: of one CPU there are 4 or 5 */

/* Siblings of @cpu that are online; @cpu alone where no file tells. */
static void
read_siblings(const char *root, int cpu, const struct tcpx_cpuset *online,
	      struct tcpx_cpuset *set)
{
	static const char *const files[] = { "core_cpus_list", "thread_siblings_list" };
	struct tcpx_maybe_set found = { .why = "" };
	char path[128];

	for (unsigned i = 0; found.why && i < 2; i++) {
		snprintf(path, sizeof(path), CPU_DIR "/cpu%d/topology/%s", cpu, files[i]);
		tcpx_maybe_list(root, path, &found);
	}
	*set = found.cpus;
	tcpx_cpuset_and(set, online);
	if (found.why || !tcpx_cpuset_has(set, cpu)) {
		tcpx_cpuset_init(set);
		tcpx_cpuset_add(set, cpu);
	}
}

/* The CPUs that share an L3 cache with @cpu; false: no file tells. */
static bool
read_l3(const char *root, int cpu, struct tcpx_cpuset *set)
{
	struct tcpx_maybe_set found;
	char path[128];
	long long level;

	for (int i = CACHES - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), CPU_DIR "/cpu%d/cache/index%d/level", cpu, i);
		if (tcpx_io_read_number(root, path, &level) < 0 || level != 3)
			continue;
		snprintf(path, sizeof(path), CPU_DIR "/cpu%d/cache/index%d/shared_cpu_list", cpu,
			 i);
		tcpx_maybe_list(root, path, &found);
		*set = found.cpus;
		return !found.why && tcpx_cpuset_has(set, cpu);
	}
	return false;
}

int
tcpx_topo_node_of(const struct tcpx_topo *topo, int cpu)
{
	for (unsigned i = 0; i < topo->cpus.node_count; i++)
		if (tcpx_cpuset_has(&topo->cpus.node[i].cpus, cpu))
			return (int)i;
	return -1;
}

static void
read_core(const char *root, const struct tcpx_topo *topo, const struct tcpx_cpuset *siblings,
	  struct tcpx_topo_core *out)
{
	int first = tcpx_cpuset_first(siblings), node = tcpx_topo_node_of(topo, first);
	char path[128];
	long long package;

	*out = (struct tcpx_topo_core){ .core.node = node < 0 ? -1 : topo->cpus.node[node].id,
					.core.l3 = -1, .package = -1 };
	tcpx_cpuset_for_each(cpu, siblings)
		if (out->core.cpu_count < TCPX_MACHINE_SIBLINGS)
			out->core.cpu[out->core.cpu_count++] = (uint16_t)cpu;
	snprintf(path, sizeof(path), CPU_DIR "/cpu%d/topology/physical_package_id", first);
	if (tcpx_io_read_number(root, path, &package) == 0 && package >= 0 &&
	    package <= INT32_MAX)
		out->package = (int)package;
}

/* One look a core, not a CPU. */
static int
read_cores(const char *root, struct tcpx_topo *topo)
{
	struct tcpx_cpuset left = topo->cpus.online, siblings;

	topo->cores = calloc(topo->cpus.count + 1, sizeof(*topo->cores));
	if (!topo->cores)
		return -ENOMEM;
	for (int cpu; (cpu = tcpx_cpuset_first(&left)) >= 0;) {
		struct tcpx_topo_core *core = &topo->cores[topo->core_count++];

		read_siblings(root, cpu, &topo->cpus.online, &siblings);
		/* a core that claims the CPUs of another is left with the rest */
		tcpx_cpuset_and(&siblings, &left);
		read_core(root, topo, &siblings, core);
		for (unsigned i = 0; i < core->core.cpu_count; i++)
			tcpx_cpuset_remove(&left, core->core.cpu[i]);
	}
	return 0;
}

/* Groups are numbered by their first CPU. */
static void
read_l3_groups(const char *root, struct tcpx_topo *topo)
{
	struct tcpx_cpuset group;
	int next = 0;

	for (unsigned i = 0; i < topo->core_count; i++) {
		if (topo->cores[i].core.l3 >= 0)
			continue;
		if (!read_l3(root, topo->cores[i].core.cpu[0], &group))
			continue;
		for (unsigned j = i; j < topo->core_count; j++)
			if (topo->cores[j].core.l3 < 0 &&
			    tcpx_cpuset_has(&group, topo->cores[j].core.cpu[0]))
				topo->cores[j].core.l3 = next;
		next++;
	}
}

/* "10 20": one number a node, in the order of their ids. Others than 10..255 are none. */
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
	char path[128], text[2048];

	for (unsigned i = 0; i < topo->cpus.node_count; i++) {
		struct tcpx_topo_node *node = &topo->nodes[i];
		int id = topo->cpus.node[i].id;

		node->has_cpu = !tcpx_cpuset_empty(&topo->cpus.node[i].cpus);
		node->memory_kib = read_memory(root, id);
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/distance", id);
		if (tcpx_io_read(root, path, text, sizeof(text)) > 0)
			parse_distances(text, topo->cpus.node_count, node->distance);
	}
}

static void
read_lists(const char *root, struct tcpx_topo *topo)
{
	const struct {
		const char *path;
		struct tcpx_maybe_set *set;
	} lists[] = {
		{ CPU_DIR "/possible", &topo->possible },
		{ CPU_DIR "/present", &topo->present },
		{ CPU_DIR "/offline", &topo->offline },
		{ CPU_DIR "/isolated", &topo->isolated },
		{ CPU_DIR "/nohz_full", &topo->nohz_full },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		tcpx_maybe_list(root, lists[i].path, lists[i].set);
	/* a kernel that could have such CPUs and has none says "(null)" */
	if (topo->nohz_full.why && tcpx_io_exists(root, CPU_DIR "/nohz_full"))
		topo->nohz_full.why = NULL;
	tcpx_maybe_mask(root, "/proc/irq/default_smp_affinity", &topo->irq_default);
	topo->smt = tcpx_maybe_number(root, CPU_DIR "/smt/active");
	topo->numa_balancing = tcpx_maybe_number(root, "/proc/sys/kernel/numa_balancing");
}

int
tcpx_topo_cpus_read(const char *root, struct tcpx_topo *topo)
{
	int rc;

	read_lists(root, topo);
	if (!tcpx_io_exists(root, CPU_DIR "/online") && !tcpx_io_is_machine(root))
		return 0; /* a tree without CPUs: tcpx_host_cpus() would complain */
	if (tcpx_host_cpus(root, &topo->cpus) < 0)
		return 0; /* said why */
	rc = read_cores(root, topo);
	if (rc < 0)
		return rc;
	read_l3_groups(root, topo);
	read_nodes(root, topo);
	return 0;
}
