/* SPDX-License-Identifier: Apache-2.0 */
/* NICs and GPUs of a tree: PCI devices, interfaces, queues, and the files beside /sys. */
#include <stdio.h>
#include <string.h>

#include "machine/tree_file.h"

#define DEVICE_PATH (TCPX_MACHINE_PATH + 16)

/* "sys/devices/pci0000:06/0000:06:00.0", unless its path is known. */
static void
device_path(const char *pci, const char *way, char *path)
{
	if (*way)
		snprintf(path, DEVICE_PATH, "sys/devices/%s", way);
	else
		snprintf(path, DEVICE_PATH, "sys/devices/pci%.*s/%.15s",
			 strcspn(pci, ".") > 3 ? (int)strcspn(pci, ".") - 3 : 0, pci, pci);
}

static void
write_pci(struct tree *t, const char *path, int node, const char *class, const char *vendor,
	  const char *device)
{
	struct tcpx_cpuset cpus = t->m->online;
	char link[DEVICE_PATH + 32];

	if (node >= 0)
		tcpx_machine_node_cpus(t->m, node, &cpus);
	tcpx_tree_put(t, class, "%s/class", path);
	tcpx_tree_put(t, vendor, "%s/vendor", path);
	tcpx_tree_put(t, device, "%s/device", path);
	tcpx_tree_put_number(t, node, "%s/numa_node", path);
	tcpx_tree_put_list(t, &cpus, "%s/local_cpulist", path);
	tcpx_tree_put(t, "0", "%s/irq", path);
	snprintf(link, sizeof(link), "%s/subsystem", path);
	tcpx_tree_link(t, link, "sys/bus/pci");
	snprintf(link, sizeof(link), "sys/bus/pci/devices/%s", strrchr(path, '/') + 1);
	tcpx_tree_link(t, link, path);
}

/* Writes the devices above: bridges from a host bridge down, each a PCI device. */
static void
write_bridges(struct tree *t, const char *path, int node)
{
	char bridge[DEVICE_PATH];

	for (const char *p = path + strlen("sys/devices/"); (p = strchr(p, '/')) != NULL; p++) {
		snprintf(bridge, sizeof(bridge), "%.*s", (int)(p - path), path);
		if (strchr(strrchr(bridge, '/'), '.'))
			write_pci(t, bridge, node, "0x060400", "0x10b5", "0xc010");
	}
}

static void
write_driver(struct tree *t, const char *device, const char *bus, const char *driver)
{
	char link[2 * DEVICE_PATH], to[128];

	if (!*driver)
		return;
	tcpx_tree_put(t, "", "sys/bus/%s/drivers/%s/uevent", bus, driver);
	snprintf(link, sizeof(link), "%s/driver", device);
	snprintf(to, sizeof(to), "sys/bus/%s/drivers/%s", bus, driver);
	tcpx_tree_link(t, link, to);
}

static const char *
vendor_of(const char *driver)
{
	static const char *const vendors[][2] = {
		{ "gve", "0x1ae0" }, { "mlx5", "0x15b3" }, { "ena", "0x1d0f" },
		{ "virtio", "0x1af4" }, { "bnxt", "0x14e4" },
	};

	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (!strncmp(driver, vendors[i][0], strlen(vendors[i][0])))
			return vendors[i][1];
	return "0x8086";
}

static void
write_queues(struct tree *t, const struct tcpx_machine_nic *nic, const char *dir)
{
	struct tcpx_cpuset none;

	tcpx_cpuset_init(&none);
	for (unsigned i = 0; i < nic->queues_rx; i++) {
		tcpx_tree_put_mask(t, &none, "%s/queues/rx-%u/rps_cpus", dir, i);
		tcpx_tree_put(t, "0", "%s/queues/rx-%u/rps_flow_cnt", dir, i);
	}
	for (unsigned i = 0; i < nic->queues_tx; i++) {
		tcpx_tree_put(t, "0", "%s/queues/tx-%u/tx_timeout", dir, i);
		if (nic->queues_tx == 1)
			break; /* the kernel gives no XPS to one queue */
		tcpx_tree_put_mask(t, &none, "%s/queues/tx-%u/xps_cpus", dir, i);
		tcpx_tree_put(t, "0", "%s/queues/tx-%u/xps_rxqs", dir, i);
	}
}

/* Writes the interface's directory, with a link to its device unless that is "". */
static void
write_interface(struct tree *t, const struct tcpx_machine_nic *nic, unsigned index,
		const char *device)
{
	char dir[2 * DEVICE_PATH], link[3 * DEVICE_PATH];

	snprintf(dir, sizeof(dir), "%s/net/%.15s", *device ? device : "sys/devices/virtual",
		 nic->name);
	tcpx_tree_put_number(t, index + 2, "%s/ifindex", dir);
	tcpx_tree_put(t, "0x1003", "%s/flags", dir);
	tcpx_tree_put(t, "up", "%s/operstate", dir);
	tcpx_tree_put(t, "1500", "%s/mtu", dir);
	tcpx_tree_put(t, "-1", "%s/speed", dir);
	tcpx_tree_put(t, "0", "%s/threaded", dir);
	tcpx_tree_put(t, "0", "%s/napi_defer_hard_irqs", dir);
	tcpx_tree_put(t, "0", "%s/gro_flush_timeout", dir);
	write_queues(t, nic, dir);
	if (*device) {
		snprintf(link, sizeof(link), "%s/device", dir);
		tcpx_tree_link(t, link, device);
	}
	snprintf(link, sizeof(link), "sys/class/net/%.15s", nic->name);
	tcpx_tree_link(t, link, dir);
}

static bool
has_vectors(const struct tcpx_machine *m, unsigned nic)
{
	for (unsigned i = 0; i < m->vector_count; i++)
		if (m->vectors[i].nic == nic)
			return true;
	return false;
}

/* A virtio NIC is below its PCI device, which has a driver of its own. */
static void
write_nic(struct tree *t, unsigned index)
{
	const struct tcpx_machine_nic *nic = &t->m->nics[index];
	char pci[16], path[DEVICE_PATH] = "", device[DEVICE_PATH + 32] = "", link[2 * DEVICE_PATH];
	bool is_virtio = !strcmp(nic->driver, "virtio_net");

	snprintf(pci, sizeof(pci), "%s", nic->place.pci);
	if (!*pci && (*nic->driver || nic->place.numa >= 0 || has_vectors(t->m, index)))
		snprintf(pci, sizeof(pci), "0001:%02x:00.0", index & 0xff);
	if (*pci) {
		device_path(pci, nic->place.path, path);
		write_bridges(t, path, nic->place.numa);
		write_pci(t, path, nic->place.numa, "0x020000", vendor_of(nic->driver), "0x0042");
		snprintf(device, sizeof(device), is_virtio ? "%s/virtio%u" : "%s", path, index);
		write_driver(t, path, "pci", is_virtio ? "virtio-pci" : nic->driver);
		for (unsigned i = 0; i < t->m->vector_count; i++)
			if (t->m->vectors[i].nic == index)
				tcpx_tree_put(t, "msix", "%s/msi_irqs/%u", path,
					 t->m->vectors[i].irq);
	}
	if (is_virtio) {
		write_driver(t, device, "virtio", nic->driver);
		tcpx_tree_put(t, "", "sys/bus/virtio/uevent");
		snprintf(link, sizeof(link), "%s/subsystem", device);
		tcpx_tree_link(t, link, "sys/bus/virtio");
	}
	write_interface(t, nic, index, device);
}

/* Writes the files beside /sys: addresses, ethtool's and netlink's answers. */
static void
write_asked(struct tree *t)
{
	struct tcpx_text addresses = { .at = NULL }, settings = { .at = NULL }, queues = { .at = NULL };
	const struct tcpx_machine *m = t->m;

	for (unsigned i = 0; i < m->nic_count; i++) {
		const struct tcpx_machine_nic *nic = &m->nics[i];

		tcpx_text_add(&addresses, "%s 10.%u.0.2/24\n", nic->name, i % 256);
		if (nic->queues_max) {
			tcpx_text_add(&settings, "%s channels.rx %u\n%s channels.tx %u\n", nic->name,
				      nic->queues_rx, nic->name, nic->queues_tx);
			tcpx_text_add(&settings, "%s channels.rx_max %u\n%s channels.tx_max %u\n",
				      nic->name, nic->queues_max, nic->name, nic->queues_max);
		}
	}
	for (unsigned i = 0; i < m->vector_count; i++) {
		const struct tcpx_machine_vector *v = &m->vectors[i];
		const char *name = m->nics[v->nic].name;

		if (v->source != TCPX_VECTOR_NETDEV || v->queue < 0)
			continue;
		if (v->kind != TCPX_VECTOR_TX)
			tcpx_text_add(&queues, "%s rx %d %u %u -\n", name, v->queue,
				      8192 + v->irq, v->irq);
		if (v->kind != TCPX_VECTOR_RX)
			tcpx_text_add(&queues, "%s tx %d %u %u -\n", name, v->queue,
				      8192 + v->irq, v->irq);
	}
	tcpx_tree_put_text(t, &addresses, "addresses");
	tcpx_tree_put_text(t, &settings, "settings");
	tcpx_tree_put_text(t, &queues, "queues");
}

void
tcpx_tree_write_devices(struct tree *t)
{
	for (unsigned i = 0; i < t->m->nic_count && t->rc == 0; i++)
		write_nic(t, i);
	for (unsigned i = 0; i < t->m->gpu_count && t->rc == 0; i++) {
		const struct tcpx_machine_gpu *gpu = &t->m->gpus[i];
		char pci[16], path[DEVICE_PATH];

		snprintf(pci, sizeof(pci), "%s", gpu->place.pci);
		if (!*pci)
			snprintf(pci, sizeof(pci), "0002:%02x:00.0", i & 0xff);
		device_path(pci, gpu->place.path, path);
		write_bridges(t, path, gpu->place.numa);
		write_pci(t, path, gpu->place.numa, "0x030200", "0x10de", "0x2330");
	}
	write_asked(t);
}
