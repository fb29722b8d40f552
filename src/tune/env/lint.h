/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems of an environment for a job over GPUDirect-TCPX on a machine. Rules and ranges
 * are those of docs/plugins.md. Nothing is changed, nothing printed.
 */
#ifndef TUNE_ENV_LINT_H
#define TUNE_ENV_LINT_H

#include <stddef.h>

#include "tune/env/findings.h"
#include "tune/info/machine.h"

/* "NAME=VALUE" texts, each ended by NUL as in proc/PID/environ. Heap, ended by NULL, for
 * env_texts_free(); NULL: no memory. Of two with the same name the later one counts. */
char **env_texts(const char *bytes, size_t len);
/*
 * env_job_texts - the variables that a job's file sets
 * Lines are those of a shell (NAME=VALUE to the end of the line, quotes around a value; export, and assignments in
 * front of a command), -x NAME=VALUE of mpirun, --export of srun and #SBATCH, and the name and value pairs of the env
 * lists of a manifest of Kubernetes. A \ at the end of a line continues it. All else is skipped.
 * Return: as env_texts().
 */
char **env_job_texts(const char *bytes, size_t len);
void env_texts_free(char **texts);
/* The value, or NULL. */
const char *env_text_value(char *const *texts, const char *name);

/* @texts: as environ. Returns 0 or -ENOMEM. */
int env_lint(const struct machine *m, const struct tcpx_roles *roles, char *const *texts,
	     struct env_lint *out);

/* Unknown names, numbers out of range, values without effect. Pure. */
void env_lint_names(char *const *texts, struct env_lint *out);

#endif
