/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment for a result. Known prefixes are allowed, instead of others forbidden: an
 * unknown variable never gets out.
 */
#include "tool/envlist.h"

#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

static const char *const prefixes[] = { "TCPX_", "UCCL_", "NCCL_" };
static const char *const secrets[] = { "SECRET", "KEY", "TOKEN", "PASSWORD" };

bool
envlist_is_secret(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
		size_t word = strlen(secrets[i]);

		for (size_t at = 0; at + word <= len; at++)
			if (!strncasecmp(name + at, secrets[i], word))
				return true;
	}
	return false;
}

static bool
has_known_prefix(const char *entry)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (!strncmp(entry, prefixes[i], strlen(prefixes[i])))
			return strchr(entry, '=') != NULL;
	return false;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void
envlist_each(char *const *environ,
	     void (*fn)(void *arg, const char *name, const char *value), void *arg)
{
	size_t count = 0, total = 0;
	char **known;

	while (environ[total])
		total++;
	known = calloc(total + 1, sizeof(*known));
	if (!known)
		return;
	for (size_t i = 0; i < total; i++)
		if (has_known_prefix(environ[i]))
			known[count++] = environ[i];
	qsort(known, count, sizeof(*known), by_text);

	for (size_t i = 0; i < count; i++) {
		const char *equals = strchr(known[i], '=');
		size_t len = (size_t)(equals - known[i]);
		char *name = strndup(known[i], len);

		if (name)
			fn(arg, name, envlist_is_secret(name, len) ? ENVLIST_HIDDEN : equals + 1);
		free(name);
	}
	free(known);
}
