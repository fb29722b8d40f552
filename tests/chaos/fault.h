/* SPDX-License-Identifier: Apache-2.0 */
/* Makes faults in the lab and takes them back; starts and ends processes. */
#ifndef CHAOS_FAULT_H
#define CHAOS_FAULT_H

#include "chaos/chaos.h"

/* A new life of host @h. 0; -errno with a message. */
int chaos_child_start(struct chaos_run *r, unsigned h);
/* Begins a fault that the host can have now; false: it cannot. */
bool chaos_fault_begin(struct chaos_run *r, const struct chaos_event *e, uint64_t now);
/* Ends the present fault of @h. */
void chaos_fault_end(struct chaos_run *r, unsigned h);

#endif
