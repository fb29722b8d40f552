/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx diag: one table of verbs for dispatch and usage text. */

#include "measure/diag/diag.h"
#include "tool/tool.h"
#include "tool/verbs.h"

static const struct tool_verb verbs[] = {
	{ "run", diag_run, "[OPTIONS] -- COMMAND...", "a command with diagnostics around it" },
	{ "compare", diag_compare, "A B", "two such runs side by side" },
};

int
cmd_diag(int argc, char **argv)
{
	static const struct tool_verbs all = {
		.command = "tcpx diag",
		.about =
			"What a run did to the machine: interrupts, CPUs, threads, NICs.\n",
		.more = "",
		.verb = verbs,
		.count = ARRAY_LEN(verbs),
	};

	return tool_run_verb(&all, argc, argv);
}
