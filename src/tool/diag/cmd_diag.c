/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx diag: one table of verbs is both the dispatch and the usage text. */
#include <stdio.h>
#include <string.h>

#include "tool/diag/diag.h"
#include "tool/tool.h"

static const struct verb {
	const char *name; /* first: tool_nearest() reads it */
	int (*run)(int argc, char **argv);
	const char *words;
	const char *about;
} verbs[] = {
	{ "run", diag_run, "[OPTIONS] -- COMMAND...", "a command with diagnostics around it" },
	{ "compare", diag_compare, "A B", "two such runs side by side" },
};

static void
print_usage(FILE *f)
{
	fprintf(f, "usage: tcpx diag VERB [OPTIONS]\n\n"
		"What a run did to the machine: interrupts, CPUs, threads, NICs.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		fprintf(f, "  %-8s  %-24s  %s\n", verbs[i].name, verbs[i].words, verbs[i].about);
	fprintf(f, "\n`tcpx diag VERB --help` tells more.\n");
}

int
cmd_diag(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL, *near;

	if (!word) {
		print_usage(stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		print_usage(stdout);
		return TOOL_OK;
	}
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(word, verbs[i].name))
			return verbs[i].run(argc - 1, argv + 1);
	near = tool_nearest(word, verbs, ARRAY_LEN(verbs), sizeof(verbs[0]));
	if (near)
		return tool_usage("tcpx diag", "unknown verb '%s'; did you mean '%s'?", word, near);
	return tool_usage("tcpx diag", "unknown verb '%s'", word);
}
