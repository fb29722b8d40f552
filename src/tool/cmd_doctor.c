/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx doctor: runs the checks and tells what was seen and what to do. Changes nothing;
 * a check that cannot be made here is skipped and says why.
 */
#include <stdlib.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tool/checks.h"
#include "tool/explain.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/tool.h"

static const enum tool_colour colours[CHECK_STATUSES] = {
	[CHECK_OK] = TOOL_GREEN,
	[CHECK_FINDING] = TOOL_RED,
	[CHECK_SKIPPED] = TOOL_DIM,
};

static void
print_list(void)
{
	const struct check *check;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++)
		printf("%-12s %s\n", check->id, check->question);
}

static void
print_result(const struct check *check, const struct check_result *r)
{
	printf("%s%-8s%s %-11s %s\n", tool_paint(stdout, colours[r->status]),
	       check_status_name(r->status), tool_paint(stdout, TOOL_PLAIN), check->id,
	       check->question);
	printf("%21s", "");
	out_plain(stdout, r->evidence);
	putchar('\n');
	if (r->status == CHECK_FINDING)
		printf("%21s%s%s%s\n", "", tool_paint(stdout, TOOL_BOLD), check->remedy,
		       tool_paint(stdout, TOOL_PLAIN));
}

static json_t *
result_json(const struct check *check, const struct check_result *r)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", check->id, "question",
			 check->question, "status", check_status_name(r->status), "evidence",
			 machine_json_text(r->evidence), "remedy",
			 r->status == CHECK_FINDING ? json_string(check->remedy) : json_null());
}

/* All checks, or @only; counts[] by status. */
static void
run_checks(const struct machine *m, const struct check *only, bool print, json_t *results,
	   unsigned counts[CHECK_STATUSES])
{
	const struct check *check;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++) {
		struct check_result r = { .status = CHECK_OK };

		if (only && check != only)
			continue;
		check->probe(m, &r);
		counts[r.status]++;
		json_array_append_new(results, result_json(check, &r));
		if (print)
			print_result(check, &r);
	}
}

static int
examine(const struct machine *m, const struct check *only, const char *json)
{
	unsigned counts[CHECK_STATUSES] = { 0 };
	bool print = !json || strcmp(json, "-");
	json_t *results = json_array(), *root;
	int rc = TOOL_OK;

	run_checks(m, only, print, results, counts);
	if (print && !only)
		printf("\n%u ok, %u finding%s, %u skipped\n", counts[CHECK_OK],
		       counts[CHECK_FINDING], counts[CHECK_FINDING] == 1 ? "" : "s",
		       counts[CHECK_SKIPPED]);
	root = json_pack("{s:s, s:o, s:o, s:i, s:i, s:i}", "version", tcpx_version(), "root",
			 machine_json_text(m->root), "checks", results,
			 "ok", (int)counts[CHECK_OK], "findings", (int)counts[CHECK_FINDING],
			 "skipped", (int)counts[CHECK_SKIPPED]);
	if (json)
		rc = root ? tool_json_write(root, json) :
			    tool_fail(TOOL_DENIED, "tcpx doctor", "no memory for the JSON text");
	json_decref(root);
	if (rc == TOOL_OK && counts[CHECK_FINDING])
		rc = TOOL_FINDING;
	return rc;
}

static int
refuse_id(const char *id)
{
	const char *ids[64], *near;
	const struct check *check;
	size_t count = 0;

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
	if (near)
		return tool_usage("tcpx doctor", "--explain %s: not known; did you mean '%s'?", text,
				  near);
	return tool_usage("tcpx doctor", "--explain %s: not known; --explain all tells what is",
			  text);
}

int
cmd_doctor(int argc, char **argv)
{
	enum { LIST, ONLY, EXPLAIN, NICS, ROOT, JSON };
	static const struct opt opts[] = {
		[LIST] = { 'l', "list", NULL, "names and questions of the checks, without making "
			   "them" },
		[ONLY] = { 'o', "only", "ID", "make only this check" },
		[EXPLAIN] = { 'x', "explain", "NAME", "what a failure or code means, how to check "
			      "for it and what to do; a line of a log will do, all tells all" },
		[NICS] = { 'n', "nics", "LIST", "choose NICs by this list instead of TCPX_NICS" },
		[ROOT] = { 0, "root", "DIR", "look at the machine whose /sys and /proc lie in "
			   "DIR" },
		[JSON] = { 'j', "json", "FILE", "the results as JSON; - is stdout" },
	};
	static const struct opt_command cmd = {
		"tcpx doctor", "[OPTIONS]",
		"Looks for what makes transfers slow or impossible here and tells what to do "
		"about it. Changes nothing. Exit code 1: there is a finding.",
		opts, ARRAY_LEN(opts),
		"  tcpx doctor\n"
		"  tcpx doctor --only buffers\n"
		"  tcpx doctor --explain rx-no-cmsg\n"
		"  tcpx doctor --json - | jq '.checks[] | select(.status == \"finding\")'\n", false,
	};
	const char *nics = NULL, *root = NULL, *json = NULL;
	const struct check *only = NULL;
	struct opt_parser p;
	struct machine *m;
	bool list = false;
	int id, rc;

	opt_init(&p, &cmd, argc, argv);
	while ((id = opt_next(&p)) != OPT_END) {
		switch (id) {
		case LIST:
			list = true;
			break;
		case ONLY:
			only = check_find(p.value);
			if (!only)
				return refuse_id(p.value);
			break;
		case EXPLAIN:
			return explain(p.value);
		case NICS:
			nics = p.value;
			break;
		case ROOT:
			root = p.value;
			break;
		case JSON:
			json = p.value;
			break;
		case OPT_HELP:
			return TOOL_OK;
		default:
			return TOOL_USAGE;
		}
	}
	if (p.first_word < argc)
		return tool_usage(cmd.name, "'%s' is one word too many", argv[p.first_word]);
	if (list) {
		print_list();
		return TOOL_OK;
	}

	m = machine_new(cmd.name, root, nics);
	if (!m)
		return TOOL_USAGE;
	rc = examine(m, only, json);
	machine_free(m);
	return rc;
}
