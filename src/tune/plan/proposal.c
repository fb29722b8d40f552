/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx irq plan: the CPUs that send, receive, take interrupts and stay with the
 * application. Reads and prints; changes nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tune/irq/assign.h"
#include "tune/facts/topo.h"
#include "tune/texts/forms.h"
#include "tune/plan/irq.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tune/plan/json.h"
#include "tune/plan/nics.h"
#include "tool/json_file.h"
#include "tool/tool.h"
#include "tune/topo/view.h"

enum emit { EMIT_TABLE, EMIT_NCCL, EMIT_JSON, EMIT_SH, EMIT_SYSTEMD, EMIT_SLURM };
static const char *const emit_words[] = { "table", "nccl", "json", "sh", "systemd", "slurm",
					  NULL };

struct args {
	const char *root, *json;
	struct tcpx_plan_options plan;
	struct tcpx_cpuset allow;
	bool explain;
	int emit, share, threads;  /* indices of words        */
};
#define S struct args

static const char *const shares[] = { "node", "nic", NULL };
static const char *const threads[] = { "all", "first", NULL };

static int
take_policy(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	return tcpx_irq_policy_parse(p->value, &a->plan.policy)
		? opt_refuse(p, id, "tail, keep, colocate, spread or remote")
		: TOOL_OK;
}

static int
take_allow(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	a->plan.allow = &a->allow;
	return tcpx_cpuset_parse(p->value, &a->allow)
		? opt_refuse(p, id, "must be a list of CPUs, as 0-51,104-155") : TOOL_OK;
}

static const struct opt opts[] = {
	{ 0, "root", "DIR", "the machine whose files are in DIR", OPT_TEXT(root) },
	{ 0, "nics", "LIST", "only these NICs, comma separated (those that carry data)",
	  OPT_TEXT(plan.nics) },
	{ 0, "policy", "P", "where interrupts go: tail, keep, colocate, spread, remote (tail)",
	  OPT_TAKE(take_policy) },
	{ 0, "share", "WHAT", "NICs share their node's cores, or each has a slice: node, nic "
	  "(node)", OPT_CHOICE(share, shares) },
	{ 0, "head", "N", "cores for the application, of each group (by its GPUs)",
	  OPT_INT(plan.head, 0, TCPX_CPUS_MAX) },
	{ 0, "tail", "N", "cores for interrupts, of each group (by the queues)",
	  OPT_INT(plan.tail, 0, TCPX_CPUS_MAX) },
	{ 0, "threads", "WHICH", "CPUs of a core that are used: all, first (all)",
	  OPT_CHOICE(threads, threads) },
	{ 0, "allow", "LIST", "CPUs that may be used, as 0-51,104-155 (those allowed to this "
	  "process)", OPT_TAKE(take_allow) },
	{ 0, "isolated", NULL, "use CPUs of isolcpus=, too", OPT_FLAG(plan.use_isolated) },
	{ 0, "explain", NULL, "say why, line by line", OPT_FLAG(explain) },
	{ 0, "emit", "FORM", "table, nccl, json, sh, systemd, slurm (table)",
	  OPT_CHOICE(emit, emit_words) },
	{ 0, "json", "FILE", "write the plan there, too; - for stdout", OPT_TEXT(json) },
};

static const struct opt_command command = {
	.name = "tcpx irq plan",
	.words = "[OPTIONS]",
	.about = "Plans which CPUs send and receive for each NIC, which take its interrupts and "
		 "which are left to the application, from the machine's cores, nodes, GPUs and "
		 "queues. Changes nothing: `tcpx irq apply` does, from the JSON.",
	.opts = opts,
	.count = ARRAY_LEN(opts),
	.examples = "  tcpx irq plan --explain\n"
		    "  tcpx irq plan --emit nccl\n"
		    "  tcpx irq plan --root /tmp/a3 --policy colocate --json plan.json\n",
};

/* ---- the table ---- */

static void
print_group(const struct tcpx_plan *p, unsigned at)
{
	const struct tcpx_plan_group *g = &p->groups[at];
	const struct {
		const char *name;
		const struct tcpx_cpuset *set;
		unsigned cores;
	} rows[] = {
		{ "head", &g->head, g->head_cores }, { "tx", &g->tx, g->tx_cores },
		{ "rx", &g->rx, g->rx_cores },       { "tail", &g->tail, g->tail_cores },
	};

	printf("\n%snode ", tool_paint(stdout, TOOL_BOLD));
	if (g->node < 0)
		printf("unknown");
	else
		printf("%d", g->node);
	printf(":%s", tool_paint(stdout, TOOL_PLAIN));
	for (unsigned i = 0; i < p->nic_count; i++)
		if (p->nics[i].group == at) {
			putchar(' ');
			out_plain(stdout, p->nics[i].name);
		}
	printf("  (%u core%s, %u GPU%s, %u RX queue%s)\n", g->cores, g->cores == 1 ? "" : "s",
	       g->gpus, g->gpus == 1 ? "" : "s", g->queues, g->queues == 1 ? "" : "s");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		printf("  %-5s %3u cores  ", rows[i].name, rows[i].cores);
		topo_print_list(stdout, rows[i].set);
		putchar('\n');
	}
	for (unsigned bit = 0; bit < TCPX_PLAN_FLAGS; bit++)
		if (g->flags & 1u << bit)
			printf("  %snote: %s%s\n", tool_paint(stdout, TOOL_YELLOW),
			       tcpx_plan_flag_text(bit), tool_paint(stdout, TOOL_PLAIN));
}

static void
print_reasons(const struct tcpx_plan *p, unsigned at)
{
	char *text;

	if (tcpx_plan_explain(p, at, &text))
		return;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		printf("    ");
		out_plain(stdout, line);
		putchar('\n');
	}
	free(text);
}

/* The CPUs of a NIC's interrupts. */
static void
print_nic_irqs(const struct tcpx_plan *p, unsigned nic)
{
	const char *note = p->nics[nic].irq_note;
	struct tcpx_cpuset cpus;
	unsigned count = 0;

	tcpx_cpuset_init(&cpus);
	for (unsigned i = 0; i < p->irq_count; i++)
		if (p->irqs[i].nic == nic) {
			tcpx_cpuset_add(&cpus, p->irqs[i].cpu);
			count++;
		}
	printf("  ");
	out_plain(stdout, p->nics[nic].name);
	printf("%*s ", 15 - (int)strlen(p->nics[nic].name), "");
	if (count) {
		printf("%3u on ", count);
		topo_print_list(stdout, &cpus);
		printf("%s", note ? "; " : "");
	}
	printf("%s\n", note ? note : "");
}

static void
print_irqs(const struct tcpx_plan *p)
{
	char why[160];

	for (unsigned i = 0; i < p->irq_count; i++) {
		const struct tcpx_plan_irq *irq = &p->irqs[i];
		char number[24] = "-";

		if (irq->irq >= 0)
			snprintf(number, sizeof(number), "%" PRId64, irq->irq);
		tcpx_plan_explain_irq(p, irq, why, sizeof(why));
		printf("    ");
		out_plain(stdout, p->nics[irq->nic].name);
		printf(" %s %d: IRQ %s to CPU %d: %s%s\n", tcpx_vector_kind_name(irq->kind),
		       irq->queue, number, irq->cpu, why,
		       irq->movable ? "" : "; the kernel keeps it where it is");
	}
}

static int
print_table(const struct tcpx_plan *p, const struct plan_nics *nics, bool explain)
{
	char *application;

	if (tcpx_plan_application(p, &application))
		return -ENOMEM;
	printf("machine ");
	out_plain(stdout, *p->machine ? p->machine : "unnamed");
	printf(", interrupts by policy %s\n", tcpx_irq_policy_name(p->options.policy));
	if (*nics->left_out) {
		printf("%s; not for ", nics->why);
		out_plain(stdout, nics->left_out);
		putchar('\n');
	}
	for (unsigned i = 0; i < p->group_count; i++) {
		print_group(p, i);
		if (explain)
			print_reasons(p, i);
	}
	printf("\n%sinterrupts%s\n", tool_paint(stdout, TOOL_BOLD), tool_paint(stdout, TOOL_PLAIN));
	for (unsigned i = 0; i < p->nic_count && p->options.policy != TCPX_IRQ_KEEP; i++)
		print_nic_irqs(p, i);
	if (p->options.policy == TCPX_IRQ_KEEP)
		printf("  left as they are\n");
	if (explain)
		print_irqs(p);
	printf("\napplication %s\n", *application ? application : "any CPU");
	free(application);
	return 0;
}

/* ---- forms ---- */

static int
emit_text(const struct tcpx_plan *p, int emit)
{
	static const enum tcpx_plan_form forms[] = {
		[EMIT_NCCL] = TCPX_PLAN_NCCL, [EMIT_SH] = TCPX_PLAN_SH,
		[EMIT_SYSTEMD] = TCPX_PLAN_SYSTEMD, [EMIT_SLURM] = TCPX_PLAN_SLURM,
	};
	char *text = NULL;
	int rc = tcpx_plan_emit(p, forms[emit], &text);

	if (rc == 0)
		fputs(text, stdout);
	free(text);
	return rc;
}

static int
write_json(const struct tcpx_plan *p, bool explain, const char *path)
{
	return tool_json_put(command.name, plan_json(p, explain), path);
}

static int
emit_plan(const struct args *a, const struct tcpx_plan *p, const struct plan_nics *nics)
{
	bool only_json = a->json && !strcmp(a->json, "-");
	int rc = 0;

	if (a->emit == EMIT_JSON)
		return write_json(p, a->explain, a->json ? a->json : "-");
	if (!only_json)
		rc = a->emit == EMIT_TABLE ? print_table(p, nics, a->explain)
					   : emit_text(p, a->emit);
	if (rc)
		return TOOL_USAGE;
	return a->json ? write_json(p, a->explain, a->json) : TOOL_OK;
}

static int
plan_machine(struct args *a, struct machine *here, const struct tcpx_machine *m)
{
	struct plan_nics nics = { .why = "" };
	struct tcpx_plan p;
	int rc;

	if (!a->plan.nics) {
		rc = plan_nics(command.name, here, m, &nics);
		if (rc)
			return rc;
		a->plan.nics = nics.list;
	}
	rc = tcpx_plan_make(m, &a->plan, &p);
	if (rc)
		return rc == -ENODEV ? TOOL_DENIED : TOOL_USAGE;
	rc = emit_plan(a, &p, &nics);
	tcpx_plan_fini(&p);
	return rc;
}

int
irq_plan(int argc, char **argv)
{
	struct args a = { .plan = TCPX_PLAN_DEFAULTS };
	struct opt_parser parser;
	struct tcpx_machine m;
	struct machine *here;
	int rc;

	if (!opt_read(&parser, &command, argc, argv, &a))
		return parser.exit;
	a.plan.share_nic = a.share == 1;
	a.plan.first_threads = a.threads == 1;
	if (parser.first_word < argc)
		return tool_usage(command.name, "unexpected argument '%s'",
				  argv[parser.first_word]);
	rc = plan_machine_read(command.name, a.root, &here, &m);
	if (rc)
		return rc;
	rc = plan_machine(&a, here, &m);
	tcpx_machine_fini(&m);
	machine_free(here);
	return rc;
}
