/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NICs of a plan whose command line names none: those that carry data, by the rule of
 * tune/facts/role.h, with the settings.
 */
#ifndef TUNE_PLAN_NICS_H
#define TUNE_PLAN_NICS_H

#include "tune/info/machine.h"

struct plan_nics {
	char list[TCPX_MACHINE_NICS * 17];     /* "eth1,eth2"; "": all of the machine's */
	char left_out[TCPX_MACHINE_NICS * 17]; /* "eth0"; "": none                      */
	const char *why;                       /* static                                */
};

/* Reads the machine, and what planning needs of it: vectors, too, which tcpx_machine_read()
 * leaves out. @root NULL: this one. TOOL_OK, or an exit code with a message. */
int plan_machine_read(const char *command, const char *root, struct machine **here,
		      struct tcpx_machine *m);
/* TOOL_OK, or an exit code with a message. */
int plan_nics(const char *command, struct machine *here, const struct tcpx_machine *m,
	      struct plan_nics *out);

#endif
