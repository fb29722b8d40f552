/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx irq: one table of verbs for dispatch and usage text. */

#include "tune/plan/irq.h"
#include "tool/tool.h"
#include "tool/verbs.h"

static const struct tool_verb verbs[] = {
	{ "snapshot", irq_snapshot, "[OPTIONS]", "the counts of all interrupts, in a file" },
	{ "diff", irq_diff, "A B", "what fired between two snapshots, and where" },
	{ "plan", irq_plan, "[OPTIONS]", "which CPUs send, receive and take interrupts" },
	{ "lint", irq_lint, "[OPTIONS]", "what is wrong with bindings of NICs to CPUs" },
	{ "apply", irq_apply, "PLAN [OPTIONS]", "move them as planned, all or none" },
	{ "verify", irq_verify, "PLAN [OPTIONS]", "whether they are where the plan has them" },
	{ "restore", irq_restore, "[JOURNAL]", "take an apply back" },
};

int
cmd_irq(int argc, char **argv)
{
	static const struct tool_verbs all = {
		.command = "tcpx irq",
		.about =
			"Interrupts of the NICs: where they fire, where they should, and moving them\n"
			"there and back.\n",
		.more = "",
		.verb = verbs,
		.count = ARRAY_LEN(verbs),
	};

	return tool_run_verb(&all, argc, argv);
}
