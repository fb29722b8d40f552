/* SPDX-License-Identifier: Apache-2.0 */
/* The readers that a topology is put together from. Each fills in its part. */
#ifndef HOST_TOPO_PART_H
#define HOST_TOPO_PART_H

#include "host/topo.h"

TCPX_MUST_CHECK int tcpx_topo_cpus_read(const char *root, struct tcpx_topo *topo);
/* @all: also what the kernel and other files must be asked for: settings, queues, vectors. */
TCPX_MUST_CHECK int tcpx_topo_nics_read(const char *root, bool all, struct tcpx_topo *topo);
/* irqbalance and NAPI threads. */
TCPX_MUST_CHECK int tcpx_topo_tasks_read(const char *root, struct tcpx_topo *topo);
/* The CPUs that a control group leaves to this process. */
void tcpx_topo_cgroup_read(const char *root, struct tcpx_topo *topo);

#endif
