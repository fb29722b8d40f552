/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx irq: one table of verbs is both the dispatch and the usage text. */
#include <stdio.h>
#include <string.h>

#include "tool/irq/irq.h"
#include "tool/tool.h"

static const struct verb {
	const char *name; /* first: tool_nearest() reads it */
	int (*run)(int argc, char **argv);
	const char *words;
	const char *about;
} verbs[] = {
	{ "snapshot", irq_snapshot, "[OPTIONS]", "the counts of all interrupts, in a file" },
	{ "diff", irq_diff, "A B", "what fired between two snapshots, and where" },
	{ "plan", irq_plan, "[OPTIONS]", "which CPUs send, receive and take interrupts" },
	{ "lint", irq_lint, "[OPTIONS]", "what is wrong with bindings of NICs to CPUs" },
	{ "apply", irq_apply, "PLAN [OPTIONS]", "move them as planned, all or none" },
	{ "verify", irq_verify, "PLAN [OPTIONS]", "whether they are where the plan has them" },
	{ "restore", irq_restore, "[JOURNAL]", "take an apply back" },
};

static void
print_usage(FILE *f)
{
	fprintf(f, "usage: tcpx irq VERB [OPTIONS]\n\n"
		"Interrupts of the NICs: where they fire, where they should, and moving them\n"
		"there and back.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		fprintf(f, "  %-8s  %-16s  %s\n", verbs[i].name, verbs[i].words, verbs[i].about);
	fprintf(f, "\n`tcpx irq VERB --help` tells more.\n");
}

int
cmd_irq(int argc, char **argv)
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
		return tool_usage("tcpx irq", "unknown verb '%s'; did you mean '%s'?", word, near);
	return tool_usage("tcpx irq", "unknown verb '%s'", word);
}
