/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One shell command with a deadline. It runs in a process group of its own, and dies with
 * us. matrix_exec_begin() must have been called: signals that end us are looked for, and
 * end the command, while it runs.
 */
#ifndef TOOL_MATRIX_EXEC_H
#define TOOL_MATRIX_EXEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct matrix_command {
	const char *text;      /* for /bin/sh -c                                     */
	char *const *env;      /* NAME=value, ..., NULL                              */
	const char *out, *err; /* files for its output; NULL: /dev/null              */
	uint64_t timeout_ms;
	bool whole;            /* is not ended when we are asked to end: it undoes something */
	bool end_group;        /* what it leaves running in its group is ended       */
};

struct matrix_ended {
	int code;              /* exit code; 128 + signal                            */
	bool timed_out;
	int signal;            /* that asked us to end meanwhile, 0 none             */
	double seconds, user_s, system_s; /* of it and of all it waited for          */
};

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD, which matrix_exec() then waits for. */
void matrix_exec_begin(void);
/* A signal that asks us to end and came between commands, 0 none. */
int matrix_exec_asked(void);

/* 0, whatever became of the command; -errno (logged) where it could not be started. */
TCPX_MUST_CHECK int matrix_exec(const struct matrix_command *c, struct matrix_ended *ended);

#endif
