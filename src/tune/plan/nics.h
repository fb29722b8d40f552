/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NICs of a plan whose command line names none: those that carry data, by the rule of
 * tune/facts/role.h, with the settings.
 */
#ifndef TUNE_PLAN_NICS_H
#define TUNE_PLAN_NICS_H

#include "host/machine.h"

struct plan_nics {
	char list[TCPX_MACHINE_NICS * 17];     /* "eth1,eth2"; "": all of the machine's */
	char left_out[TCPX_MACHINE_NICS * 17]; /* "eth0"; "": none                      */
	const char *why;                       /* static                                */
};

/* @m was read from @root, NULL: this machine. TOOL_OK, or an exit code with a message. */
int plan_nics(const char *command, const struct tcpx_machine *m, const char *root,
	      struct plan_nics *out);

#endif
