/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of a topology's parts. */
#ifndef TUNE_FACTS_TOPO_PART_H
#define TUNE_FACTS_TOPO_PART_H

#include "tune/facts/topo.h"

/* These two after the facts. */
void tcpx_topo_cpus_read(const char *root, struct tcpx_topo *topo);
TCPX_MUST_CHECK int tcpx_topo_nics_read(const char *root, struct tcpx_topo *topo);
/* Finds irqbalance and NAPI threads. */
TCPX_MUST_CHECK int tcpx_topo_tasks_read(const char *root, struct tcpx_topo *topo);
/* The CPUs that a control group leaves to this process. */
void tcpx_topo_cgroup_read(const char *root, struct tcpx_topo *topo);

#endif
