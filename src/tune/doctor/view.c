/* SPDX-License-Identifier: Apache-2.0 */
/* Findings first, then one line for each group of checks. */
#include "tune/doctor/view.h"

#include <string.h>

#include "tool/out_text.h"
#include "tool/tool.h"

#define INDENT 9 /* of what was seen and of the remedy */
#define GROUP  16

static enum tool_colour
colour_of(const struct check *check, const struct check_result *r)
{
	static const enum tool_colour colours[CHECK_STATUSES] = {
		[CHECK_OK] = TOOL_GREEN,
		[CHECK_FINDING] = TOOL_RED,
		[CHECK_UNKNOWN] = TOOL_YELLOW,
		[CHECK_SKIPPED] = TOOL_DIM,
	};

	return r->status == CHECK_FINDING && check->severity != CHECK_ERROR ? TOOL_YELLOW :
	       colours[r->status];
}

void
doctor_count(struct doctor_tally *t, const struct check *check, const struct check_result *r)
{
	t->status[r->status]++;
	if (r->status == CHECK_FINDING)
		t->severity[check->severity]++;
}

/* A finding shows its cost in place of the status. */
void
doctor_print(FILE *f, const struct check *check, const struct check_result *r)
{
	bool found = r->status == CHECK_FINDING;

	fprintf(f, "%s%-8s%s %-12s %s\n%*s", tool_paint(f, colour_of(check, r)),
		found ? check_severity_name(check->severity) : check_status_name(r->status),
		tool_paint(f, TOOL_PLAIN), check->id, check->question, INDENT, "");
	out_wrapped(f, r->evidence, INDENT);
	if (!found)
		return;
	fprintf(f, "%*s%s", INDENT, "", tool_paint(f, TOOL_BOLD));
	out_wrapped(f, check->remedy, INDENT);
	fputs(tool_paint(f, TOOL_PLAIN), f);
}

static bool
print_findings(FILE *f, const struct check_result *results, enum check_severity severity)
{
	const struct check *check;
	bool any = false;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++)
		if (results[i].status == CHECK_FINDING && check->severity == severity) {
			doctor_print(f, check, &results[i]);
			fputc('\n', f);
			any = true;
		}
	return any;
}

/* The commonest reason of the checks first..end-1 that were skipped. */
static const char *
common_reason(const struct check_result *results, size_t first, size_t end)
{
	const char *best = "";
	size_t most = 0;

	for (size_t i = first; i < end; i++) {
		size_t same = 0;

		if (results[i].status != CHECK_SKIPPED)
			continue;
		for (size_t k = i; k < end; k++)
			same += results[k].status == CHECK_SKIPPED &&
				!strcmp(results[i].evidence, results[k].evidence);
		if (same > most) {
			most = same;
			best = results[i].evidence;
		}
	}
	return best;
}

/* "GPUs             1 ok, 12 skipped: no GPU on the PCI bus" */
static void
print_group(FILE *f, const struct check_result *results, size_t first, size_t end)
{
	static const enum check_status order[] = { CHECK_FINDING, CHECK_OK, CHECK_UNKNOWN,
						   CHECK_SKIPPED };
	unsigned count[CHECK_STATUSES] = { 0 };
	char text[1024];
	size_t len = 0;

	for (size_t i = first; i < end; i++)
		count[results[i].status]++;
	for (size_t k = 0; k < ARRAY_LEN(order); k++)
		if (count[order[k]])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u %s%s",
						len ? ", " : "", count[order[k]],
						check_status_name(order[k]),
						order[k] == CHECK_FINDING && count[order[k]] > 1 ?
						"s" : "");
	if (count[CHECK_SKIPPED])
		snprintf(text + len, sizeof(text) - len, ": %s",
			 common_reason(results, first, end));
	fprintf(f, "%-*s", GROUP, check_group(check_at(first)));
	out_wrapped(f, text, GROUP);
}

static void
print_groups(FILE *f, const struct check_result *results)
{
	const struct check *check;
	size_t first = 0, i;

	for (i = 0; (check = check_at(i)) != NULL; i++)
		if (strcmp(check_group(check), check_group(check_at(first))) != 0) {
			print_group(f, results, first, i);
			first = i;
		}
	print_group(f, results, first, i);
}

static void
print_tally(FILE *f, const struct doctor_tally *t)
{
	const unsigned *s = t->severity;

	fprintf(f, "\n%u ok, %u error%s, %u warning%s, %u note%s, %u unknown, %u skipped\n",
		t->status[CHECK_OK], s[CHECK_ERROR], s[CHECK_ERROR] == 1 ? "" : "s",
		s[CHECK_WARNING], s[CHECK_WARNING] == 1 ? "" : "s", s[CHECK_NOTE],
		s[CHECK_NOTE] == 1 ? "" : "s", t->status[CHECK_UNKNOWN], t->status[CHECK_SKIPPED]);
}

void
doctor_print_all(FILE *f, const struct check_result *results, bool all)
{
	struct doctor_tally t = { { 0 }, { 0 } };
	const struct check *check;
	bool any = false;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++) {
		doctor_count(&t, check, &results[i]);
		if (all)
			doctor_print(f, check, &results[i]);
	}
	if (!all) {
		for (int s = 0; s < CHECK_SEVERITIES; s++)
			any |= print_findings(f, results, (enum check_severity)s);
		if (!any)
			fputs("No findings.\n\n", f);
		print_groups(f, results);
	}
	print_tally(f, &t);
	if (!all)
		fputs("`tcpx doctor --all` shows each check, --only ID one of them.\n", f);
}
