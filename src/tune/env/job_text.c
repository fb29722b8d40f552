/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env_job_texts() of lint.h: the variables that a job's file sets. A line is of a shell, with words of mpirun and
 * of Slurm in it, or of a manifest of Kubernetes, which may hold a script in turn.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tune/env/lint.h"

#define BLANKS " \t\r"

/* ---- the list that is being made ---- */

struct maker {
	char **texts;
	size_t count, room;
	bool failed; /* no memory */
	/* of a manifest */
	int env;          /* column of the present "env:", or -1                    */
	char *name;       /* of the present item; heap                             */
	char *value;      /* likewise                                              */
	bool below;       /* the value stands on the next line                     */
};

/* Takes over @text. */
static void
push(struct maker *k, char *text)
{
	char **more = k->texts;

	if (text && k->count + 1 >= k->room) {
		k->room = 2 * k->room + 16;
		more = reallocarray(k->texts, k->room, sizeof(*more));
	}
	if (!text || !more) {
		k->failed = true;
		free(text);
		return;
	}
	k->texts = more;
	k->texts[k->count++] = text;
	k->texts[k->count] = NULL;
}

/* Length of the name in front of "="; 0: the text is no assignment. */
static size_t
name_length(const char *text)
{
	size_t len = 0;

	while (isalnum((unsigned char)text[len]) || text[len] == '_')
		len++;
	return len && text[len] == '=' && !isdigit((unsigned char)text[0]) ? len : 0;
}

static bool
push_assignment(struct maker *k, const char *text)
{
	if (!name_length(text))
		return false;
	push(k, strdup(text));
	return true;
}

/* ---- lines of a shell ---- */

/* Cuts the next word off *at, quotes and backslashes removed, in place; NULL: none is left. */
static char *
next_word(char **at)
{
	char *from = *at + strspn(*at, BLANKS), *to = from, *word = from, quote = 0;

	if (!*from || *from == '#')
		return NULL;
	for (; *from && (quote || !strchr(BLANKS ";", *from)); from++) {
		if (!quote && (*from == '\'' || *from == '"'))
			quote = *from;
		else if (quote && *from == quote)
			quote = 0;
		else if (*from == '\\' && from[1] && quote != '\'')
			*to++ = *++from;
		else
			*to++ = *from;
	}
	*at = from + (*from != '\0');
	*to = '\0';
	return word;
}

/* Slurm's list: "ALL,A=1,B=2". It cuts values at commas, unless they stand in single
 * quotes. */
static void
push_export(struct maker *k, char *list)
{
	while (list && *list) {
		char *to = list, *from = list, quote = 0;

		for (; *from && (quote || *from != ','); from++) {
			if (*from == '\'')
				quote = quote ? 0 : '\'';
			else
				*to++ = *from;
		}
		from += *from == ',';
		*to = '\0';
		push_assignment(k, list);
		list = from;
	}
}

/* "export", words of mpirun and Slurm, and assignments in front of a command. */
static void
read_words(struct maker *k, char *line)
{
	bool leading = true, x = false, list = false;
	char *word;

	while ((word = next_word(&line)) != NULL) {
		if (list)
			push_export(k, word);
		else if (x)
			push_assignment(k, word);
		else if (!strncmp(word, "--export=", 9))
			push_export(k, word + 9);
		else if (leading && strcmp(word, "export") != 0 && strcmp(word, "env") != 0)
			leading = push_assignment(k, word);
		list = !strcmp(word, "--export");
		x = !strcmp(word, "-x");
	}
}

static bool
has_words(const char *line)
{
	size_t name = name_length(line);
	const char *blank = name ? strpbrk(line, BLANKS) : line;

	return !name || strstr(line, " -x ") || strstr(line, "--export") ||
	       (blank && name_length(blank + strspn(blank, BLANKS)) && !strpbrk(line, "'\""));
}

/* A line that is an assignment has its value to the end, as docker has it; quotes around
 * all of it go. */
static void
read_shell(struct maker *k, char *line)
{
	size_t len = strlen(line);
	char *value;

	while (len && strchr(BLANKS, line[len - 1]))
		line[--len] = '\0';
	if (!strncmp(line, "#SBATCH", 7)) {
		read_words(k, line + 7);
		return;
	}
	if (*line == '#')
		return;
	if (has_words(line)) {
		read_words(k, line);
		return;
	}
	value = line + name_length(line) + 1;
	len = strlen(value);
	if (len >= 2 && (*value == '\'' || *value == '"') && value[len - 1] == *value) {
		memmove(value, value + 1, len - 2);
		value[len - 2] = '\0';
	}
	push_assignment(k, line);
}

/* ---- lines of a manifest ---- */

static void
end_item(struct maker *k)
{
	size_t len = k->name ? strlen(k->name) : 0;
	char *text = k->name && k->value ? malloc(len + strlen(k->value) + 2) : NULL;

	if (text) {
		memcpy(text, k->name, len);
		text[len] = '=';
		strcpy(text + len + 1, k->value);
		push_assignment(k, text);
		free(text);
	} else if (k->name && k->value) {
		k->failed = true;
	}
	free(k->name);
	free(k->value);
	k->name = k->value = NULL;
}

/* A scalar at *at, which moves behind it; @flow: it ends at a comma or a brace, too. In
 * place. */
static char *
scalar(char **at, bool flow)
{
	char *from = *at + strspn(*at, BLANKS), *word = from, *to, quote = *from;

	if (quote == '\'' || quote == '"') {
		for (to = word, from++; *from && (*from != quote || (quote == '\'' && from[1] == quote)); from++) {
			if (from[1] && (*from == quote || (*from == '\\' && quote == '"')))
				from++;
			*to++ = *from;
		}
		from += *from == quote;
	} else {
		while (*from && !(flow && strchr(",}", *from)) &&
		       !(*from == '#' && (from == word || strchr(BLANKS, from[-1]))))
			from++;
		for (to = from; to > word && strchr(BLANKS, to[-1]); to--)
			continue;
	}
	if (flow && *from == ',')
		*from++ = '\0';
	*at = from;
	*to = '\0';
	return word;
}

static void
keep_scalar(struct maker *k, char **to, const char *text)
{
	free(*to);
	*to = strdup(text);
	k->failed |= !*to;
}

/* The keys of an item, or of a part of it: "name: A", "{name: A, value: 1}". False: there
 * are none. */
static bool
read_keys(struct maker *k, char *text)
{
	bool flow = *text == '{';

	for (text += flow; *text;) {
		size_t key;
		char **to;

		text += strspn(text, BLANKS ",}");
		key = strcspn(text, ":");
		to = !strncmp(text, "name", key) && key == 4   ? &k->name
		     : !strncmp(text, "value", key) && key == 5 ? &k->value
								: NULL;
		if (!to)
			return k->name || k->value;
		text += key + (text[key] == ':');
		keep_scalar(k, to, scalar(&text, flow));
		if (!flow)
			break;
	}
	k->below = k->value && !flow && strlen(k->value) <= 2 && strchr("|>", k->value[0]) && k->value[0];
	return true;
}

/* False: the line is none of a list of variables. */
static bool
read_manifest(struct maker *k, char *line)
{
	int column = (int)strspn(line, " ");
	char *text = line + column;
	bool dash = text[0] == '-' && (text[1] == ' ' || !text[1]);

	if (!text[strspn(text, BLANKS)] || *text == '#')
		return false;
	if (k->below) {
		keep_scalar(k, &k->value, text);
		k->below = false;
		return true;
	}
	if (column < k->env || (column == k->env && !dash)) {
		end_item(k);
		k->env = -1;
	}
	if (dash) {
		text += 1 + strspn(text + 1, " ");
		column = (int)(text - line);
	}
	if (!strncmp(text, "env:", 4) && !text[4 + strspn(text + 4, BLANKS)]) {
		end_item(k);
		k->env = column;
		return true;
	}
	if (k->env < 0)
		return false;
	if (dash)
		end_item(k);
	return read_keys(k, text);
}

/* ---- files ---- */

/* A line, with those that continue it; *bytes and *len move behind it. Heap, or NULL. */
static char *
next_line(const char **bytes, size_t *len)
{
	size_t n = 0;
	char *line;

	while (n < *len && ((*bytes)[n] != '\n' || (n && (*bytes)[n - 1] == '\\')))
		n++;
	line = malloc(n + 1);
	for (size_t i = 0; line && i < n; i++) {
		char c = (*bytes)[i];

		line[i] = c == '\n' || !c || (c == '\\' && i + 1 < n && (*bytes)[i + 1] == '\n') ? ' ' : c;
	}
	if (line)
		line[n] = '\0';
	n += n < *len;
	*bytes += n;
	*len -= n;
	return line;
}

char **
env_job_texts(const char *bytes, size_t len)
{
	struct maker k = { .env = -1 };

	while (len && !k.failed) {
		char *line = next_line(&bytes, &len);

		if (!line) {
			k.failed = true;
			break;
		}
		line[strcspn(line, "\r")] = '\0';
		if (!read_manifest(&k, line))
			read_shell(&k, line + strspn(line, BLANKS));
		free(line);
	}
	end_item(&k);
	if (!k.failed && !k.texts)
		k.texts = calloc(1, sizeof(*k.texts));
	if (!k.failed)
		return k.texts;
	env_texts_free(k.texts);
	return NULL;
}
