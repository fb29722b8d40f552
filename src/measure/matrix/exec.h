/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One shell command with a deadline. It runs in a process group of its own, and dies
 * with the tool. matrix_exec_begin() must have been called: signals that end the tool
 * end the command.
 */
#ifndef MEASURE_MATRIX_EXEC_H
#define MEASURE_MATRIX_EXEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct matrix_command {
	const char *text;      /* for /bin/sh -c                                     */
	char *const *env;      /* NAME=value, ..., NULL                              */
	const char *out, *err; /* files for its output; NULL: /dev/null              */
	uint64_t timeout_ms;
	bool whole;            /* runs to its end when the tool is asked to end: it
			        * undoes something */
	bool end_group;        /* processes left running in its group are ended      */
};

struct matrix_ended {
	int code;              /* exit code; 128 + signal                            */
	bool timed_out;
	int signal;            /* that asked the tool to end meanwhile, 0 none       */
	double seconds, user_s, system_s; /* of it and of all its children           */
};

/* Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD, which matrix_exec() then waits for. */
void matrix_exec_begin(void);
/* A signal that asked the tool to end between commands, 0 none. */
int matrix_exec_asked(void);

/* 0, whatever the command's result; -errno (logged) where it could not be started. */
TCPX_MUST_CHECK int matrix_exec(const struct matrix_command *c, struct matrix_ended *ended);

#endif
