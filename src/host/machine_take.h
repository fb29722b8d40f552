/* SPDX-License-Identifier: Apache-2.0 */
/* Putting facts into a machine: shared by tcpx_machine_read() and a topology. */
#ifndef HOST_MACHINE_TAKE_H
#define HOST_MACHINE_TAKE_H

#include "host/machine.h"

/* Does planning include @nic? True for one with a device, or one that the default selection
 * takes. @last_resort: there was none, so the loopback is taken. */
bool tcpx_machine_wants_nic(const struct tcpx_host_nic *nic, bool last_resort);
/* As tcpx_machine_add_nic(), without vectors. */
TCPX_MUST_CHECK int tcpx_machine_take_nic(struct tcpx_machine *m, const struct tcpx_host_nic *from,
					  unsigned queues_max);
TCPX_MUST_CHECK int tcpx_machine_take_gpu(struct tcpx_machine *m, const struct tcpx_host_gpu *from,
					  unsigned index);
/* Sets online, allowed and isolated CPUs; to be called after the cores. */
void tcpx_machine_take_sets(struct tcpx_machine *m, const struct tcpx_host_cpus *cpus,
			    const struct tcpx_cpuset *isolated);
/* Sets "live" or "tree", and the id of the running kernel. */
void tcpx_machine_take_name(struct tcpx_machine *m, const char *root);
/* Finishes @m into @out, or frees it if @rc reports a failed part. */
TCPX_MUST_CHECK int tcpx_machine_taken(struct tcpx_machine *m, int rc, const char *root,
				       struct tcpx_machine *out);

#endif
