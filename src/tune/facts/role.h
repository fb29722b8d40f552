/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NICs of a machine carry data and which one the rest: one decision for plans of CPUs and
 * interrupts, environments of jobs, and checks. Pure.
 *
 * NICs that are named carry data, and no others. Else, with GPUs, those nearest to one; without,
 * all. The control NIC that is asked for carries none, unless it is the only NIC.
 *
 * The control NIC, unless asked for, is that of the default route; but no data NIC that was named
 * or found by its GPU. Then the first other one.
 */
#ifndef TUNE_FACTS_ROLE_H
#define TUNE_FACTS_ROLE_H

#include "host/machine.h"

struct tcpx_role_facts {
	const struct tcpx_host_nic *all;  /* every NIC: what a control NIC can be    */
	unsigned all_count;
	const struct tcpx_host_nic *nics; /* of these, what data NICs can be         */
	unsigned nic_count;
	const struct tcpx_host_gpu *gpus;
	unsigned gpu_count;
	const char *control;              /* interface that was asked for, or NULL   */
	bool named;                       /* @nics are those that were named         */
};

struct tcpx_roles {
	const struct tcpx_host_nic *data[TCPX_MACHINE_NICS]; /* borrowed; eth2 before eth10 */
	unsigned count;
	const struct tcpx_host_nic *control; /* NULL: there is no NIC, or not that one   */
	const char *data_why, *control_why;  /* static                                   */
	bool by_gpu;                         /* data NICs are those of GPUs              */
	bool named;                          /* ... or those that were named             */
};

void tcpx_roles_find(const struct tcpx_role_facts *facts, struct tcpx_roles *out);
/* Whether a data NIC has that interface. */
bool tcpx_roles_data(const struct tcpx_roles *roles, const char *ifname);

#endif
