/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of one cell: set up, measure, check, take down, judge. And the commands of a
 * study's own set-up. All facts for a command are in its environment.
 */
#ifndef MEASURE_MATRIX_RUNNER_H
#define MEASURE_MATRIX_RUNNER_H

#include "measure/matrix/env.h"
#include "measure/matrix/exec.h"
#include "measure/matrix/store.h"

struct matrix_runner {
	const struct matrix_design *design;
	struct matrix_store *store;
	struct matrix_env env;      /* of all commands */
	int signal;                 /* that asked the tool to end, 0 none */
};

/* Runs the lines of @key, in order (teardown: last first). With @stop the first
 * failure is the last that runs. 0; or 1, @why has the failed line and its output.
 * -errno: not started. */
TCPX_MUST_CHECK int matrix_commands(struct matrix_runner *r, const struct matrix_line *lines,
				    size_t n, enum matrix_key key, bool stop, char why[MATRIX_WHY]);
/* The first output line of @command, "" when it fails. */
void matrix_command_line(struct matrix_runner *r, const char *command, char *buf, size_t cap);
/* "needs two NUMA nodes" if a requirement of @lines is not met; false: all are. */
bool matrix_requires(struct matrix_runner *r, const struct matrix_line *lines, size_t n,
		     char why[MATRIX_WHY]);

/* The environment of @cell's commands: the study's env lines, then the cell's. */
TCPX_MUST_CHECK int matrix_cell_env(struct matrix_runner *r, const struct matrix_cell *cell,
				    struct matrix_env *out);
/* The workload's command in @cell, to be freed: run with prefix and args. NULL: no memory. */
char *matrix_cell_command(const struct matrix_design *d, const struct matrix_cell *cell);

/*
 * matrix_cell_run - measure @cell once and store the run
 * @run: block, attempt, order and cell are set
 * Return: 0, valid or not; 1: a tear-down failed and the study must stop (@why);
 * -EINTR: asked to end, taken down, nothing stored; -errno (logged).
 */
TCPX_MUST_CHECK int matrix_cell_run(struct matrix_runner *r, const struct matrix_cell *cell,
				    struct matrix_run *run, char why[MATRIX_WHY]);

/* The last line of a file that is not empty; @buf stays without one. */
void matrix_last_line(const char *path, char *buf, size_t cap);

#endif
