/* SPDX-License-Identifier: Apache-2.0 */
/* Cores, caches and distances between nodes. Only online CPUs are read: offline
 * ones have no files. */
#ifndef HOST_CORES_H
#define HOST_CORES_H

#include "host/host.h"
#include "host/machine.h"

#define TCPX_CPU_DIR "/sys/devices/system/cpu"

/* The cores of all online CPUs, by first CPU. @out: heap, the caller's. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_cores_read(const char *root, const struct tcpx_host_cpus *cpus,
				    struct tcpx_machine_core **out, unsigned *count);
/* From the node at index @node to each other; all 0 without a file. */
void tcpx_node_distances_read(const char *root, const struct tcpx_host_cpus *cpus, unsigned node,
			      uint8_t distance[TCPX_HOST_NODES]);

#endif
