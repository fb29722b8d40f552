/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs of a command: dispatch and usage. */
#include "tool/verbs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tool/completion.h"
#include "tool/tool.h"

static int
widest(const struct tool_verbs *v, bool words)
{
	size_t most = 0, len;

	for (size_t i = 0; i < v->count; i++) {
		len = strlen(words ? v->verb[i].words : v->verb[i].name);
		if (len > most)
			most = len;
	}
	return (int)most;
}

static void
print_usage(const struct tool_verbs *v, FILE *f)
{
	int name = widest(v, false), words = widest(v, true);

	fprintf(f, "usage: %s VERB [OPTIONS]\n\n%s\n", v->command, v->about);
	for (size_t i = 0; i < v->count; i++)
		fprintf(f, "  %-*s  %-*s  %s\n", name, v->verb[i].name, words, v->verb[i].words,
			v->verb[i].about);
	fprintf(f, "\n`%s VERB --help` tells more%s.\n", v->command, v->more);
}

int
tool_run_verb(const struct tool_verbs *v, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL, *near;

	if (!word) {
		print_usage(v, stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		print_usage(v, stdout);
		return TOOL_OK;
	}
	if (completion_asked(argc, argv)) {
		completion_verbs(stdout, completion_asked(argc, argv), v);
		return TOOL_OK;
	}
	for (size_t i = 0; i < v->count; i++)
		if (!strcmp(word, v->verb[i].name))
			return v->verb[i].run(argc - 1, argv + 1);
	near = tool_nearest(word, v->verb, v->count, sizeof(v->verb[0]));
	if (near)
		return tool_usage(v->command, "unknown verb '%s'; did you mean '%s'?", word, near);
	return tool_usage(v->command, "unknown verb '%s'", word);
}
