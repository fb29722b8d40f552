/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx matrix: the command line of experiments.
 */
#include <stdlib.h>
#include <string.h>

#include "measure/matrix/find.h"
#include "measure/matrix/key.h"
#include "measure/matrix/report.h"
#include "measure/matrix/session.h"
#include "tool/opt.h"
#include "tool/out_text.h"
#include "tool/json_file.h"
#include "tool/output.h"
#include "tool/tool.h"
#include "tool/verbs.h"

enum { SETS_MAX = 32 };

/* Writes the reports into the folder and the table to stdout. */
static int
conclude(const char *dir, const char *reference, const char *json_path)
{
	struct matrix_data data;
	char path[MATRIX_PATH];
	int rc = matrix_data_load(&data, dir, reference);

	if (rc)
		return TOOL_USAGE;
	matrix_store_path(&data.store, "REPORT.md", path);
	rc = matrix_report_write(&data, path, false);
	matrix_store_path(&data.store, "report.html", path);
	rc = rc ? rc : matrix_report_write(&data, path, true);
	if (!rc && json_path)
		rc = tool_json_put("tcpx matrix", matrix_data_json(&data), json_path);
	if (!json_path || strcmp(json_path, "-"))
		matrix_report_print(&data, stdout);
	if (!rc)
		fprintf(stderr, "report: %s and REPORT.md beside it\n", path);
	matrix_data_fini(&data);
	return rc ? TOOL_USAGE : TOOL_OK;
}

/* ---- list ------------------------------------------------------------------------ */

/* Does the line say what a run does? */
static bool
does_something(const struct matrix_line *line)
{
	switch (line->key) {
	case MATRIX_SET:
	case MATRIX_ENV:
	case MATRIX_FACT:
	case MATRIX_COUNTER:
	case MATRIX_REQUIRE:
	case MATRIX_SETUP:
	case MATRIX_TEARDOWN:
	case MATRIX_CHECK:
	case MATRIX_EVIDENCE:
		return true;
	default:
		return false;
	}
}

/* All of a command, however many lines it has: a spec from elsewhere hides nothing. */
static void
print_command(const char *head, const char *command)
{
	for (const char *line = command; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		int indent = line == command ? 6 : 10;

		printf("%*s", indent, "");
		out_wrapf(stdout, indent, "%s%.*s", line == command ? head : "", (int)strcspn(line, "\n"), line);
	}
}

static void
print_lines(const struct matrix_line *lines, size_t n)
{
	char head[300];

	for (size_t i = 0; i < n; i++) {
		if (!does_something(&lines[i]))
			continue;
		snprintf(head, sizeof(head), "%s%s%s = ", matrix_key_name(lines[i].key),
			 *lines[i].name ? " " : "", lines[i].name);
		print_command(head, lines[i].value);
	}
}

static json_t *
lines_json(const struct matrix_line *lines, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (does_something(&lines[i]))
			json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "key",
					matrix_key_name(lines[i].key), "name", out_json(lines[i].name),
					"value", out_json(lines[i].value)));
	return list;
}

static json_t *
list_json(const struct matrix_session *s)
{
	const struct matrix_section *study = &s->spec.sections[0];
	json_t *cells = json_array(), *effects = json_array();

	for (size_t c = 0; c < s->design.n; c++) {
		const struct matrix_cell *cell = &s->design.cells[c];
		char *command = matrix_cell_command(&s->design, cell);

		json_array_append_new(cells, json_pack("{s:s, s:o, s:o, s:o}", "name", cell->name,
				"about", out_json(cell->about), "command", out_json(command ? command : ""),
				"lines", lines_json(cell->lines, cell->n)));
		free(command);
	}
	for (size_t i = 0; i < s->design.effect_count; i++)
		if (s->design.effects[i].kind == MATRIX_PRIMARY)
			json_array_append_new(effects, json_string(s->design.effects[i].name));
	return json_pack("{s:i, s:o, s:i, s:i, s:f, s:o, s:o, s:o}", "schema", MATRIX_SCHEMA, "name",
			 out_json(s->name), "blocks", (int)s->spec.blocks, "warmup", (int)s->spec.warmup,
			 "margin", s->spec.margin, "lines", lines_json(study->lines, study->n), "cells", cells,
			 "primary_effects", effects);
}

static void
print_cell(const struct matrix_session *s, const struct matrix_cell *cell)
{
	char *command = matrix_cell_command(&s->design, cell);

	printf("  %-16s ", cell->name);
	out_wrapf(stdout, 19, "%s%s", cell->same >= 0 ? "A/A of " : "",
		  cell->same >= 0 ? s->design.cells[cell->same].name : cell->about);
	print_lines(cell->lines, cell->n);
	print_command("runs: ", command ? command : "");
	free(command);
}

/* Nothing of the spec is run. */
static int
list(struct matrix_session *s, const char *json_path)
{
	const struct matrix_section *study = &s->spec.sections[0];
	struct matrix_analysis a;
	int rc;

	if (json_path) {
		rc = tool_json_put("tcpx matrix", list_json(s), json_path);
		if (rc || !strcmp(json_path, "-"))
			return rc;
	}
	out_wrapf(stdout, 0, "%s: %s", s->name, matrix_spec_text(&s->spec, MATRIX_TITLE, ""));
	out_wrapped(stdout, matrix_spec_text(&s->spec, MATRIX_QUESTION, ""), 0);
	printf("\nA run hands these commands to sh, as this user; nothing was run now.\n\n");
	print_lines(study->lines, study->n);
	for (size_t c = 0; c < s->design.n; c++) {
		s->present[c] = true; /* as far as is known */
		print_cell(s, &s->design.cells[c]);
	}
	if (matrix_analyse(&s->design, NULL, 0, s->present, &a))
		return TOOL_FINDING;
	putchar('\n');
	out_wrapf(stdout, 0, "%u blocks after %u of warm-up, margin %.3g %%; primary effects: %zu; "
		  "fewer than %zu blocks can show nothing", s->spec.blocks, s->spec.warmup,
		  100 * s->spec.margin, a.primary, a.least);
	matrix_analysis_fini(&a);
	return TOOL_OK;
}

/* ---- verbs ----------------------------------------------------------------------- */

struct args {
	struct matrix_wish wish;
	char *sets[SETS_MAX];
	const char *reference, *output, *html, *json;
	bool list;
};
#define S struct args

static int
take_reference(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;
	char name[MATRIX_NAME_MAX];
	double number;

	a->reference = p->value;
	return matrix_reference_parse(p->value, name, &number) ? TOOL_OK :
	       opt_refuse(p, id, "allowed is NAME=NUMBER, the number above 0: NCCL=18.7");
}

static int
take_seed(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	a->wish.seeded = true;
	return opt_number(p, id, 0, UINT32_MAX, &a->wish.seed);
}

static int
take_set(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	if (!strchr(p->value, '=') || a->wish.set_count == SETS_MAX)
		return opt_refuse(p, id, "allowed is NAME=VALUE, up to 32 times");
	a->sets[a->wish.set_count++] = (char *)p->value;
	return TOOL_OK;
}

static int
take_load(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	return matrix_fraction_parse(p->value, &a->wish.load) ? TOOL_OK :
	       opt_refuse(p, id, "allowed is a share up to 1, as 40% or 0.4");
}

static int
run_run(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'o', "output", "DIR", "folder of the study (NAME.study)", OPT_TEXT(wish.dir) },
		{ 'b', "blocks", "N", "measure every cell N times (as the spec says)",
		  OPT_INT(wish.blocks, 1, MATRIX_BLOCKS_MAX) },
		{ 's', "seed", "N", "of the order within blocks (as the spec says)",
		  OPT_TAKE(take_seed) },
		{ 0, "set", "NAME=VALUE", "another value for what the spec sets",
		  OPT_TAKE(take_set) },
		{ 0, "load", "SHARE", "user time of other processes, as a share of all CPUs, up "
		  "to which a run counts: 40% (as the spec says)", OPT_TAKE(take_load) },
		{ 'r', "reference", "NAME=NUMBER", "a figure to reach, as NCCL=18.7, in the "
		  "spec's unit", OPT_TAKE(take_reference) },
		{ 'l', "list", NULL, "show the cells and all commands; run nothing",
		  OPT_FLAG(list) },
		{ 0, "json", "FILE", "the analysis, or the list, as JSON; - is stdout",
		  OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx matrix run", "[OPTIONS] SPEC",
		"Runs an experiment: every cell once a block, the blocks' order shuffled, what a cell "
		"sets up taken down again after each run. SPEC is a file, or the name of a shipped "
		"one; without it these are listed. A spec is a program: of one from elsewhere, --list "
		"shows what it would do. Interrupted, it goes on with resume.",
		opts, ARRAY_LEN(opts),
		"  tcpx matrix run t1-t5 --list\n"
		"  tcpx matrix run t1-t5 --set PEER=10.0.0.2 -o t1t5\n"
		"  tcpx matrix resume t1t5\n"
		"  tcpx matrix report t1t5\n", false, NULL,
	};
	char path[MATRIX_PATH], dir[MATRIX_NAME_MAX + 140];
	struct args a = { .list = false };
	struct matrix_wish *wish = &a.wish;
	struct matrix_session s;
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	if (output_writable(cmd.name, "--json", a.json) != TOOL_OK)
		return TOOL_USAGE;
	wish->sets = a.sets;
	wish->reference = a.reference;
	if (p.first_word == argc) {
		matrix_find_print();
		return tool_usage(cmd.name, "which experiment?");
	}
	if (opt_words(&p, 1))
		return TOOL_USAGE;
	if (matrix_find(argv[p.first_word], path) || matrix_session_init(&s, path, wish))
		return TOOL_USAGE;
	if (!wish->dir) {
		snprintf(dir, sizeof(dir), "%s.study", s.name);
		wish->dir = dir;
	}
	rc = a.list ? list(&s, a.json) : matrix_session_run(&s, wish);
	matrix_session_fini(&s);
	return rc || a.list ? rc : conclude(wish->dir, NULL, a.json);
}

static int
one_folder(const struct opt_parser *p, const char **dir)
{
	if (p->argc - p->first_word != 1)
		return tool_usage(p->cmd->name, "one folder of a study is needed, here are %d words",
				  p->argc - p->first_word);
	*dir = p->argv[p->first_word];
	return TOOL_OK;
}

static int
run_resume(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'b', "blocks", "N", "raise the number of blocks, as a report asks",
		  OPT_INT(wish.blocks, 1, MATRIX_BLOCKS_MAX) },
		{ 0, "undone", NULL, "what was set up has been undone by hand",
		  OPT_FLAG(wish.undone) },
		{ 0, "json", "FILE", "the analysis as JSON; - is stdout", OPT_TEXT(json) },
	};
	static const struct opt_command cmd = {
		"tcpx matrix resume", "[OPTIONS] DIR",
		"Goes on with an experiment: takes down what was set up when it was interrupted, and "
		"begins the block it was in again.",
		opts, ARRAY_LEN(opts), NULL, false, NULL,
	};
	struct args a = { .list = false };
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	rc = output_writable(cmd.name, "--json", a.json);
	rc = rc ? rc : one_folder(&p, &a.wish.dir);
	rc = rc ? rc : matrix_session_resume(&a.wish);
	return rc ? rc : conclude(a.wish.dir, NULL, a.json);
}

static int
run_report(int argc, char **argv)
{
	static const struct opt opts[] = {
		{ 'o', "output", "FILE", "the report as Markdown; - is stdout (DIR/REPORT.md)",
		  OPT_TEXT(output) },
		{ 0, "html", "FILE", "the report as HTML with plots (DIR/report.html)",
		  OPT_TEXT(html) },
		{ 0, "json", "FILE", "the analysis as JSON; - is stdout", OPT_TEXT(json) },
		{ 'r', "reference", "NAME=NUMBER", "a figure to reach, as NCCL=18.7, in place of "
		  "the study's", OPT_TAKE(take_reference) },
	};
	static const struct opt_command cmd = {
		"tcpx matrix report", "[OPTIONS] DIR",
		"Reads the files of a study and writes its report; the same files give the same "
		"report, on any machine.",
		opts, ARRAY_LEN(opts), NULL, false, NULL,
	};
	struct args a = { .list = false };
	const char *dir = NULL;
	struct matrix_data data;
	struct opt_parser p;
	int rc;

	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	rc = one_folder(&p, &dir);
	rc = rc ? rc : output_writable(cmd.name, "--output", a.output);
	rc = rc ? rc : output_writable(cmd.name, "--html", a.html);
	rc = rc ? rc : output_writable(cmd.name, "--json", a.json);
	if (rc)
		return rc;
	if (!a.output && !a.html)
		return conclude(dir, a.reference, a.json);
	if (matrix_data_load(&data, dir, a.reference))
		return TOOL_USAGE;
	rc = a.output ? matrix_report_write(&data, a.output, false) : 0;
	rc = rc || !a.html ? rc : matrix_report_write(&data, a.html, true);
	if (!rc && a.json)
		rc = tool_json_put("tcpx matrix", matrix_data_json(&data), a.json);
	rc = rc ? TOOL_USAGE : TOOL_OK;
	matrix_data_fini(&data);
	return rc;
}

static const struct tool_verb verbs[] = {
	{ "run", run_run, "SPEC", "run an experiment" },
	{ "resume", run_resume, "DIR", "go on with one" },
	{ "report", run_report, "DIR", "say what it showed" },
};

int
cmd_matrix(int argc, char **argv)
{
	static const struct tool_verbs all = {
		.command = "tcpx matrix",
		.about =
			"Experiments with a verdict: any command that prints a figure, run with settings\n"
			"in shuffled blocks, judged by intervals and a margin fixed beforehand.\n",
		.more = "; `tcpx matrix run` lists what is shipped",
		.verb = verbs,
		.count = ARRAY_LEN(verbs),
	};

	return tool_run_verb(&all, argc, argv);
}
