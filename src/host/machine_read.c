/* SPDX-License-Identifier: Apache-2.0 */
/* A machine read from its files, for the engine's own plan: without vectors
 * and kernel calls. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cores.h"
#include "host/io.h"
#include "host/machine_take.h"
#include "host/maybe.h"

/* The path to a device; without a bridge its address is enough. */
static void
copy_path(const struct tcpx_host_place *place, char *path)
{
	char plain[sizeof(place->pci) + 16];

	snprintf(plain, sizeof(plain), "pci%.*s/%s", (int)strcspn(place->pci, ".") - 3, place->pci,
		 place->pci);
	snprintf(path, TCPX_MACHINE_PATH, "%s", strcmp(place->path, plain) ? place->path : "");
}

bool
tcpx_machine_wants_nic(const struct tcpx_host_nic *nic, bool last_resort)
{
	if (last_resort)
		return nic->loopback && !tcpx_host_nic_unfit(nic);
	return nic->hardware || !tcpx_host_nic_left_out(nic);
}

int
tcpx_machine_take_nic(struct tcpx_machine *m, const struct tcpx_host_nic *from,
		      unsigned queues_max)
{
	struct tcpx_machine_nic nic = {
		.node = from->place.numa,
		.node_source = from->place.numa_source,
		.queues_rx = from->queues_rx,
		.queues_tx = from->queues_tx,
		.queues_max = queues_max,
	};

	snprintf(nic.name, sizeof(nic.name), "%s", from->ifname);
	snprintf(nic.driver, sizeof(nic.driver), "%s", from->driver);
	snprintf(nic.pci, sizeof(nic.pci), "%s", from->place.pci);
	copy_path(&from->place, nic.path);
	return tcpx_machine_add_nic(m, &nic);
}

int
tcpx_machine_take_gpu(struct tcpx_machine *m, const struct tcpx_host_gpu *from, unsigned index)
{
	struct tcpx_machine_gpu gpu = { .index = (int)index, .node = from->place.numa };

	snprintf(gpu.pci, sizeof(gpu.pci), "%s", from->place.pci);
	copy_path(&from->place, gpu.path);
	return tcpx_machine_add_gpu(m, &gpu);
}

void
tcpx_machine_take_sets(struct tcpx_machine *m, const struct tcpx_host_cpus *cpus,
		       const struct tcpx_cpuset *isolated)
{
	m->online = cpus->online;
	m->allowed = cpus->allowed;
	m->isolated = *isolated;
	tcpx_cpuset_and(&m->isolated, &m->online);
}

void
tcpx_machine_take_name(struct tcpx_machine *m, const char *root)
{
	snprintf(m->name, sizeof(m->name), "%s", tcpx_io_is_machine(root) ? "live" : "tree");
	if (tcpx_io_read(root, "/proc/sys/kernel/random/boot_id", m->boot_id,
			 sizeof(m->boot_id)) < 0)
		m->boot_id[0] = '\0';
}

int
tcpx_machine_taken(struct tcpx_machine *m, int rc, const char *root, struct tcpx_machine *out)
{
	if (rc == 0)
		rc = tcpx_machine_finish(m);
	if (rc < 0) {
		tcpx_machine_fini(m);
		return tcpx_fail(TCPX_SUB_HOST, rc, "take the machine below %s for planning",
				 root && *root ? root : "/");
	}
	*out = *m;
	return 0;
}

/* ---- reading it --------------------------------------------------------------------- */

struct parts {
	struct tcpx_host_cpus cpus;
	struct tcpx_machine_core *cores;
	struct tcpx_host_nic *nics;
	struct tcpx_host_gpu gpus[TCPX_MACHINE_GPUS];
	unsigned core_count, nic_count, gpu_count;
};

/* A failure is logged where it happens. */
static int
read_parts(const char *root, struct parts *p)
{
	int rc = tcpx_host_cpus(root, &p->cpus);

	if (rc == 0 && tcpx_cores_read(root, &p->cpus, &p->cores, &p->core_count) < 0)
		rc = tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "read the cores of %u CPUs", p->cpus.count);
	if (rc == 0)
		rc = tcpx_host_nics_read(root, &p->nics, &p->nic_count);
	if (rc == 0)
		rc = tcpx_host_gpus(root, p->gpus, TCPX_MACHINE_GPUS, &p->gpu_count);
	return rc;
}

static int
take_cpus(const char *root, const struct parts *p, struct tcpx_machine *m)
{
	struct tcpx_maybe_set isolated;
	int rc = 0;

	for (unsigned i = 0; i < p->cpus.node_count && rc == 0; i++)
		rc = tcpx_machine_add_node(m, p->cpus.node[i].id);
	for (unsigned i = 0; i < p->core_count && rc == 0; i++)
		rc = tcpx_machine_add_core(m, &p->cores[i]);
	for (unsigned i = 0; i < m->node_count; i++) /* both are sorted by id */
		tcpx_node_distances_read(root, &p->cpus, i, m->nodes[i].distance);
	tcpx_maybe_list(root, TCPX_CPU_DIR "/isolated", &isolated);
	tcpx_machine_take_sets(m, &p->cpus, &isolated.cpus);
	return rc;
}

static int
take_parts(const char *root, const struct parts *p, struct tcpx_machine *m)
{
	int rc = take_cpus(root, p, m);

	tcpx_machine_take_name(m, root);
	for (int last = 0; last < 2 && !m->nic_count; last++)
		for (unsigned i = 0; i < p->nic_count && rc == 0; i++)
			if (tcpx_machine_wants_nic(&p->nics[i], last))
				rc = tcpx_machine_take_nic(m, &p->nics[i], 0);
	for (unsigned i = 0; i < p->gpu_count && rc == 0; i++)
		rc = tcpx_machine_take_gpu(m, &p->gpus[i], i);
	return rc;
}

int
tcpx_machine_read(const char *root, struct tcpx_machine *out)
{
	struct parts *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "read a machine");
	rc = read_parts(root, p);
	if (rc == 0) {
		struct tcpx_machine m;

		tcpx_machine_init(&m);
		rc = tcpx_machine_taken(&m, take_parts(root, p, &m), root, out);
	}
	free(p->cores);
	free(p->nics);
	free(p);
	return rc;
}
