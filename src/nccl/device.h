/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that NCCL sees. */
#ifndef NCCL_DEVICE_H
#define NCCL_DEVICE_H

#include <limits.h>
#include <stddef.h>

#include "net/plugin/nccl_net.h"
#include "tcpx/tcpx.h"

/* One of several of a NIC. Each message uses all NICs: devices are for NCCL's planning. */
struct device {
	char name[48];
	char pci[PATH_MAX]; /* "": none that is known                                */
	int mbps;
};

/* How many devices there are for so many NICs. */
size_t tcpx_nccl_device_count(size_t nics);
/* Device @i of them. */
void tcpx_nccl_device_make(struct device *d, const struct tcpx_nic_info *nics, size_t count,
			   size_t i);
/* As v12, which has all that earlier versions have. It points into @d. */
void tcpx_nccl_device_properties(struct device *d, int i, struct nccl_props_v12 *props);

#endif
