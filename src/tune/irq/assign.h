/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan with its interrupts: host/plan.h cuts the cores, and each policy finds a CPU for each
 * interrupt. Pure; errors as in host/plan.h.
 */
#ifndef TUNE_IRQ_ASSIGN_H
#define TUNE_IRQ_ASSIGN_H

#include "host/plan.h"

/* Plans as tcpx_plan_cpus(), then places interrupts by the policy. @out: for tcpx_plan_fini(); written only
 * on success. */
TCPX_MUST_CHECK int tcpx_plan_make(const struct tcpx_machine *m,
				   const struct tcpx_plan_options *options,
				   struct tcpx_plan *out);

/* The CPUs whose packets should leave by TX queue @queue of @nic: its group's sending CPUs
 * dealt to the queues in turn. Empty: the NIC has more queues than CPUs that send. */
void tcpx_plan_xps(const struct tcpx_plan *p, const struct tcpx_plan_nic *nic, unsigned queue,
		   struct tcpx_cpuset *out);

#endif
