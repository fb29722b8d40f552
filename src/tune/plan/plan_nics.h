/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NICs of a plan whose command line names none: those that carry data, by the rule of
 * tune/facts/role.h. That rule uses the settings for this machine and for a tree. A machine read
 * from a text has no settings: the places of its NICs and GPUs decide alone.
 */
#ifndef TOOL_PLAN_NICS_H
#define TOOL_PLAN_NICS_H

#include "host/machine.h"

struct plan_nics {
	char list[TCPX_MACHINE_NICS * 17];     /* "eth1,eth2"; "": all of the machine's */
	char left_out[TCPX_MACHINE_NICS * 17]; /* "eth0"; "": none                      */
	const char *why;                       /* static                                */
};

/* @text: @m was read from a text; else from @root, NULL: this machine. TOOL_OK, or an exit code
 * with a message. */
int plan_nics(const char *command, const struct tcpx_machine *m, bool text, const char *root,
	      struct plan_nics *out);

#endif
