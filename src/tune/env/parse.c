/* SPDX-License-Identifier: Apache-2.0 */
/* env_texts() of lint.h: variables from the bytes of a process or of a hand-written file. */
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

/* Removes quotes around the whole value; single quotes that a shell would join stay. */
static void
unquote(char *text)
{
	char *v = strchr(text, '=');
	size_t len;

	if (!v)
		return;
	v++;
	len = strlen(v);
	if (len < 2 || (*v != '\'' && *v != '"') || v[len - 1] != *v)
		return;
	memmove(v, v + 1, len - 2);
	v[len - 2] = '\0';
}

/* The line without surrounding blanks, "export " and quotes; NULL: no assignment. */
static char *
tidy(char *line)
{
	size_t len;

	line += strspn(line, " \t");
	if (!strncmp(line, "export ", 7))
		line += 7 + strspn(line + 7, " ");
	for (len = strlen(line); len && strchr(" \t\r", line[len - 1]);)
		line[--len] = '\0';
	if (!len || *line == '#')
		return NULL;
	unquote(line);
	return line;
}

char **
env_texts(const char *bytes, size_t len, char end)
{
	size_t room = 16, count = 0;
	char **texts = calloc(room, sizeof(*texts));

	while (texts && len) {
		const char *stop = memchr(bytes, end, len);
		size_t n = stop ? (size_t)(stop - bytes) : len;
		char *copy = strndup(bytes, n), *text;
		char **more;

		bytes += n + (stop != NULL);
		len -= n + (stop != NULL);
		if (!copy)
			goto fail;
		text = end == '\n' ? tidy(copy) : *copy ? copy : NULL;
		if (text)
			memmove(copy, text, strlen(text) + 1);
		if (!text) {
			free(copy);
			continue;
		}
		texts[count++] = copy;
		if (count + 1 < room)
			continue;
		room *= 2;
		more = reallocarray(texts, room, sizeof(*texts));
		if (!more)
			goto fail;
		memset(more + count, 0, (room - count) * sizeof(*more));
		texts = more;
	}
	return texts;
fail:
	env_texts_free(texts);
	return NULL;
}
