/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Number and speed of devices decide how many channels NCCL makes. Several of less speed than the
 * NIC gave more in every measurement with a plugin that moves nothing than one of the NIC's speed.
 */
#include "nccl/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES       8
#define UNKNOWN_MBPS  100000 /* virtual NICs do not say theirs                         */
#define LATENCY_US    20     /* half a round trip of a small message, about            */
#define MESSAGE_MAX   (1u << 30)

static size_t
per_nic(size_t nics)
{
	return nics >= DEVICES ? 1 : (DEVICES + nics - 1) / nics;
}

size_t
tcpx_nccl_device_count(size_t nics)
{
	return nics ? nics * per_nic(nics) : 0;
}

/* A virtual device is a child of its PCI function. */
static void
read_pci(const char *name, char pci[PATH_MAX])
{
	char link[128];
	char *last;

	snprintf(link, sizeof(link), "/sys/class/net/%s/device", name);
	if (strchr(name, '/') || !realpath(link, pci))
		pci[0] = '\0';
	last = strrchr(pci, '/');
	if (last && !strncmp(last, "/virtio", 7))
		*last = '\0';
}

/* Neighbours are of different NICs. */
void
tcpx_nccl_device_make(struct device *d, const struct tcpx_nic_info *nics, size_t count, size_t i)
{
	const struct tcpx_nic_info *nic = &nics[i % count];

	snprintf(d->name, sizeof(d->name), "%s.%zu", nic->name, i / count);
	read_pci(nic->name, d->pci);
	d->mbps = (nic->mbps ? (int)nic->mbps : UNKNOWN_MBPS) / (int)per_nic(count);
	if (d->mbps < 1)
		d->mbps = 1;
}

void
tcpx_nccl_device_properties(struct device *d, int i, struct nccl_props_v12 *props)
{
	*props = (struct nccl_props_v12){
		.name = d->name, .pci_path = d->pci[0] ? d->pci : NULL,
		.guid = (uint64_t)i + 1, .ptr_support = NCCL_PTR_HOST, .reg_is_global = 1,
		.speed = d->mbps, .port = 1, .latency = LATENCY_US, .max_comms = 65536,
		.max_recvs = 1, .device_type = NCCL_DEVICE_HOST, .vdevs = { 1, { i } },
		.max_p2p_bytes = MESSAGE_MAX, .max_coll_bytes = MESSAGE_MAX,
		.max_multi_request = 1, .network_id = -1, .plane_id = -1,
	};
}
