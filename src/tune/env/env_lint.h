/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems of an environment for a job over GPUDirect-TCPX on a machine. Rules and ranges
 * are those of docs/plugins.md. Nothing is changed, nothing printed.
 */
#ifndef TOOL_ENV_LINT_H
#define TOOL_ENV_LINT_H

#include <jansson.h>
#include <stddef.h>

#include "tune/info/machine.h"

#define ENV_FINDINGS 64

enum env_level { ENV_ERROR, ENV_WARNING, ENV_NOTE, ENV_LEVELS };

struct env_finding {
	enum env_level level;
	const char *id;    /* static: "chunk-unset" */
	char name[64];     /* of the variable; "" for several */
	char text[320];
};

struct env_lint {
	struct env_finding at[ENV_FINDINGS]; /* worst first; when full, new ones are dropped */
	unsigned count, left_out;            /* left_out: dropped ones                       */
	unsigned of[ENV_LEVELS];             /* by level, with the dropped ones              */
};

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

/* "error"; static. */
const char *env_level_name(enum env_level level);
json_t *env_lint_json(const struct env_lint *lint);

/* ---- for the rules --------------------------------------------------------------------- */

/* Adds a finding to @lint; @id is static. */
void env_say(struct env_lint *lint, enum env_level level, const char *id, const char *name,
	     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Unknown names, numbers out of range, values without effect. Pure. */
void env_lint_names(char *const *texts, struct env_lint *out);

#endif
