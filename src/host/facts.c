/* SPDX-License-Identifier: Apache-2.0 */
#include "host/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cores.h"
#include "host/io.h"

int
tcpx_facts_read(const char *root, struct tcpx_facts *f)
{
	int rc = 0;

	memset(f, 0, sizeof(*f));
	tcpx_maybe_list(root, TCPX_CPU_DIR "/isolated", &f->isolated);
	/* a tree without CPUs is valid: tcpx_host_cpus() would complain */
	if ((tcpx_io_is_machine(root) || tcpx_io_exists(root, TCPX_CPU_DIR "/online")) &&
	    tcpx_host_cpus(root, &f->cpus) == 0)
		rc = tcpx_cores_read(root, &f->cpus, &f->cores, &f->core_count);
	for (unsigned i = 0; i < f->cpus.node_count && f->cpus.count; i++)
		tcpx_node_distances_read(root, &f->cpus, i, f->distance[i]);
	f->nics_rc = tcpx_host_nics_read(root, &f->nics, &f->nic_count);
	if (rc == 0)
		rc = tcpx_host_gpus(root, f->gpus, TCPX_MACHINE_GPUS, &f->gpu_count);
	if (rc < 0) {
		tcpx_facts_fini(f);
		return tcpx_fail(TCPX_SUB_HOST, rc, "read a machine");
	}
	return 0;
}

void
tcpx_facts_fini(struct tcpx_facts *f)
{
	free(f->cores);
	free(f->nics);
	memset(f, 0, sizeof(*f));
}

/* ---- the machine for planning -------------------------------------------------------- */

/* The path to a device; without a bridge its address is enough. */
static void
shorten_path(struct tcpx_host_place *place)
{
	char plain[sizeof(place->pci) + 16];

	snprintf(plain, sizeof(plain), "pci%.*s/%s", (int)strcspn(place->pci, ".") - 3, place->pci,
		 place->pci);
	if (!strcmp(place->path, plain))
		place->path[0] = '\0';
}

/* @last_resort: there was none, so the loopback is taken. */
static bool
is_wanted(const struct tcpx_host_nic *nic, bool last_resort)
{
	if (last_resort)
		return nic->loopback && !tcpx_host_nic_unfit(nic);
	return nic->hardware || !nic->left_out;
}

static int
take_nic(struct tcpx_machine *m, const struct tcpx_host_nic *from)
{
	struct tcpx_machine_nic nic = {
		.place = from->place,
		.queues_rx = from->queues_rx,
		.queues_tx = from->queues_tx,
	};

	snprintf(nic.name, sizeof(nic.name), "%s", from->ifname);
	snprintf(nic.driver, sizeof(nic.driver), "%s", from->driver);
	shorten_path(&nic.place);
	return tcpx_machine_add_nic(m, &nic);
}

static int
take_gpu(struct tcpx_machine *m, const struct tcpx_host_gpu *from, unsigned index)
{
	struct tcpx_machine_gpu gpu = { .index = (int)index, .place = from->place };

	shorten_path(&gpu.place);
	return tcpx_machine_add_gpu(m, &gpu);
}

static int
take_cpus(const struct tcpx_facts *f, struct tcpx_machine *m)
{
	int rc = 0;

	for (unsigned i = 0; i < f->cpus.node_count && rc == 0; i++)
		rc = tcpx_machine_add_node(m, f->cpus.node[i].id);
	for (unsigned i = 0; i < f->core_count && rc == 0; i++)
		rc = tcpx_machine_add_core(m, &f->cores[i]);
	for (unsigned i = 0; i < m->node_count; i++) /* both are sorted by id */
		memcpy(m->nodes[i].distance, f->distance[i], sizeof(m->nodes[i].distance));
	m->online = f->cpus.online;
	m->allowed = f->cpus.allowed;
	m->isolated = f->isolated.cpus;
	tcpx_cpuset_and(&m->isolated, &m->online);
	return rc;
}

int
tcpx_facts_machine(const struct tcpx_facts *f, const char *root, tcpx_facts_more_fn more,
		   const void *arg, struct tcpx_machine *out)
{
	struct tcpx_machine m;
	int rc;

	tcpx_machine_init(&m);
	snprintf(m.name, sizeof(m.name), "%s", tcpx_io_is_machine(root) ? "live" : "tree");
	if (tcpx_io_read(root, "/proc/sys/kernel/random/boot_id", m.boot_id, sizeof(m.boot_id)) < 0)
		m.boot_id[0] = '\0';
	rc = take_cpus(f, &m);
	for (int last = 0; last < 2 && !m.nic_count; last++)
		for (unsigned i = 0; i < f->nic_count && rc == 0; i++) {
			if (!is_wanted(&f->nics[i], last))
				continue;
			rc = take_nic(&m, &f->nics[i]);
			if (rc == 0 && more)
				rc = more(arg, &f->nics[i], &m);
		}
	for (unsigned i = 0; i < f->gpu_count && rc == 0; i++)
		rc = take_gpu(&m, &f->gpus[i], i);
	if (rc == 0)
		rc = tcpx_machine_finish(&m);
	if (rc < 0) {
		tcpx_machine_fini(&m);
		return tcpx_fail(TCPX_SUB_HOST, rc, "take the machine below %s for planning",
				 root && *root ? root : "/");
	}
	*out = m;
	return 0;
}

int
tcpx_machine_read(const char *root, struct tcpx_machine *out)
{
	struct tcpx_facts *f = malloc(sizeof(*f));
	int rc = f ? tcpx_facts_read(root, f) : tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "read a machine");

	if (rc == 0 && !f->cpus.count)
		rc = tcpx_fail(TCPX_SUB_HOST, -ENOENT, "read the machine below %s: no CPU is known",
			       root && *root ? root : "/");
	else if (rc == 0)
		rc = f->nics_rc ? f->nics_rc : tcpx_facts_machine(f, root, NULL, NULL, out);
	if (f)
		tcpx_facts_fini(f);
	free(f);
	return rc;
}
