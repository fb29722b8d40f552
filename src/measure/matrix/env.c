/* SPDX-License-Identifier: Apache-2.0 */
/* A plain list: a few hundred variables at most, set a few times a run. */
#include "measure/matrix/env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
matrix_env_init(struct matrix_env *e, char *const *from)
{
	size_t n = 0;

	while (from[n])
		n++;
	*e = (struct matrix_env){ .at = calloc(n + 1, sizeof(*e->at)) };
	if (!e->at)
		return -ENOMEM;
	for (; e->n < n; e->n++) {
		e->at[e->n] = strdup(from[e->n]);
		if (!e->at[e->n]) {
			matrix_env_fini(e);
			return -ENOMEM;
		}
	}
	return 0;
}

void
matrix_env_fini(struct matrix_env *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->at[i]);
	free(e->at);
	*e = (struct matrix_env){ .n = 0 };
}

static char **
find(const struct matrix_env *e, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < e->n; i++)
		if (!strncmp(e->at[i], name, len) && e->at[i][len] == '=')
			return &e->at[i];
	return NULL;
}

int
matrix_env_set(struct matrix_env *e, const char *name, const char *value)
{
	char **old = find(e, name), **more, *text;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		return -ENOMEM;
	if (old) {
		free(*old);
		*old = text;
		return 0;
	}
	more = realloc(e->at, (e->n + 2) * sizeof(*more));
	if (!more) {
		free(text);
		return -ENOMEM;
	}
	e->at = more;
	e->at[e->n++] = text;
	e->at[e->n] = NULL;
	return 0;
}
