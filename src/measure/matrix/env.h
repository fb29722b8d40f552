/* SPDX-License-Identifier: Apache-2.0 */
/* An environment that can be added to: NAME=value, ..., NULL. */
#ifndef MEASURE_MATRIX_ENV_H
#define MEASURE_MATRIX_ENV_H

#include "base/err.h"

struct matrix_env {
	char **at; /* NULL-terminated, owned */
	size_t n;
};

/* A copy of @from. 0 or -ENOMEM. */
TCPX_MUST_CHECK int matrix_env_init(struct matrix_env *e, char *const *from);
void matrix_env_fini(struct matrix_env *e);
/* Sets or replaces one. 0 or -ENOMEM. */
TCPX_MUST_CHECK int matrix_env_set(struct matrix_env *e, const char *name, const char *value);

#endif
