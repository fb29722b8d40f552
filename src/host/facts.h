/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of a machine, read once. An engine plans with them (tcpx_machine_read()); the tool adds
 * queues and vectors, which only the kernel knows (tune/facts/topo.h).
 */
#ifndef HOST_FACTS_H
#define HOST_FACTS_H

#include "host/machine.h"
#include "host/maybe.h"

struct tcpx_facts {
	struct tcpx_host_cpus cpus;       /* count 0: unknown                            */
	struct tcpx_maybe_set isolated;
	uint8_t distance[TCPX_HOST_NODES][TCPX_HOST_NODES]; /* of cpus.node; 0 unknown   */
	struct tcpx_machine_core *cores;  /* by first CPU                                */
	struct tcpx_host_nic *nics;       /* eth2 before eth10; virtual ones, too        */
	struct tcpx_host_gpu gpus[TCPX_MACHINE_GPUS];
	unsigned core_count, nic_count, gpu_count;
	int nics_rc;                      /* why there are no NICs; 0                    */
};

/* A part that cannot be read is empty; the reason is in the log, unless a tree has no CPUs.
 * -ENOMEM (logged). */
TCPX_MUST_CHECK int tcpx_facts_read(const char *root, struct tcpx_facts *f);
void tcpx_facts_fini(struct tcpx_facts *f);

/* Adds to @m what @arg knows of the NIC that was added last: its queues' limit, its vectors. */
typedef int (*tcpx_facts_more_fn)(const void *arg, const struct tcpx_host_nic *nic,
				  struct tcpx_machine *m);

/*
 * tcpx_facts_machine - the machine for planning
 * @more: NULL: without vectors
 * NICs are those with a device and those that the default selection takes; without any, the
 * loopback. Finished. -ENOMEM, or -EINVAL for facts that contradict each other; logged.
 */
TCPX_MUST_CHECK int tcpx_facts_machine(const struct tcpx_facts *f, const char *root,
				       tcpx_facts_more_fn more, const void *arg,
				       struct tcpx_machine *out);

#endif
