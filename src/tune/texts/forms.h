/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in words, and in the forms of other programs. Texts are heap, the caller's. Return: 0;
 * -ENOMEM; with bindings also -EINVAL, logged, if they cannot name a NIC. */
#ifndef TUNE_TEXTS_FORMS_H
#define TUNE_TEXTS_FORMS_H

#include "tune/irq/assign.h"

/* "eth1:8-21,112-125;eth2:...": every set in ranges, as the plugin reads them. */
TCPX_MUST_CHECK int tcpx_plan_bindings(const struct tcpx_plan *p, bool rx, char **text);
/* The application's CPUs, a list for each group: "0-7,104-111,52-59,156-163"; "" for none. */
TCPX_MUST_CHECK int tcpx_plan_application(const struct tcpx_plan *p, char **text);
enum tcpx_plan_form {
	TCPX_PLAN_NCCL,    /* both bindings as NAME=VALUE lines                       */
	TCPX_PLAN_SH,      /* a script: exports, and root's commands for the interrupts */
	TCPX_PLAN_SYSTEMD, /* lines of a unit's [Service]                             */
	TCPX_PLAN_SLURM    /* lines of a job script                                   */
};
TCPX_MUST_CHECK int tcpx_plan_emit(const struct tcpx_plan *p, enum tcpx_plan_form form,
				   char **text);

/* The reasons for group @g: a sentence for each of its sets and flags, in lines. */
TCPX_MUST_CHECK int tcpx_plan_explain(const struct tcpx_plan *p, unsigned g, char **text);
/* The reason for an interrupt's CPU, one sentence. As snprintf(). */
size_t tcpx_plan_explain_irq(const struct tcpx_plan *p, const struct tcpx_plan_irq *irq,
			     char *buf, size_t cap);

/* "tail"; "shared": static. -EINVAL for an unknown name; not logged. */
const char *tcpx_irq_policy_name(enum tcpx_irq_policy policy);
TCPX_MUST_CHECK int tcpx_irq_policy_parse(const char *name, enum tcpx_irq_policy *policy);
/* A flag's word and sentence, by its bit's number. */
const char *tcpx_plan_flag_name(unsigned bit);
const char *tcpx_plan_flag_text(unsigned bit);

#endif
