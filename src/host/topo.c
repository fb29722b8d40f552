/* SPDX-License-Identifier: Apache-2.0 */
/* A topology put together, and what the planner sees of it. */
#include "host/topo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "host/topo_part.h"

static void
read_identity(const char *root, struct tcpx_topo *topo)
{
	snprintf(topo->root, sizeof(topo->root), "%s", tcpx_io_is_machine(root) ? "/" : root);
	topo->fixture = !tcpx_io_is_machine(root) && tcpx_io_exists(root, "/tcpx-fixture");
	if (tcpx_io_read(root, "/proc/sys/kernel/osrelease", topo->kernel,
			 sizeof(topo->kernel)) < 0)
		topo->kernel[0] = '\0';
	if (tcpx_io_read(root, "/proc/sys/kernel/random/boot_id", topo->boot_id,
			 sizeof(topo->boot_id)) < 0)
		topo->boot_id[0] = '\0';
}

/* @all: not only what tcpx_machine_read() is about. */
static int
read_topo(const char *root, bool all, struct tcpx_topo **out)
{
	struct tcpx_topo *topo;
	int rc;

	if (!tcpx_io_is_machine(root) && !tcpx_io_is_dir(root, "/"))
		return tcpx_fail(TCPX_SUB_HOST, -ENOTDIR, "read the machine below %s", root);
	topo = calloc(1, sizeof(*topo));
	if (!topo)
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "read a machine");
	read_identity(root, topo);
	if (all)
		tcpx_topo_cgroup_read(root, topo);
	rc = tcpx_topo_cpus_read(root, topo);
	if (rc == 0)
		rc = tcpx_topo_nics_read(root, all, topo);
	if (rc == 0)
		rc = tcpx_host_gpus(root, topo->gpus, TCPX_TOPO_GPUS, &topo->gpu_count);
	if (rc == 0 && all)
		rc = tcpx_topo_tasks_read(root, topo);
	if (rc < 0) {
		tcpx_topo_free(topo);
		return rc == -ENOMEM ? tcpx_fail(TCPX_SUB_HOST, rc, "read a machine") : rc;
	}
	*out = topo;
	return 0;
}

int
tcpx_topo_read(const char *root, struct tcpx_topo **out)
{
	return read_topo(root, true, out);
}

void
tcpx_topo_free(struct tcpx_topo *topo)
{
	if (!topo)
		return;
	for (unsigned i = 0; i < topo->nic_count; i++) {
		free(topo->nics[i].queues);
		free(topo->nics[i].vectors);
	}
	free(topo->nics);
	free(topo->cores);
	free(topo->threads);
	free(topo);
}

const struct tcpx_topo_nic *
tcpx_topo_nic_find(const struct tcpx_topo *topo, const char *ifname)
{
	for (unsigned i = 0; i < topo->nic_count; i++)
		if (!strcmp(topo->nics[i].nic.ifname, ifname))
			return &topo->nics[i];
	return NULL;
}

/* Where nothing but the vectors tells: a driver may ask for those of all queues that it
 * could have, as gve does. */
unsigned
tcpx_topo_queues_max(const struct tcpx_topo_nic *nic)
{
	const struct tcpx_maybe *combined = &nic->set[TCPX_NICSET_COMBINED_MAX],
				*rx = &nic->set[TCPX_NICSET_RX_MAX],
				*tx = &nic->set[TCPX_NICSET_TX_MAX];
	int64_t each = 0, max = 0;

	if (!combined->why || !rx->why || !tx->why) {
		each = !rx->why ? rx->value : 0;
		if (!tx->why && tx->value > each)
			each = tx->value;
		max = each + (!combined->why ? combined->value : 0);
		return max > 0 && max <= UINT16_MAX ? (unsigned)max : 0;
	}
	for (unsigned i = 0; i < nic->vector_count; i++)
		if (nic->vectors[i].v.queue >= max)
			max = nic->vectors[i].v.queue + 1;
	return (unsigned)max;
}

/* ---- for the planner -------------------------------------------------------------- */

static int
add_cpus(const struct tcpx_topo *topo, struct tcpx_machine *m)
{
	int rc = 0;

	for (unsigned i = 0; i < topo->cpus.node_count && rc == 0; i++)
		rc = tcpx_machine_add_node(m, topo->cpus.node[i].id);
	for (unsigned i = 0; i < topo->core_count && rc == 0; i++)
		rc = tcpx_machine_add_core(m, &topo->cores[i].core);
	for (unsigned i = 0; i < m->node_count; i++) /* both are by id */
		memcpy(m->nodes[i].distance, topo->nodes[i].distance,
		       sizeof(m->nodes[i].distance));
	m->online = topo->cpus.online;
	m->allowed = topo->cpus.allowed;
	m->isolated = topo->isolated.cpus;
	tcpx_cpuset_and(&m->isolated, &m->online);
	return rc;
}

/* The way to a device, unless there is no bridge on it: then its address tells it. */
static void
copy_path(const struct tcpx_host_place *place, char *path)
{
	char plain[sizeof(place->pci) + 16];

	snprintf(plain, sizeof(plain), "pci%.*s/%s", (int)strcspn(place->pci, ".") - 3, place->pci,
		 place->pci);
	snprintf(path, TCPX_MACHINE_PATH, "%s", strcmp(place->path, plain) ? place->path : "");
}

static int
add_nic(const struct tcpx_topo_nic *from, struct tcpx_machine *m)
{
	struct tcpx_machine_nic nic = {
		.node = from->nic.place.numa,
		.node_source = from->nic.place.numa_source,
		.queues_rx = from->nic.queues_rx,
		.queues_tx = from->nic.queues_tx,
		.queues_max = tcpx_topo_queues_max(from),
	};
	int rc;

	snprintf(nic.name, sizeof(nic.name), "%s", from->nic.ifname);
	snprintf(nic.driver, sizeof(nic.driver), "%s", from->nic.driver);
	snprintf(nic.pci, sizeof(nic.pci), "%s", from->nic.place.pci);
	copy_path(&from->nic.place, nic.path);
	rc = tcpx_machine_add_nic(m, &nic);
	for (unsigned i = 0; i < from->vector_count && rc == 0; i++) {
		struct tcpx_machine_vector v = from->vectors[i].v;

		v.nic = m->nic_count - 1;
		rc = tcpx_machine_add_vector(m, &v);
		/* two interfaces may share a device, and so its vectors: the first has them */
		if (rc == -EEXIST)
			rc = 0;
	}
	return rc;
}

static int
add_gpu(const struct tcpx_host_gpu *from, int index, struct tcpx_machine *m)
{
	struct tcpx_machine_gpu gpu = { .index = index, .node = from->place.numa };

	snprintf(gpu.pci, sizeof(gpu.pci), "%s", from->place.pci);
	copy_path(&from->place, gpu.path);
	return tcpx_machine_add_gpu(m, &gpu);
}

int
tcpx_topo_machine(const struct tcpx_topo *topo, struct tcpx_machine *out)
{
	struct tcpx_machine m;
	int rc;

	tcpx_machine_init(&m);
	snprintf(m.name, sizeof(m.name), "%s", strcmp(topo->root, "/") ? "tree" : "live");
	snprintf(m.boot_id, sizeof(m.boot_id), "%s", topo->boot_id);
	rc = add_cpus(topo, &m);
	for (unsigned i = 0; i < topo->nic_count && rc == 0; i++)
		if (topo->nics[i].nic.hardware || !tcpx_host_nic_left_out(&topo->nics[i].nic))
			rc = add_nic(&topo->nics[i], &m);
	/* the selection's last resort */
	for (unsigned i = 0, none = !m.nic_count; i < topo->nic_count && none && rc == 0; i++)
		if (topo->nics[i].nic.loopback && !tcpx_host_nic_unfit(&topo->nics[i].nic))
			rc = add_nic(&topo->nics[i], &m);
	for (unsigned i = 0; i < topo->gpu_count && rc == 0; i++)
		rc = add_gpu(&topo->gpus[i], (int)i, &m);
	if (rc == 0)
		rc = tcpx_machine_finish(&m);
	if (rc < 0) {
		tcpx_machine_fini(&m);
		return tcpx_fail(TCPX_SUB_HOST, rc, "take the machine below %s for planning",
				 topo->root);
	}
	*out = m;
	return 0;
}

int
tcpx_machine_read(const char *root, struct tcpx_machine *out)
{
	struct tcpx_topo *topo;
	int rc = read_topo(root, false, &topo);

	if (rc < 0)
		return rc;
	if (topo->cpus.count)
		rc = tcpx_topo_machine(topo, out);
	else
		rc = tcpx_fail(TCPX_SUB_HOST, -ENOENT, "read the CPUs of the machine below %s: no "
			       "list that can be read says which are online", topo->root);
	tcpx_topo_free(topo);
	return rc;
}
