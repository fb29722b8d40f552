/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx irq lint: problems of bindings, from options or the environment. */
#include <stdlib.h>
#include <string.h>

#include "tune/plan/irq.h"
#include "tune/plan/nics.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/tool.h"
#include "tune/texts/bindings_lint.h"

struct args {
	const char *root, *tx, *rx, *json;
	bool strict;
};
#define S struct args

static const struct opt opts[] = {
	{ 0, "root", "DIR", "for the machine whose files are in DIR", OPT_TEXT(root) },
	{ 0, "tx", "TEXT", "the CPUs that send; without both options what the environment has",
	  OPT_TEXT(tx) },
	{ 0, "rx", "TEXT", "the CPUs that receive", OPT_TEXT(rx) },
	{ 0, "strict", NULL, "notes are findings, too", OPT_FLAG(strict) },
	{ 0, "json", "FILE", "write what was found there; - for stdout", OPT_TEXT(json) },
};

static const struct opt_command command = {
	.name = "tcpx irq lint",
	.words = "[OPTIONS]",
	.about = "Looks for what is wrong with bindings of NICs to CPUs: TX and RX that share "
		 "CPUs, CPUs of another node, NICs that are not there, ranges that the plugin "
		 "misreads. Ends with 1 if there is an error or a warning.",
	.opts = opts,
	.count = ARRAY_LEN(opts),
	.examples = "  tcpx irq lint\n"
		    "  tcpx irq lint --root /tmp/a3 --tx 'eth1:8-21,112-125' \\\n"
		    "    --rx 'eth1:22-35,124-139'\n",
};

/* Our own setting, or the plugin's; NULL: neither is set. */
static const char *
from_environment(const char *own, const char *plugin)
{
	const char *text = getenv(own);

	if (!text || !*text)
		text = getenv(plugin);
	return text && *text ? text : NULL;
}

static json_t *
lint_json(const struct tcpx_lint *lint)
{
	json_t *findings = json_array();

	for (unsigned i = 0; findings && i < lint->count; i++) {
		const struct tcpx_lint_finding *f = &lint->at[i];

		json_array_append_new(findings, json_pack(
			"{s:s, s:s, s:s, s:o, s:o}", "level", tcpx_lint_level_name(f->level), "id",
			f->id, "where", f->where, "nic",
			*f->nic ? out_json(f->nic) : json_null(), "text",
			out_json(f->text)));
	}
	return json_pack("{s:i, s:i, s:i, s:i, s:o}", "schema", 1, "errors",
			 (int)lint->of[TCPX_LINT_ERROR], "warnings",
			 (int)lint->of[TCPX_LINT_WARNING], "notes", (int)lint->of[TCPX_LINT_NOTE],
			 "findings", findings);
}

static void
print(const struct tcpx_lint *lint)
{
	static const enum tool_colour colours[] = { TOOL_RED, TOOL_YELLOW, TOOL_DIM };

	for (unsigned i = 0; i < lint->count; i++) {
		const struct tcpx_lint_finding *f = &lint->at[i];

		printf("%s%-7s%s  %-11s  %-5s  ", tool_paint(stdout, colours[f->level]),
		       tcpx_lint_level_name(f->level), tool_paint(stdout, TOOL_PLAIN), f->id,
		       f->where);
		out_plain(stdout, *f->nic ? f->nic : "-");
		printf("  ");
		out_plain(stdout, f->text);
		putchar('\n');
	}
	printf("%u error%s, %u warning%s, %u note%s\n", lint->of[0], lint->of[0] == 1 ? "" : "s",
	       lint->of[1], lint->of[1] == 1 ? "" : "s", lint->of[2],
	       lint->of[2] == 1 ? "" : "s");
}

static int
show(const struct args *a, const struct tcpx_lint *lint)
{
	int rc = TOOL_OK;

	if (!a->json || strcmp(a->json, "-"))
		print(lint);
	if (a->json)
		rc = tool_json_put(command.name, lint_json(lint), a->json);
	if (rc)
		return rc;
	return lint->of[TCPX_LINT_ERROR] || lint->of[TCPX_LINT_WARNING] ||
	       (a->strict && lint->of[TCPX_LINT_NOTE]) ? TOOL_FINDING : TOOL_OK;
}

/* A machine without a possible plan can still be compared with. */
static int
look(const struct args *a, struct machine *here, const struct tcpx_machine *m)
{
	struct tcpx_plan_options options = TCPX_PLAN_DEFAULTS;
	struct plan_nics nics;
	struct tcpx_plan p;
	struct tcpx_lint lint;
	int planned = plan_nics(command.name, here, m, &nics), rc;

	options.nics = nics.list;
	planned = planned ? planned : tcpx_plan_cpus(m, &options, &p);
	rc = tcpx_lint_bindings(m, planned ? NULL : &p, a->tx, a->rx, &lint);

	if (!planned)
		tcpx_plan_fini(&p);
	if (rc)
		return tool_fail(TOOL_USAGE, command.name, "no memory");
	rc = show(a, &lint);
	tcpx_lint_fini(&lint);
	return rc;
}

int
irq_lint(int argc, char **argv)
{
	struct args a = { 0 };
	struct opt_parser parser;
	struct tcpx_machine m;
	struct machine *here;
	int rc;

	if (!opt_read(&parser, &command, argc, argv, &a))
		return parser.exit;
	if (parser.first_word < argc)
		return tool_usage(command.name, "unexpected argument '%s'",
				  argv[parser.first_word]);
	if (!a.tx && !a.rx) {
		a.tx = from_environment("TCPX_TX_BINDINGS", "NCCL_GPUDIRECTTCPX_TX_BINDINGS");
		a.rx = from_environment("TCPX_RX_BINDINGS", "NCCL_GPUDIRECTTCPX_RX_BINDINGS");
	}
	if (!a.tx && !a.rx)
		return tool_usage(command.name, "no bindings: neither --tx nor --rx, and none in the "
				  "environment");
	rc = plan_machine_read(command.name, a.root, &here, &m);
	if (rc)
		return rc;
	rc = look(&a, here, &m);
	tcpx_machine_fini(&m);
	machine_free(here);
	return rc;
}
