/* SPDX-License-Identifier: Apache-2.0 */
/* env_texts() of lint.h: variables from the bytes of a process. */
#include <stdlib.h>
#include <string.h>

#include "tune/env/lint.h"

void
env_texts_free(char **texts)
{
	for (char **at = texts; at && *at; at++)
		free(*at);
	free(texts);
}

const char *
env_text_value(char *const *texts, const char *name)
{
	size_t len = strlen(name);
	const char *found = NULL;

	for (; *texts; texts++)
		if (!strncmp(*texts, name, len) && (*texts)[len] == '=')
			found = *texts + len + 1;
	return found;
}

char **
env_texts(const char *bytes, size_t len)
{
	size_t count = 0, at = 0;
	char **texts;

	for (size_t i = 0; i < len; i++)
		count += !bytes[i];
	texts = calloc(count + 2, sizeof(*texts));
	for (count = 0; texts && at < len; at += strnlen(bytes + at, len - at) + 1) {
		if (!bytes[at])
			continue;
		texts[count] = strndup(bytes + at, len - at);
		if (texts[count++])
			continue;
		env_texts_free(texts);
		return NULL;
	}
	return texts;
}
