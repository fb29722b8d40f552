/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with an environment: a list, worst first. */
#ifndef TUNE_ENV_FINDINGS_H
#define TUNE_ENV_FINDINGS_H

#include <jansson.h>

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

/* Adds a finding to @lint; @id is static. */
void env_say(struct env_lint *lint, enum env_level level, const char *id, const char *name,
	     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* "error"; static. */
const char *env_level_name(enum env_level level);
json_t *env_lint_json(const struct env_lint *lint);

#endif
