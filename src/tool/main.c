/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx: one table of commands for dispatch and usage text. */
#include <stdio.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tool/tool.h"

static const struct command {
	const char *name; /* first member: tool_nearest() reads it */
	int (*run)(int argc, char **argv);
	const char *about;
} commands[] = {
	{ "perf",   cmd_perf,   "bandwidth and latency between hosts or processes" },
	{ "serve",  cmd_serve,  "the other side of perf, for many clients" },
	{ "info",   cmd_info,   "version, NICs, devices, settings and where they come from" },
	{ "doctor", cmd_doctor, "checks of this machine, with evidence and remedy" },
	{ "env",    cmd_env,    "environment for jobs over GPUDirect-TCPX; lint of the present" },
	{ "lab",    cmd_lab,    "emulated hosts and NICs on this machine" },
	{ "report", cmd_report, "results to one HTML file with plots" },
	{ "irq",    cmd_irq,    "interrupts of the NICs: counts, plan, apply, verify, restore" },
	{ "pin",    cmd_pin,    "a command, or a process's threads, on chosen CPUs" },
	{ "top",    cmd_top,    "running engines: rates of NICs, channels and GPUs, live" },
	{ "topo",   cmd_topo,   "nodes, cores, NICs with their queues and interrupts, GPUs" },
	{ "matrix", cmd_matrix, "experiments over settings, with a verdict" },
	{ "diag",   cmd_diag,   "a run with diagnostics around it; two of them compared" },
};

static void
print_usage(FILE *f)
{
	const char *bold = tool_paint(f, TOOL_BOLD), *plain = tool_paint(f, TOOL_PLAIN);

	fprintf(f,
		"%susage:%s tcpx COMMAND [OPTIONS]\n\n"
		"Moves memory between processes and machines over plain TCP, all NICs at once.\n\n"
		"%scommands%s\n", bold, plain, bold, plain);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(f, "  %-8s  %s\n", commands[i].name, commands[i].about);
	fprintf(f,
		"\n`tcpx COMMAND --help` tells more; `tcpx --version` prints the version.\n"
		"Exit codes: 0 done, 1 a finding, 2 bad usage or input, 3 not permitted or not\n"
		"supported, 4 failed and rolled back, 5 failed and not all could be undone.\n");
}

int
main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL, *near;

	if (!word) {
		print_usage(stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
		print_usage(stdout);
		return TOOL_OK;
	}
	if (!strcmp(word, "--version")) {
		printf("tcpx %s\n", TCPX_VERSION);
		return TOOL_OK;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(word, commands[i].name))
			return commands[i].run(argc - 1, argv + 1);

	near = tool_nearest(word, commands, ARRAY_LEN(commands), sizeof(commands[0]));
	if (near)
		return tool_usage("tcpx", "unknown command '%s'; did you mean '%s'?", word, near);
	return tool_usage("tcpx", "unknown command '%s'", word);
}
