/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device sits: its PCI ancestor, that one's path, NUMA node and CPUs. */
#ifndef HOST_PLACE_H
#define HOST_PLACE_H

#include "host/host.h"

/* @dir: a device's directory or a link to it. A device that is not on a PCI bus, or not
 * there, has the empty place; this cannot fail. @cpus may be empty. */
void tcpx_place_read(const char *root, const char *dir, const struct tcpx_host_cpus *cpus,
		     struct tcpx_host_place *place);

#endif
