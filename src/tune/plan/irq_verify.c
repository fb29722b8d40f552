/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx irq verify: do interrupts go to their planned CPUs? Once, under load, or until
 * stopped. Reads only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tune/plan/irq.h"
#include "tune/plan/irq_table.h"
#include "tool/opt.h"
#include "tune/plan/reader.h"
#include "tool/json_file.h"
#include "tool/tool.h"

enum { LONGEST_S = 604800, LOOK_MS = 1000 };

struct request {
	const char *command, *plan, *root, *json;
	bool xps, watch, strict;
	uint64_t settle_s, load_s;
	struct tcpx_aff_opts opts;
};
#define S struct request

static bool
is_good(const struct request *r, const struct tcpx_aff_item *item)
{
	switch (item->state) {
	case TCPX_AFF_EFFECTIVE:
	case TCPX_AFF_REQUESTED:
		return true;
	case TCPX_AFF_PENDING:
	case TCPX_AFF_MANAGED:
		return !r->strict;
	default:
		return false;
	}
}

static bool
all_good(const struct request *r, const struct tcpx_aff_item *items, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!is_good(r, &items[i]))
			return false;
	return true;
}

/* One line for a change since the last look. */
static void
tell_change(const struct tcpx_aff_item *item, enum tcpx_aff_state before)
{
	char at[32], what[TCPX_AFF_NAME + 32], asked[128], effective[128];
	time_t now = time(NULL);
	struct tm tm;

	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&now, &tm));
	tcpx_cpuset_format(&item->now, asked, sizeof(asked));
	tcpx_cpuset_format(&item->now_eff, effective, sizeof(effective));
	printf("%s %s: %s -> %s (asked for %s, effective %s, %llu elsewhere)\n", at,
	       tcpx_aff_item_text(item, what, sizeof(what)), tcpx_aff_state_name(before),
	       tcpx_aff_state_name(item->state), *asked ? asked : "-",
	       *effective ? effective : "-", (unsigned long long)item->off_plan);
}

/* Watches until a signal, or as long as --under-load asks. True if all was
 * good all the time. */
static int
watch(struct request *r, struct tcpx_files *f, struct tcpx_aff_item *items, unsigned count,
      bool *good)
{
	uint64_t end = r->opts.load_ms ? f->ops->now_ms(f) + r->opts.load_ms : UINT64_MAX;
	enum tcpx_aff_state *before = calloc(count + 1, sizeof(*before));
	struct tcpx_aff_opts opts = r->opts;
	bool all = true;
	int rc = before ? 0 : -ENOMEM;

	opts.load_ms = LOOK_MS;
	for (bool first = true; rc == 0 && f->ops->now_ms(f) < end; first = false) {
		for (unsigned i = 0; i < count; i++)
			before[i] = items[i].state;
		rc = tcpx_aff_verify(f, items, count, &opts, good);
		if (rc < 0)
			break;
		opts.settle_ms = 0;
		all &= all_good(r, items, count);
		for (unsigned i = 0; i < count; i++)
			if (items[i].state != before[i] && (!first || !is_good(r, &items[i])))
				tell_change(&items[i], before[i]);
		fflush(stdout);
		if (irq_table_stopped(NULL))
			break;
	}
	free(before);
	*good = all;
	return rc;
}

static int
verify(struct request *r)
{
	struct planfile plan;
	struct tcpx_files f;
	char summary[160];
	unsigned count;
	enum irq_table how = r->opts.load_ms || r->watch ? IRQ_TABLE_COUNTED : IRQ_TABLE_LOOK;
	bool good = false;
	json_t *root;
	int rc;

	rc = planfile_open(r->command, r->plan, &plan);
	if (rc)
		return rc;
	count = plan.irq_count + (r->xps ? plan.xps_count : 0);
	if (tcpx_files_open(r->root, false, &f) < 0) {
		planfile_fini(&plan);
		return TOOL_USAGE;
	}
	/* Only a message: interrupts can be compared all the same. */
	(void)planfile_fits(r->command, r->plan, &plan, r->root, true);
	irq_table_catch_signals();
	r->opts.stop = irq_table_stopped;
	rc = r->watch ? watch(r, &f, plan.items, count, &good) :
			tcpx_aff_verify(&f, plan.items, count, &r->opts, &good);
	if (rc == -EINTR)
		rc = tool_fail(TOOL_DENIED, r->command, "stopped before there was a result");
	else if (rc < 0)
		rc = tool_fail(TOOL_DENIED, r->command, "%s", tcpx_err_text(rc));
	else
		rc = good && all_good(r, plan.items, count) ? TOOL_OK : TOOL_FINDING;
	if (rc <= TOOL_FINDING && (!r->json || strcmp(r->json, "-"))) {
		irq_table_print(plan.items, count, how);
		printf("%s: %s\n", rc == TOOL_OK ? "as planned" : "not as planned",
		       irq_table_summary(plan.items, count, summary, sizeof(summary)));
	}
	if (rc <= TOOL_FINDING && r->json) {
		root = json_pack("{s:b, s:o}", "as_planned", rc == TOOL_OK, "items",
				 irq_table_json(plan.items, count, how));
		if (tool_json_put(r->command, root, r->json))
			rc = TOOL_USAGE;
	}
	planfile_fini(&plan);
	return rc;
}

int
irq_verify(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 's', "settle", "SECONDS", "wait so long before looking, so that what was just "
		  "applied can take effect (0)", OPT_NUMBER(settle_s, 0, 3600) },
		{ 'l', "under-load", "SECONDS", "count interrupts for so long; one on another "
		  "CPU is a finding, but for the first after a move",
		  OPT_NUMBER(load_s, 1, LONGEST_S) },
		{ 'w', "watch", NULL, "look every second, and print changes, until a signal, or "
		  "for as long as --under-load says", OPT_FLAG(watch) },
		{ 0, "strict", NULL, "IRQs that are pending, or managed by the kernel, are "
		  "findings, too", OPT_FLAG(strict) },
		{ 'x', "xps", NULL, "compare the plan's XPS masks, too", OPT_FLAG(xps) },
		{ 0, "root", "DIR", "the machine whose /sys and /proc lie in DIR",
		  OPT_TEXT(root) },
		{ 'j', "json", "FILE", "the state of each as JSON; - is stdout", OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx irq verify", "PLAN [OPTIONS]",
		"Compares the interrupts of PLAN with what the kernel does: the mask that was "
		"asked for, the CPU that is effective and, with --under-load, where they fire. "
		"Changes nothing. Exit code 1: not as planned.",
		opts, ARRAY_LEN(opts),
		"  tcpx irq verify plan.json\n"
		"  tcpx irq verify plan.json --settle 2 --under-load 30\n", false, NULL,
	};
	struct request r = { .command = cmd.name };
	struct opt_parser p;

	if (!opt_read(&p, &cmd, argc, argv, &r))
		return p.exit;
	if (p.first_word + 1 != argc)
		return tool_usage(cmd.name, p.first_word == argc ? "which plan?" :
								   "one plan at a time");
	r.plan = argv[p.first_word];
	r.opts.settle_ms = (unsigned)r.settle_s * 1000;
	r.opts.load_ms = (unsigned)r.load_s * 1000;
	return verify(&r);
}
