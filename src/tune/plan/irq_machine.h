/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of `tcpx irq plan` and `lint`: a spec, a tree, or this one. */
#ifndef TOOL_IRQ_MACHINE_H
#define TOOL_IRQ_MACHINE_H

#include "host/machine.h"

/* @spec or @root or both NULL: this machine. TOOL_OK, or an exit code with a message.
 * @out: for tcpx_machine_fini(). */
int irq_machine(const char *command, const char *spec, const char *root,
		struct tcpx_machine *out);

#endif
