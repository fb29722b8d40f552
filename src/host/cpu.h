/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU facts for placing devices. */
#ifndef HOST_CPU_H
#define HOST_CPU_H

#include "host/host.h"

/* Fills in only the NUMA nodes of @cpus; none without their files. */
void tcpx_cpu_nodes_read(const char *root, struct tcpx_host_cpus *cpus);

#endif
