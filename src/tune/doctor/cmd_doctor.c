/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx doctor: runs the checks and prints evidence and remedies. Changes nothing; a check
 * that is impossible here is skipped with a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tune/doctor/checks.h"
#include "tune/doctor/explain.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/tool.h"

static const enum tool_colour colours[CHECK_STATUSES] = {
	[CHECK_OK] = TOOL_GREEN,
	[CHECK_FINDING] = TOOL_RED,
	[CHECK_UNKNOWN] = TOOL_YELLOW,
	[CHECK_SKIPPED] = TOOL_DIM,
};

static void
print_list(void)
{
	const struct check *check;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++)
		printf("%-12s %-7s %s\n", check->id, check_severity_name(check->severity),
		       check->question);
}

/* A finding shows its cost in place of the status. */
static void
print_result(const struct check *check, const struct check_result *r)
{
	bool found = r->status == CHECK_FINDING;
	enum tool_colour colour = !found || check->severity == CHECK_ERROR ? colours[r->status] :
				  TOOL_YELLOW;

	printf("%s%-8s%s %-12s %s\n", tool_paint(stdout, colour),
	       found ? check_severity_name(check->severity) : check_status_name(r->status),
	       tool_paint(stdout, TOOL_PLAIN), check->id, check->question);
	printf("%22s", "");
	out_plain(stdout, r->evidence);
	putchar('\n');
	if (found)
		printf("%22s%s%s%s\n", "", tool_paint(stdout, TOOL_BOLD), check->remedy,
		       tool_paint(stdout, TOOL_PLAIN));
}

static json_t *
result_json(const struct check *check, const struct check_result *r)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "id", check->id, "severity",
			 check_severity_name(check->severity), "question", check->question, "status", check_status_name(r->status), "evidence",
			 machine_json_text(r->evidence), "remedy",
			 r->status == CHECK_FINDING ? json_string(check->remedy) : json_null());
}

struct tally {
	unsigned status[CHECK_STATUSES], severity[CHECK_SEVERITIES]; /* severity: findings only */
};

/* Runs all checks, or @only. */
static void
run_checks(const struct machine *m, const struct check *only, bool print, json_t *results,
	   struct tally *tally)
{
	const struct check *check;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++) {
		struct check_result r = { .status = CHECK_OK };

		if (only && check != only)
			continue;
		check->probe(m, &r);
		tally->status[r.status]++;
		if (r.status == CHECK_FINDING)
			tally->severity[check->severity]++;
		json_array_append_new(results, result_json(check, &r));
		if (print)
			print_result(check, &r);
	}
}

static void
print_tally(const struct tally *t)
{
	const unsigned *s = t->severity;

	printf("\n%u ok, %u error%s, %u warning%s, %u note%s, %u cannot be told, %u skipped\n",
	       t->status[CHECK_OK], s[CHECK_ERROR], s[CHECK_ERROR] == 1 ? "" : "s",
	       s[CHECK_WARNING], s[CHECK_WARNING] == 1 ? "" : "s", s[CHECK_NOTE],
	       s[CHECK_NOTE] == 1 ? "" : "s", t->status[CHECK_UNKNOWN], t->status[CHECK_SKIPPED]);
}

static int
examine(const struct machine *m, const struct check *only, const char *json)
{
	bool print = !json || strcmp(json, "-");
	json_t *results = json_array(), *root;
	struct tally t = { { 0 }, { 0 } };
	int rc = TOOL_OK;

	run_checks(m, only, print, results, &t);
	if (print && !only)
		print_tally(&t);
	root = json_pack("{s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "version",
			 tcpx_version(), "root", machine_json_text(m->root), "checks", results,
			 "ok", (int)t.status[CHECK_OK], "findings", (int)t.status[CHECK_FINDING],
			 "errors", (int)t.severity[CHECK_ERROR], "warnings",
			 (int)t.severity[CHECK_WARNING], "notes", (int)t.severity[CHECK_NOTE],
			 "unknown", (int)t.status[CHECK_UNKNOWN], "skipped",
			 (int)t.status[CHECK_SKIPPED]);
	if (json)
		rc = tool_json_put("tcpx doctor", root, json);
	else
		json_decref(root);
	if (rc == TOOL_OK && t.severity[CHECK_ERROR] + t.severity[CHECK_WARNING])
		rc = TOOL_FINDING;
	return rc;
}

struct args {
	const char *explain, *peer, *nics, *root, *json;
	const struct check *only;
	bool list;
};
#define S struct args

static int
take_only(const struct opt_parser *p, int option, void *args)
{
	struct args *a = args;
	const char *ids[128], *near;
	const struct check *check;
	const char *id = p->value;
	size_t count = 0;

	a->only = check_find(id);
	if (a->only)
		return TOOL_OK;
	for (; count < ARRAY_LEN(ids) && (check = check_at(count)) != NULL; count++)
		ids[count] = check->id;
	near = tool_nearest(id, ids, count, sizeof(ids[0]));
	if (near)
		return tool_usage("tcpx doctor", "--only %s: no such check; did you mean '%s'?",
				  id, near);
	return tool_usage("tcpx doctor", "--only %s: no such check; --list tells them", id);
}

static int
explain(const char *text)
{
	const struct explained *e = explain_find(text);
	const char *near;

	if (!strcmp(text, "all")) {
		explain_all(stdout);
		return TOOL_OK;
	}
	if (e) {
		explain_one(stdout, e);
		return TOOL_OK;
	}
	near = tool_nearest(text, explain_classes, explain_class_count, sizeof(*e));
	if (!near)
		near = tool_nearest(text, explain_codes, explain_code_count, sizeof(*e));
	if (!near)
		near = tool_nearest(text, explain_others, explain_other_count, sizeof(*e));
	if (near)
		return tool_usage("tcpx doctor", "--explain %s: not known; did you mean '%s'?", text,
				  near);
	return tool_usage("tcpx doctor", "--explain %s: not known; --explain all tells what is",
			  text);
}

int
cmd_doctor(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'l', "list", NULL, "names and questions of the checks, without making them",
		  OPT_FLAG(list) },
		{ 'o', "only", "ID", "make only this check", OPT_TAKE(take_only) },
		{ 'x', "explain", "NAME", "what a failure or code means, how to check for it and "
		  "what to do; a line of a log will do, all tells all", OPT_TEXT(explain) },
		{ 'p', "peer", "HOST[:PORT],...", "also look at the way to these addresses of "
		  "another machine, where tcpx serve runs", OPT_TEXT(peer) },
		{ 'n', "nics", "LIST", "choose NICs by this list instead of TCPX_NICS",
		  OPT_TEXT(nics) },
		{ 0, "root", "DIR", "look at the machine whose /sys and /proc lie in DIR",
		  OPT_TEXT(root) },
		{ 'j', "json", "FILE", "the results as JSON; - is stdout", OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx doctor", "[OPTIONS]",
		"Looks for what makes transfers slow or impossible here and tells what to do "
		"about it. Changes nothing. Exit code 1: there is an error or a warning.",
		opts, ARRAY_LEN(opts),
		"  tcpx doctor\n"
		"  tcpx doctor --only buffers\n"
		"  tcpx doctor --peer 10.0.1.8,10.0.2.8\n"
		"  tcpx doctor --explain rx-no-cmsg\n"
		"  tcpx doctor --json - | jq '.checks[] | select(.status == \"finding\")'\n", false,
	};
	struct args a = { .explain = NULL };
	struct opt_parser p;
	struct machine *m;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	if (a.explain)
		return explain(a.explain);
	if (opt_words(&p, 0))
		return TOOL_USAGE;
	if (a.list) {
		print_list();
		return TOOL_OK;
	}

	m = machine_new(cmd.name, a.root, a.nics);
	if (!m)
		return TOOL_USAGE;
	m->peer = a.peer;
	rc = examine(m, a.only, a.json);
	machine_free(m);
	return rc;
}
