/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx doctor: runs the checks and has evidence and remedies printed. Changes nothing; a check
 * that is impossible here is skipped with a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tune/doctor/checks.h"
#include "tune/doctor/peer_reach.h"
#include "tune/doctor/view.h"
#include "tune/doctor/explain.h"
#include "tool/opt.h"
#include "tool/json_file.h"
#include "tool/out_text.h"
#include "tool/tool.h"

static void
print_list(void)
{
	const struct check *check;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++)
		printf("%-12s %-7s %s\n", check->id, check_severity_name(check->severity),
		       check->question);
}

static json_t *
result_json(const struct check *check, const struct check_result *r)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "id", check->id, "severity",
			 check_severity_name(check->severity), "question", check->question,
			 "status", check_status_name(r->status), "evidence",
			 out_json(r->evidence), "remedy",
			 r->status == CHECK_FINDING ? json_string(check->remedy) : json_null());
}

struct args {
	const char *explain, *peer, *nics, *root, *json;
	const struct check *only;
	bool list, all;
};
#define S struct args

/* Makes check @i; its result is counted and added to @list. */
static void
run_check(const struct machine *m, size_t i, json_t *list, struct check_result *r,
	  struct doctor_tally *tally)
{
	const struct check *check = check_at(i);

	check->probe(m, r);
	doctor_count(tally, check, r);
	json_array_append_new(list, result_json(check, r));
}

static int
examine(const struct machine *m, const struct args *a)
{
	bool print = !a->json || strcmp(a->json, "-");
	struct doctor_tally t = { { 0 }, { 0 } };
	struct check_result *results;
	json_t *list = json_array(), *root;
	size_t count = 0;
	int rc = TOOL_OK;

	while (check_at(count))
		count++;
	results = tool_need(calloc(count, sizeof(*results)));
	for (size_t i = 0; i < count; i++) {
		if (a->only && check_at(i) != a->only)
			continue;
		run_check(m, i, list, &results[i], &t);
		if (print && a->only)
			doctor_print(stdout, a->only, &results[i]);
	}
	if (print && !a->only)
		doctor_print_all(stdout, results, a->all);
	free(results);
	root = json_pack("{s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "version",
			 tcpx_version(), "root", out_json(m->root), "checks", list,
			 "ok", (int)t.status[CHECK_OK], "findings", (int)t.status[CHECK_FINDING],
			 "errors", (int)t.severity[CHECK_ERROR], "warnings",
			 (int)t.severity[CHECK_WARNING], "notes", (int)t.severity[CHECK_NOTE],
			 "unknown", (int)t.status[CHECK_UNKNOWN], "skipped",
			 (int)t.status[CHECK_SKIPPED]);
	if (a->json)
		rc = tool_json_put("tcpx doctor", root, a->json);
	else
		json_decref(root);
	if (rc == TOOL_OK && t.severity[CHECK_ERROR] + t.severity[CHECK_WARNING])
		rc = TOOL_FINDING;
	return rc;
}

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
	struct explained e;
	char near[EXPLAIN_NAME];

	if (!strcmp(text, "all")) {
		explain_all(stdout);
		return TOOL_OK;
	}
	if (explain_find(text, &e)) {
		explain_one(stdout, &e);
		return TOOL_OK;
	}
	explain_nearest(text, near);
	if (near[0])
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
		{ 'a', "all", NULL, "each check with what was seen, not only findings and counts",
		  OPT_FLAG(all) },
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
		"  tcpx doctor --json - | jq '.checks[] | select(.status == \"finding\")'\n", false, NULL,
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
	m->reach = tool_need(calloc(1, sizeof(*m->reach)));
	rc = examine(m, &a);
	free(m->reach);
	machine_free(m);
	return rc;
}
