/* SPDX-License-Identifier: Apache-2.0 */
/* Assembling a topology, and the planner's view of it. */
#include "tune/facts/topo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "tune/facts/topo_part.h"

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

int
tcpx_topo_read_parts(const char *root, struct tcpx_topo **out)
{
	struct tcpx_topo *topo;
	int rc;

	if (!tcpx_io_is_machine(root) && !tcpx_io_is_dir(root, "/"))
		return tcpx_fail(TCPX_SUB_HOST, -ENOTDIR, "read the machine below %s", root);
	topo = calloc(1, sizeof(*topo));
	if (!topo)
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "read a machine");
	read_identity(root, topo);
	tcpx_topo_cgroup_read(root, topo);
	rc = tcpx_facts_read(root, &topo->facts);
	if (rc == 0) {
		tcpx_topo_cpus_read(root, topo);
		rc = tcpx_topo_nics_read(root, topo);
	}
	if (rc == 0)
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
	int rc = tcpx_topo_read_parts(root, out);

	if (rc == 0 && (*out)->facts.nics_rc < 0) {
		rc = (*out)->facts.nics_rc;
		tcpx_topo_free(*out);
	}
	return rc;
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
	free(topo->threads);
	tcpx_facts_fini(&topo->facts);
	free(topo);
}

const struct tcpx_topo_nic *
tcpx_topo_nic_find(const struct tcpx_topo *topo, const char *ifname)
{
	for (unsigned i = 0; i < topo->nic_count; i++)
		if (!strcmp(topo->nics[i].nic->ifname, ifname))
			return &topo->nics[i];
	return NULL;
}

/* The limit by vectors, where no other source is: a driver may ask for those of all
 * possible queues, as gve does. */
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
add_vectors(const void *arg, const struct tcpx_host_nic *nic, struct tcpx_machine *m)
{
	const struct tcpx_topo *topo = arg;
	const struct tcpx_topo_nic *from = &topo->nics[nic - topo->facts.nics];
	int rc = 0;

	m->nics[m->nic_count - 1].queues_max = tcpx_topo_queues_max(from);
	for (unsigned i = 0; i < from->vector_count && rc == 0; i++) {
		struct tcpx_machine_vector v = from->vectors[i].v;

		v.nic = m->nic_count - 1;
		rc = tcpx_machine_add_vector(m, &v);
		/* two interfaces may share a device, and so its vectors: the
		 * first gets them */
		if (rc == -EEXIST)
			rc = 0;
	}
	return rc;
}

int
tcpx_topo_machine(const struct tcpx_topo *topo, struct tcpx_machine *out)
{
	return tcpx_facts_machine(&topo->facts, topo->root, add_vectors, topo, out);
}
