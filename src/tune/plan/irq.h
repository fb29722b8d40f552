/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of tcpx irq: argv[0] is the verb. Each returns an exit code of tool/tool.h. */
#ifndef TUNE_PLAN_IRQ_H
#define TUNE_PLAN_IRQ_H

#include "host/machine.h"

int irq_snapshot(int argc, char **argv);
int irq_diff(int argc, char **argv);
int irq_plan(int argc, char **argv);
int irq_lint(int argc, char **argv);
int irq_apply(int argc, char **argv);
int irq_verify(int argc, char **argv);
int irq_restore(int argc, char **argv);

/* Reads the machine with its vectors, which tcpx_machine_read() leaves out. @root NULL: this machine. TOOL_OK, or
 * an exit code after a logged reason. @out: for tcpx_machine_fini(). */
int irq_machine(const char *root, struct tcpx_machine *out);

#endif
