/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of each NIC. A value that no file has is unknown, never guessed; a NIC that
 * goes away while it is read leaves unknown facts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/cpu.h"
#include "host/io.h"
#include "host/links.h"
#include "host/place.h"
#include "host/route.h"

static uint32_t
read_u32(const char *root, const char *dir, const char *file)
{
	char path[128];
	long long v;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	/* speed is -1, or cannot be read, when the link is down or has none */
	if (tcpx_io_read_number(root, path, &v) < 0 || v < 0 || v > UINT32_MAX)
		return 0;
	return (uint32_t)v;
}

static void
count_queues(const char *root, const char *dir, struct tcpx_host_nic *nic)
{
	struct tcpx_io_names names;
	char path[128];

	snprintf(path, sizeof(path), "%s/queues", dir);
	if (tcpx_io_list(root, path, &names) < 0)
		return;
	for (unsigned i = 0; i < names.count; i++) {
		nic->queues_rx += strncmp(names.entry[i]->d_name, "rx-", 3) == 0;
		nic->queues_tx += strncmp(names.entry[i]->d_name, "tx-", 3) == 0;
	}
	tcpx_io_names_free(&names);
}

static void
read_sysfs(const char *root, const struct tcpx_link *link, const struct tcpx_host_cpus *cpus,
	   struct tcpx_host_nic *nic)
{
	char dir[64], path[128];
	uint32_t index;

	snprintf(dir, sizeof(dir), "/sys/class/net/%s", link->name);
	index = read_u32(root, dir, "ifindex");
	if (link->index && index != link->index)
		return; /* /sys shows another network namespace */

	snprintf(path, sizeof(path), "%s/device", dir);
	nic->hardware = tcpx_io_exists(root, path);
	tcpx_place_read(root, path, cpus, &nic->place);
	snprintf(path, sizeof(path), "%s/device/driver", dir);
	if (tcpx_io_read_link(root, path, nic->driver, sizeof(nic->driver)) < 0)
		nic->driver[0] = '\0';
	snprintf(path, sizeof(path), "%s/brport", dir);
	nic->bridge_port = tcpx_io_exists(root, path);
	snprintf(path, sizeof(path), "%s/phy80211", dir);
	nic->wireless = tcpx_io_exists(root, path);
	nic->speed_mbps = read_u32(root, dir, "speed");
	nic->mtu = read_u32(root, dir, "mtu");
	count_queues(root, dir, nic);
}

static void
read_nic(const char *root, const struct tcpx_link *link, const struct tcpx_host_cpus *cpus,
	 struct tcpx_host_nic *nic)
{
	uint64_t limit_mbps;

	*nic = (struct tcpx_host_nic){
		.place.numa = -1,
		.up = link->up,
		.loopback = link->loopback,
		.addr_count = link->addr_count,
	};
	snprintf(nic->name, sizeof(nic->name), "%s", link->name);
	snprintf(nic->ifname, sizeof(nic->ifname), "%s", link->name);
	memcpy(nic->kind, link->kind, sizeof(nic->kind));
	memcpy(nic->master, link->master, sizeof(nic->master));
	memcpy(nic->lower, link->lower, sizeof(nic->lower));
	memcpy(nic->alts, link->alts, sizeof(nic->alts));
	for (unsigned i = 0; i < link->addr_count; i++)
		nic->addrs[i] = link->addrs[i].addr;
	nic->addr = nic->addrs[0];
	read_sysfs(root, link, cpus, nic);
	limit_mbps = (link->limit_bps + 500000) / 1000000;
	if (link->invents_speed)
		nic->speed_mbps = 0;
	if (limit_mbps && (!nic->speed_mbps || limit_mbps < nic->speed_mbps))
		nic->speed_mbps = limit_mbps < UINT32_MAX ? (uint32_t)limit_mbps : UINT32_MAX;
}

/* Two interfaces of one device have one place. */
static void
count_pci_order(struct tcpx_host_nic *nics, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		nics[i].pci_order = nics[i].place.pci[0] != '\0';
		for (unsigned k = 0; nics[i].pci_order && k < count; k++)
			nics[i].pci_order += nics[k].place.pci[0] &&
					     strcmp(nics[k].place.pci, nics[i].place.pci) < 0;
	}
}

int
tcpx_host_nics_read(const char *root, struct tcpx_host_nic **out, unsigned *count)
{
	struct tcpx_host_cpus *cpus;
	struct tcpx_host_nic *nics;
	struct tcpx_links links;
	char by_default[16];
	int rc;

	rc = tcpx_links_read(root, &links);
	if (rc < 0)
		return rc;
	cpus = calloc(1, sizeof(*cpus));
	nics = calloc(links.count ? links.count : 1, sizeof(*nics));
	if (!cpus || !nics) {
		rc = tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "facts of %u NICs", links.count);
		free(nics);
		goto free_links;
	}
	tcpx_cpu_nodes_read(root, cpus);
	tcpx_host_route(root, by_default, sizeof(by_default));
	for (unsigned i = 0; i < links.count; i++) {
		read_nic(root, &links.link[i], cpus, &nics[i]);
		nics[i].default_route = !strcmp(nics[i].ifname, by_default);
	}
	count_pci_order(nics, links.count);
	tcpx_host_nics_judge(nics, links.count);
	*out = nics;
	*count = links.count;

free_links:
	free(cpus);
	tcpx_links_free(&links);
	return rc;
}

static void
keep_family(struct tcpx_host_nic *nic, uint8_t family)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < nic->addr_count; i++)
		if (nic->addrs[i].family == family)
			nic->addrs[kept++] = nic->addrs[i];
	nic->addr_count = kept;
	nic->addr = kept ? nic->addrs[0] : (struct tcpx_addr){ 0 };
}

void
tcpx_host_nics_family(struct tcpx_host_nic *nics, unsigned count, uint64_t setting)
{
	uint8_t family = setting == 1 ? 4 : 6;
	bool before = false, after = false;

	if (setting == 0)
		return;
	for (unsigned i = 0; i < count; i++) {
		before |= !nics[i].loopback && nics[i].addr_count;
		keep_family(&nics[i], family);
		after |= !nics[i].loopback && nics[i].addr_count;
	}
	tcpx_host_nics_judge(nics, count);
	if (before && !after)
		tcpx_warn(TCPX_SUB_HOST, "NIC selection: no NIC but the loopback has an address of IPv%u, which "
			  "TCPX_FAMILY=ipv%u asks for", family, family);
}
