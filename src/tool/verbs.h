/* SPDX-License-Identifier: Apache-2.0 */
/* For commands with verbs, like `tcpx irq`: one table serves dispatch and usage text. */
#ifndef TOOL_VERBS_H
#define TOOL_VERBS_H

#include <stddef.h>

struct tool_verb {
	const char *name; /* first member: tool_nearest() reads it */
	int (*run)(int argc, char **argv); /* argv[0]: the verb; returns an exit code */
	const char *words; /* in the usage text, behind the name: "[OPTIONS]" */
	const char *about; /* there, a few words                              */
};

struct tool_verbs {
	const char *command; /* "tcpx irq"                                      */
	const char *about;   /* lines, each ended by \n                         */
	const char *more;    /* ends the usage text's last sentence; "": nothing */
	const struct tool_verb *verb;
	size_t count;
};

/* Runs the verb that argv[1] names, or prints the usage. An exit code. */
int tool_run_verb(const struct tool_verbs *v, int argc, char **argv);

#endif
