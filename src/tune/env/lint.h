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

/* "NAME=VALUE" texts, each ended by @end: '\0' as in proc/PID/environ, or '\n'. With
 * '\n' blank lines and lines that begin with # are skipped, and so are "export " and
 * quotes around a value. Heap, ended by NULL, for env_texts_free(); NULL: no memory.
 * Of two with the same name the later one counts. */
char **env_texts(const char *bytes, size_t len, char end);
void env_texts_free(char **texts);
/* The value, or NULL. */
const char *env_text_value(char *const *texts, const char *name);

/* @texts: as environ. Returns 0 or -ENOMEM. */
int env_lint(const struct machine *m, const struct tcpx_roles *roles, char *const *texts,
	     struct env_lint *out);

/* Unknown names, numbers out of range, values without effect. Pure. */
void env_lint_names(char *const *texts, struct env_lint *out);

#endif
