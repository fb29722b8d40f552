/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the planner's halves: the usable cores of a group while a plan is made. */
#ifndef HOST_PLAN_CORES_H
#define HOST_PLAN_CORES_H

#include "host/plan.h"

struct plan_core {
	uint16_t cpu[TCPX_MACHINE_SIBLINGS]; /* that may be used, rising          */
	uint8_t count;
	uint8_t use; /* CPUs that the sets take: count, or 1 with first_threads */
	int l3;
};

/* The cores of a group in their order; heap. */
struct plan_pool {
	struct plan_core *core;
	unsigned count;
};

/* Usable cores of @node (all nodes': @all), given the CPUs that may be used. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_plan_pool_fill(const struct tcpx_machine *m, int node, bool all,
				   const struct tcpx_cpuset *usable, bool first_threads,
				   struct plan_pool *pool, bool *partial);

/* Makes the rows of all interrupts, after the groups; @pools has one for each group. */
TCPX_MUST_CHECK int tcpx_plan_irqs(struct tcpx_plan *p, const struct tcpx_machine *m,
			      const struct plan_pool *pools, const struct tcpx_cpuset *usable);

/* Applies option spill, after groups and interrupts. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_plan_spill(struct tcpx_plan *p, const struct tcpx_machine *m,
				    const struct tcpx_cpuset *usable);

#endif
