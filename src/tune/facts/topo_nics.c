/* SPDX-License-Identifier: Apache-2.0 */
/* NICs with all their parts. proc/interrupts is read once, for all. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"
#include "tune/facts/topo_part.h"

static void
read_device(const char *root, struct tcpx_topo_nic *out)
{
	char path[128];

	const char *pci = out->nic->place.pci;

	if (!*pci)
		return;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", pci);
	if (tcpx_io_read_link(root, path, out->pci_driver, sizeof(out->pci_driver)) < 0)
		out->pci_driver[0] = '\0';
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/physfn", pci);
	if (tcpx_io_read_link(root, path, out->physfn, sizeof(out->physfn)) < 0)
		out->physfn[0] = '\0';
}

/* The kernel is asked, because a mounted /sys may belong to another network namespace. A
 * NIC that /sys does not show has no queues here. */
static unsigned
read_ifindex(const char *root, const char *ifname)
{
	char path[128];
	long long index;

	if (tcpx_io_is_machine(root))
		return if_nametoindex(ifname);
	snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", ifname);
	if (tcpx_io_read_number(root, path, &index) < 0 || index <= 0 || index > INT32_MAX)
		return 0;
	return (unsigned)index;
}

static int
read_one(const char *root, struct tcpx_asker *a, const struct tcpx_irqtab *tab,
	 const struct tcpx_host_nic *nic, struct tcpx_topo_nic *out)
{
	int rc;

	out->nic = nic;
	out->ifindex = read_ifindex(root, nic->ifname);
	read_device(root, out);
	tcpx_nicset_read(root, a, nic->ifname, out->ifindex, out->set);
	if (!nic->queues_rx && !nic->queues_tx) {
		out->vectors_why = "it shows no queues";
		return 0;
	}
	rc = tcpx_queues_read(root, a, nic->ifname, out->ifindex, &out->queues, &out->queue_count);
	if (rc < 0)
		return rc;
	return tcpx_vectors_read(root, nic, tab, out->queues, out->queue_count, &out->vectors,
				 &out->vector_count, &out->vectors_why);
}

static int
read_all(const char *root, const struct tcpx_irqtab *tab, struct tcpx_topo *topo)
{
	unsigned count = topo->facts.nic_count;
	struct tcpx_asker a;
	int rc = 0;

	topo->nics = calloc(count + 1, sizeof(*topo->nics));
	if (!topo->nics)
		return -ENOMEM;
	tcpx_asker_open(root, &a);
	for (unsigned i = 0; i < count && rc == 0; i++) {
		topo->nic_count++;
		rc = read_one(root, &a, tab, &topo->facts.nics[i], &topo->nics[i]);
	}
	tcpx_asker_close(&a);
	return rc;
}

int
tcpx_topo_nics_read(const char *root, struct tcpx_topo *topo)
{
	struct tcpx_irqtab tab = { .cpu_count = 0 };
	char *text;
	size_t len;
	int rc = 0;

	if (tcpx_io_slurp(root, "/proc/interrupts", TCPX_IRQTAB_BYTES, &text, &len) == 0) {
		rc = tcpx_irqtab_parse(text, len, &tab);
		free(text);
	}
	if (rc != -ENOMEM) /* an unreadable table has no names */
		rc = read_all(root, tab.cpu_count ? &tab : NULL, topo);
	tcpx_irqtab_fini(&tab);
	return rc;
}
