/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of `tcpx irq plan` and `lint`: a tree, or this one. */
#ifndef TOOL_IRQ_MACHINE_H
#define TOOL_IRQ_MACHINE_H

#include "host/machine.h"

/* With its vectors, which tcpx_machine_read() leaves out. @root NULL: this machine. TOOL_OK, or
 * an exit code after a logged reason. @out: for tcpx_machine_fini(). */
int irq_machine(const char *root, struct tcpx_machine *out);

#endif
