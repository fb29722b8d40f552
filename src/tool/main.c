/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx: tables of commands for dispatch, usage text and completion. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "tcpx/tcpx.h"
#include "tool/completion.h"
#include "tool/output.h"
#include "tool/tool.h"
#include "tool/verbs.h"

static int run_help(int argc, char **argv);
static int run_completion(int argc, char **argv);

static const struct tool_verb commands[] = {
	{ "perf",   cmd_perf,   "measure", "bandwidth and latency between hosts or processes" },
	{ "serve",  cmd_serve,  "measure", "the other side of perf, for many clients" },
	{ "report", cmd_report, "measure", "results to one HTML file with plots" },
	{ "matrix", cmd_matrix, "measure", "experiments over settings, with a verdict" },
	{ "diag",   cmd_diag,   "measure", "a run with diagnostics around it; two compared" },
	{ "info",   cmd_info,   "look", "version, NICs, devices, settings and their origin" },
	{ "doctor", cmd_doctor, "look", "what makes transfers slow or impossible here" },
	{ "top",    cmd_top,    "look", "running engines: rates, NICs, channels, GPUs, live" },
	{ "topo",   cmd_topo,   "look", "nodes, cores, NICs with queues and interrupts, GPUs" },
	{ "irq",    cmd_irq,    "tune", "interrupts of NICs: plan, apply, verify, restore" },
	{ "pin",    cmd_pin,    "tune", "a command, or a process's threads, on chosen CPUs" },
	{ "env",    cmd_env,    "tune", "the environment of NCCL jobs over GPUDirect-TCPX" },
	{ "lab",    cmd_lab,    "try", "emulated hosts and NICs on this machine" },
	{ "help",   run_help,   "more", "help COMMAND: what COMMAND --help prints" },
	{ "completion", run_completion, "more", "completion for bash, zsh or fish, on stdout" },
};

static const struct tool_verbs all = {
	.command = "", .about = "", .more = "", .verb = commands, .count = ARRAY_LEN(commands),
};

/* The groups are neighbours in the table. */
static void
print_usage(FILE *f)
{
	const char *bold = tool_paint(f, TOOL_BOLD), *plain = tool_paint(f, TOOL_PLAIN);
	const char *group = "";

	fprintf(f,
		"%susage:%s tcpx COMMAND [OPTIONS]\n\n"
		"Moves memory between processes and machines over plain TCP, all NICs at once.\n",
		bold, plain);
	for (size_t i = 0; i < all.count; i++) {
		if (strcmp(group, commands[i].words) != 0) {
			group = commands[i].words;
			fprintf(f, "\n%s%s%s\n", bold, group, plain);
		}
		fprintf(f, "  %-10s  %s\n", commands[i].name, commands[i].about);
	}
	fprintf(f,
		"\n`tcpx help COMMAND` tells more; -V or --version prints the version.\n"
		"Exit codes: 0 done, 1 a finding, 2 bad usage or input, 3 not permitted or not\n"
		"supported, 4 failed and rolled back, 5 failed and not all could be undone.\n");
}

static int
unknown(const char *word)
{
	const char *near = tool_nearest(word, commands, all.count, sizeof(commands[0]));

	if (near)
		return tool_usage("tcpx", "unknown command '%s'; did you mean '%s'?", word, near);
	return tool_usage("tcpx", "unknown command '%s'", word);
}

static const struct tool_verb *
find(const char *word)
{
	for (size_t i = 0; i < all.count; i++)
		if (!strcmp(word, commands[i].name))
			return &commands[i];
	return NULL;
}

/* help [COMMAND [VERB]]: the same as COMMAND [VERB] --help. */
static int
run_help(int argc, char **argv)
{
	char *line[4] = { NULL };
	const struct tool_verb *c;
	int n = 0;

	if (completion_asked(argc, argv)) {
		struct tool_verbs after = all;

		after.command = "help";
		after.count -= 2; /* neither itself nor completion */
		completion_names(stdout, completion_asked(argc, argv), &after);
		return TOOL_OK;
	}
	if (argc < 2 || argv[1][0] == '-') {
		print_usage(stdout);
		return TOOL_OK;
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	if (c->run == run_help) {
		print_usage(stdout);
		return TOOL_OK;
	}
	line[n++] = argv[1];
	if (argc > 2)
		line[n++] = argv[2];
	line[n++] = (char *)"--help";
	return c->run(n, line);
}

static int
run_completion(int argc, char **argv)
{
	static const struct tool_verb shells[] = {
		{ "bash", NULL, "", "for /usr/share/bash-completion/completions/tcpx" },
		{ "zsh", NULL, "", "for a file _tcpx in a directory of $fpath" },
		{ "fish", NULL, "", "for ~/.config/fish/completions/tcpx.fish" },
	};
	static const struct tool_verbs words = {
		.command = "completion", .verb = shells, .count = ARRAY_LEN(shells),
	};

	if (completion_asked(argc, argv)) {
		completion_names(stdout, completion_asked(argc, argv), &words);
		return TOOL_OK;
	}
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		printf("usage: tcpx completion SHELL\n\n"
		       "Prints what makes a shell complete commands, options and their values.\n\n");
		for (size_t i = 0; i < words.count; i++)
			printf("  %-4s  %s\n", shells[i].name, shells[i].about);
		printf("\nbash, for this shell only: . <(tcpx completion bash)\n");
		return TOOL_OK;
	}
	for (size_t i = 0; argc == 2 && i < words.count; i++)
		if (!strcmp(argv[1], shells[i].name)) {
			completion_script(stdout, argv[1], &all);
			return TOOL_OK;
		}
	return tool_usage("tcpx completion", "allowed are bash, zsh and fish");
}

static int
run(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct tool_verb *c;
	int rc;

	if (!word) {
		print_usage(stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		print_usage(stdout);
		return TOOL_OK;
	}
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		printf("tcpx %s\n", TCPX_VERSION);
		return TOOL_OK;
	}
	c = find(word);
	if (!c)
		return unknown(word);
	tool_log_start();
	rc = c->run(argc - 1, argv + 1);
	tool_log_flush();
	return rc;
}

int
main(int argc, char **argv)
{
	output_guard();
	/* a child that runs /proc/self/exe would be called "exe" in diag, top and ps */
	prctl(PR_SET_NAME, "tcpx");
	return output_end(run(argc, argv));
}
