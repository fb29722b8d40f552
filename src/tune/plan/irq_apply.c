/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx irq apply and restore: the transaction and its undoing, for people. This file only
 * prints; the exit code says what state the machine is in.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune/plan/irq.h"
#include "tune/plan/irq_table.h"
#include "tool/opt.h"
#include "tune/plan/reader.h"
#include "tool/json_file.h"
#include "tool/tool.h"

enum {
	SETTLE_MS = 300,    /* restore: until firing vectors are back          */
	LONGEST_S = 604800, /* of --for and the like: a week                   */
};

struct request {
	const char *command, *plan, *root, *journal, *json;
	bool xps;
	uint64_t for_s;
	struct tcpx_aff_opts opts;
	char default_journal[PATH_MAX], lock[PATH_MAX];
};
#define S struct request

/* The files below the root, and the paths of journal and lock. */
static int
open_machine(struct request *r, struct tcpx_files *f)
{
	bool writes = !r->opts.dry_run;
	int rc = tcpx_files_open(r->root, writes, f);

	if (rc == -ENOTDIR)
		return TOOL_USAGE;
	if (rc < 0)
		return TOOL_DENIED;
	rc = tcpx_aff_paths(f, writes, r->default_journal, r->lock, sizeof(r->lock));
	if (rc < 0)
		return TOOL_DENIED;
	r->opts.lock = r->lock;
	r->opts.journal = r->journal ? r->journal : r->default_journal;
	return TOOL_OK;
}

static int
tell(const struct request *r, const struct tcpx_aff_item *items, unsigned count,
     enum tcpx_aff_outcome outcome)
{
	enum irq_table how = r->opts.dry_run ? IRQ_TABLE_DRY : IRQ_TABLE_PLAIN;
	bool touched = outcome != TCPX_AFF_REFUSED && outcome != TCPX_AFF_DENIED;
	char summary[160];
	json_t *root;
	int rc = TOOL_OK;

	if ((!r->json || strcmp(r->json, "-")) && touched) {
		irq_table_print(items, count, how);
		printf("%s: %s", r->opts.dry_run ? "dry run" : irq_table_outcome(outcome),
		       irq_table_summary(items, count, summary, sizeof(summary)));
		if (!r->opts.dry_run)
			printf("; journal %s", r->opts.journal);
		putchar('\n');
		fflush(stdout);
	}
	if (r->json) {
		root = json_pack("{s:s, s:b, s:s, s:i, s:o}", "outcome", irq_table_outcome(outcome),
				 "dry_run", r->opts.dry_run, "journal", r->opts.journal, "exit",
				 irq_table_exit(outcome), "items",
				 irq_table_json(items, count, how));
		rc = tool_json_put(r->command, root, r->json);
	}
	return rc;
}

/* Undoes the apply just done; a second signal does not stop that. */
static int
take_back(struct request *r, struct tcpx_files *f)
{
	struct tcpx_aff_opts opts = r->opts;
	enum tcpx_aff_outcome outcome;
	struct tcpx_aff_item *items;
	unsigned count;
	char summary[160];

	opts.settle_ms = SETTLE_MS;
	opts.force = false;
	(void)!tcpx_aff_restore(f, &opts, &items, &count, &outcome);
	fprintf(stderr, "%s: taken back: %s\n", r->command,
		irq_table_summary(items, count, summary, sizeof(summary)));
	free(items);
	return irq_table_exit(outcome);
}

static int
apply(struct request *r)
{
	enum tcpx_aff_outcome outcome;
	struct planfile plan;
	struct tcpx_files f;
	unsigned count;
	int rc, told;

	rc = planfile_open(r->command, r->plan, &plan);
	if (rc)
		return rc;
	if (r->xps && !plan.xps_count) {
		planfile_fini(&plan);
		return tool_fail(TOOL_USAGE, r->command, "%s has no XPS masks to apply", r->plan);
	}
	rc = open_machine(r, &f);
	if (rc == TOOL_OK)
		rc = planfile_fits(r->command, r->plan, &plan, r->root, r->opts.renumber);
	if (rc == TOOL_OK) {
		irq_table_catch_signals();
		r->opts.stop = irq_table_stopped;
		count = plan.irq_count + (r->xps ? plan.xps_count : 0);
		(void)!tcpx_aff_apply(&f, plan.items, count, &r->opts, &outcome);
		rc = irq_table_exit(outcome);
		told = tell(r, plan.items, count, outcome);
		rc = rc ? rc : told;
	}
	if (rc == TOOL_OK && r->for_s && !r->opts.dry_run) {
		uint64_t end = f.ops->now_ms(&f) + r->for_s * 1000, now;

		while (!irq_table_stopped(NULL) && (now = f.ops->now_ms(&f)) < end)
			f.ops->wait_ms(&f, end - now < 1000 ? (unsigned)(end - now) : 1000);
		rc = take_back(r, &f);
	}
	planfile_fini(&plan);
	return rc;
}

int
irq_apply(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'n', "dry-run", NULL, "read, check and tell; write nothing",
		  OPT_FLAG(opts.dry_run) },
		{ 'J', "journal", "FILE", "remember what was there in FILE instead of "
		  "/run/tcpx-irq/journal", OPT_TEXT(journal) },
		{ 0, "ban-irqbalance", NULL, "have a running irqbalance leave these IRQs alone, "
		  "by its socket, until they are restored; without this it is a reason not to "
		  "begin", OPT_FLAG(opts.ban) },
		{ 'x', "xps", NULL, "also set the plan's XPS masks: which TX queue a CPU sends "
		  "by", OPT_FLAG(xps) },
		{ 'f', "for", "SECONDS", "take it back after so long, or at a signal, as when "
		  "the connection to this machine is lost", OPT_NUMBER(for_s, 1, LONGEST_S) },
		{ 0, "strict", NULL, "refuse a plan with IRQs that the kernel manages, instead "
		  "of leaving them out", OPT_FLAG(opts.strict) },
		{ 0, "renumber", NULL, "find an IRQ by its name when its number belongs to "
		  "another; so also take a plan of another boot", OPT_FLAG(opts.renumber) },
		{ 0, "root", "DIR", "the machine whose /sys and /proc lie in DIR; DIR must hold "
		  "the file tcpx-fixture", OPT_TEXT(root) },
		{ 'j', "json", "FILE", "what became of each, as JSON; - is stdout",
		  OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx irq apply", "PLAN [OPTIONS]",
		"Moves the interrupts of PLAN, a file of tcpx irq plan --emit json, to their CPUs. "
		"What was there is written to a journal first; if one cannot be moved, all go "
		"back. A plan of another machine is refused. An interrupt is 'pending' until it fires: only then is its new CPU "
		"effective. Needs root.",
		opts, ARRAY_LEN(opts),
		"  tcpx irq plan --emit json >plan.json\n"
		"  tcpx irq apply plan.json --dry-run\n"
		"  tcpx irq apply plan.json --for 600      # and back after ten minutes\n"
		"  tcpx irq restore\n", false, NULL,
	};
	struct request r = { .command = cmd.name };
	struct opt_parser p;

	if (!opt_read(&p, &cmd, argc, argv, &r))
		return p.exit;
	if (p.first_word + 1 != argc)
		return tool_usage(cmd.name, p.first_word == argc ? "which plan?" :
								   "one plan at a time");
	r.plan = argv[p.first_word];
	return apply(&r);
}

static bool
all_untouched(const struct tcpx_aff_item *items, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (items[i].state != TCPX_AFF_UNTOUCHED)
			return false;
	return true;
}

static int
restore(struct request *r)
{
	enum tcpx_aff_outcome outcome;
	struct tcpx_aff_item *items;
	struct tcpx_files f;
	unsigned count;
	int rc = open_machine(r, &f), told;

	if (rc)
		return rc;
	if (!r->journal && access(r->opts.journal, F_OK) < 0 && errno == ENOENT) {
		printf("nothing to restore: no journal %s\n", r->opts.journal);
		return TOOL_OK;
	}
	irq_table_catch_signals();
	(void)!tcpx_aff_restore(&f, &r->opts, &items, &count, &outcome);
	rc = irq_table_exit(outcome);
	if (!r->json && rc == TOOL_OK && all_untouched(items, count)) {
		printf("nothing to restore: that was done; journal %s\n", r->opts.journal);
		told = TOOL_OK;
	} else {
		told = tell(r, items, count, outcome);
	}
	free(items);
	return rc ? rc : told;
}

int
irq_restore(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 0, "force", NULL, "also a journal of another boot, or one that was restored "
		  "already; IRQs that belong to something else now are left alone all the same",
		  OPT_FLAG(opts.force) },
		{ 's', "settle", "MS", "let interrupts go back to their old CPU for so long, "
		  "before their old mask is written (300)", OPT_INT(opts.settle_ms, 0, 60000) },
		{ 0, "root", "DIR", "the machine whose /sys and /proc lie in DIR; DIR must hold "
		  "the file tcpx-fixture", OPT_TEXT(root) },
		{ 'j', "json", "FILE", "what became of each, as JSON; - is stdout",
		  OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx irq restore", "[JOURNAL] [OPTIONS]",
		"Puts interrupts back to where they were before tcpx irq apply, by its journal "
		"(/run/tcpx-irq/journal). Doing it twice does no harm. Exit code 1: some are gone "
		"and were left alone; 5: some could not be put back. Needs root.",
		opts, ARRAY_LEN(opts), "  tcpx irq restore\n", false, NULL,
	};
	struct request r = { .command = cmd.name, .opts.settle_ms = SETTLE_MS };
	struct opt_parser p;

	if (!opt_read(&p, &cmd, argc, argv, &r))
		return p.exit;
	if (p.first_word + 1 < argc)
		return tool_usage(cmd.name, "one journal at a time");
	r.journal = p.first_word < argc ? argv[p.first_word] : NULL;
	return restore(&r);
}
