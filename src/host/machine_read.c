/* SPDX-License-Identifier: Apache-2.0 */
/* A machine from its files. Siblings come from the kernel's lists, never from arithmetic. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "host/machine.h"

#define LIST_BYTES 8192

static int
read_set(const char *root, const char *path, struct tcpx_cpuset *set)
{
	char list[LIST_BYTES];
	int rc = tcpx_io_read(root, path, list, sizeof(list));

	tcpx_cpuset_init(set);
	return rc > 0 ? tcpx_cpuset_parse(list, set) : rc;
}

/* The CPUs of @cpu's core; itself where the kernel does not say. */
static void
siblings_of(const char *root, int cpu, struct tcpx_cpuset *set)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		 cpu);
	if (read_set(root, path, set) || !tcpx_cpuset_has(set, cpu)) {
		tcpx_cpuset_init(set);
		tcpx_cpuset_add(set, cpu);
	}
}

static int
l3_of(const char *root, int cpu)
{
	struct tcpx_cpuset shared;
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list",
		 cpu);
	return read_set(root, path, &shared) ? -1 : tcpx_cpuset_first(&shared);
}

static int
node_of(const struct tcpx_host_cpus *cpus, int cpu)
{
	for (unsigned i = 0; i < cpus->node_count; i++)
		if (tcpx_cpuset_has(&cpus->node[i].cpus, cpu))
			return cpus->node[i].id;
	return -1;
}

static int
add_cores(const char *root, const struct tcpx_host_cpus *cpus, struct tcpx_machine *m)
{
	struct tcpx_cpuset left = cpus->online, set;
	int rc = 0;

	for (int cpu; rc == 0 && (cpu = tcpx_cpuset_first(&left)) >= 0;) {
		struct tcpx_machine_core core = { .node = node_of(cpus, cpu),
						  .l3 = l3_of(root, cpu) };

		siblings_of(root, cpu, &set);
		tcpx_cpuset_and(&set, &left);
		tcpx_cpuset_for_each(one, &set) {
			if (core.cpu_count == TCPX_MACHINE_SIBLINGS)
				break;
			core.cpu[core.cpu_count++] = (uint16_t)one;
			tcpx_cpuset_remove(&left, one);
		}
		rc = tcpx_machine_add_core(m, &core);
	}
	return rc;
}

static int
add_nodes(const struct tcpx_host_cpus *cpus, struct tcpx_machine *m)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < cpus->node_count; i++)
		rc = tcpx_machine_add_node(m, cpus->node[i].id);
	return rc;
}

static bool
wanted(const struct tcpx_host_nic *nic, const struct tcpx_host_nic *chosen, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(nic->ifname, chosen[i].ifname))
			return true;
	return nic->hardware;
}

static int
add_nics(const char *root, struct tcpx_machine *m)
{
	struct tcpx_host_nic *all = NULL, *chosen;
	unsigned count = 0, chosen_count = 0;
	int rc = tcpx_host_nics_read(root, &all, &count);

	if (rc)
		return rc;
	chosen = calloc(TCPX_HOST_NICS, sizeof(*chosen));
	if (!chosen) {
		free(all);
		return -ENOMEM;
	}
	if (count && tcpx_host_nics_select(all, count, NULL, chosen, TCPX_HOST_NICS,
					   &chosen_count))
		chosen_count = 0; /* hardware alone, then */
	for (unsigned i = 0; rc == 0 && i < count; i++) {
		struct tcpx_machine_nic nic = {
			.node = all[i].place.numa, .node_source = all[i].place.numa_source,
			.queues_rx = all[i].queues_rx, .queues_tx = all[i].queues_tx,
		};

		if (!wanted(&all[i], chosen, chosen_count) || m->nic_count == TCPX_MACHINE_NICS)
			continue;
		memcpy(nic.name, all[i].ifname, sizeof(nic.name));
		memcpy(nic.driver, all[i].driver, sizeof(nic.driver));
		memcpy(nic.pci, all[i].place.pci, sizeof(nic.pci));
		rc = tcpx_machine_add_nic(m, &nic);
	}
	free(chosen);
	free(all);
	return rc;
}

static int
add_gpus(const char *root, struct tcpx_machine *m)
{
	struct tcpx_host_gpu *gpus = calloc(TCPX_MACHINE_GPUS, sizeof(*gpus));
	unsigned count = 0;
	int rc = gpus ? tcpx_host_gpus(root, gpus, TCPX_MACHINE_GPUS, &count) : -ENOMEM;

	for (unsigned i = 0; rc == 0 && i < count; i++) {
		struct tcpx_machine_gpu gpu = { .index = (int)i, .node = gpus[i].place.numa };

		memcpy(gpu.pci, gpus[i].place.pci, sizeof(gpu.pci));
		rc = tcpx_machine_add_gpu(m, &gpu);
	}
	free(gpus);
	return rc;
}

static int
fill(const char *root, const struct tcpx_host_cpus *cpus, struct tcpx_machine *m)
{
	int rc = add_nodes(cpus, m);

	if (rc == 0)
		rc = add_cores(root, cpus, m);
	if (rc == 0)
		rc = add_nics(root, m);
	if (rc == 0)
		rc = add_gpus(root, m);
	if (rc == 0)
		rc = tcpx_machine_finish(m);
	return rc;
}

int
tcpx_machine_read(const char *root, struct tcpx_machine *out)
{
	struct tcpx_host_cpus *cpus = malloc(sizeof(*cpus));
	struct tcpx_machine m;
	int rc = cpus ? tcpx_host_cpus(root, cpus) : -ENOMEM;

	if (rc) {
		free(cpus);
		return rc;
	}
	tcpx_machine_init(&m);
	rc = fill(root, cpus, &m);
	m.allowed = cpus->allowed;
	if (read_set(root, "/sys/devices/system/cpu/isolated", &m.isolated))
		tcpx_cpuset_init(&m.isolated);
	if (tcpx_io_read(root, "/proc/sys/kernel/random/boot_id", m.boot_id,
			 sizeof(m.boot_id)) < 0)
		m.boot_id[0] = '\0';
	snprintf(m.name, sizeof(m.name), "%s", tcpx_io_is_machine(root) ? "live" : "tree");
	free(cpus);
	if (rc)
		tcpx_machine_fini(&m);
	else
		*out = m;
	return rc;
}
