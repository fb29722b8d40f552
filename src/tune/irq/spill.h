/* SPDX-License-Identifier: Apache-2.0 */
/* Option spill of a plan: nodes without NICs lend cores to the workers of others. */
#ifndef TUNE_IRQ_SPILL_H
#define TUNE_IRQ_SPILL_H

#include "host/plan.h"

/* After the groups and the interrupts of @p are made. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_plan_spill(struct tcpx_plan *p, const struct tcpx_machine *m);

#endif
