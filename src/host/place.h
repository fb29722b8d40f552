/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a NIC or GPU: its PCI device, and the path, NUMA node and CPUs of that. For the
 * other files of host/. */
#ifndef HOST_PLACE_H
#define HOST_PLACE_H

#include "host/host.h"

/* @dir: the directory of a device in /sys, or a link to it. @root as in io.h. A device without a
 * PCI bus, or a missing one, has the empty place; this cannot fail. @cpus may be empty. */
void tcpx_place_read(const char *root, const char *dir, const struct tcpx_host_cpus *cpus,
		     struct tcpx_host_place *place);

/* Number of components that both paths begin with: bridge, root port, switch. */
unsigned tcpx_place_common(const char *a, const char *b);

#endif
