/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of tcpx irq: argv[0] is the verb. Each returns an exit code of tool/tool.h. */
#ifndef TUNE_PLAN_IRQ_H
#define TUNE_PLAN_IRQ_H

int irq_snapshot(int argc, char **argv);
int irq_diff(int argc, char **argv);
int irq_plan(int argc, char **argv);
int irq_lint(int argc, char **argv);
int irq_apply(int argc, char **argv);
int irq_verify(int argc, char **argv);
int irq_restore(int argc, char **argv);

#endif
