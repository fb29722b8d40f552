/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx matrix: the command line of experiments.
 */
#include <stdlib.h>
#include <string.h>

#include "measure/matrix/matrix_find.h"
#include "measure/matrix/matrix_key.h"
#include "measure/matrix/matrix_report.h"
#include "measure/matrix/matrix_session.h"
#include "tool/opt.h"
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
	if (!rc && json_path) {
		json_t *json = matrix_data_json(&data);

		rc = json ? tool_json_write(json, json_path) : -1;
		json_decref(json);
	}
	if (!json_path || strcmp(json_path, "-"))
		matrix_report_print(&data, stdout);
	if (!rc)
		fprintf(stderr, "report: %s and REPORT.md beside it\n", path);
	matrix_data_fini(&data);
	return rc ? TOOL_USAGE : TOOL_OK;
}

/* ---- list ------------------------------------------------------------------------ */

static void
print_lines(const struct matrix_cell *cell)
{
	for (size_t i = 0; i < cell->n; i++) {
		const struct matrix_line *line = &cell->lines[i];

		if (line->key == MATRIX_ABOUT || line->key == MATRIX_LEVEL ||
		    line->key == MATRIX_SAME || line->key == MATRIX_CONTROL ||
		    line->key == MATRIX_VALUES || line->key == MATRIX_AGAINST)
			continue;
		printf("      %s%s%s = %.*s%s\n", matrix_key_name(line->key), *line->name ? " " : "",
		       line->name, (int)strcspn(line->value, "\n"), line->value,
		       strchr(line->value, '\n') ? " ..." : "");
	}
}

static json_t *
list_json(const struct matrix_session *s)
{
	json_t *cells = json_array(), *effects = json_array();

	for (size_t c = 0; c < s->design.n; c++) {
		char *command = matrix_cell_command(&s->design, &s->design.cells[c]);

		json_array_append_new(cells, json_pack("{s:s, s:s, s:b, s:s, s:s}", "name",
				s->design.cells[c].name, "about", s->design.cells[c].about, "runs",
				s->present[c] && !s->study_why[0], "why",
				s->study_why[0] ? s->study_why : s->why_not[c], "command",
				command ? command : ""));
		free(command);
	}
	for (size_t i = 0; i < s->design.effect_count; i++)
		if (s->design.effects[i].kind == MATRIX_PRIMARY)
			json_array_append_new(effects, json_string(s->design.effects[i].name));
	return json_pack("{s:i, s:s, s:i, s:i, s:f, s:o, s:o}", "schema", MATRIX_SCHEMA, "name",
			 s->name, "blocks", (int)s->spec.blocks, "warmup", (int)s->spec.warmup,
			 "margin", s->spec.margin, "cells", cells, "primary_effects", effects);
}

static int
list(struct matrix_session *s, const char *json_path)
{
	struct matrix_analysis a;
	json_t *json;
	int rc;

	if (matrix_session_ask(s))
		return TOOL_FINDING;
	if (json_path) {
		json = list_json(s);
		rc = json ? tool_json_write(json, json_path) : TOOL_FINDING;
		json_decref(json);
		if (rc || !strcmp(json_path, "-"))
			return rc;
	}
	printf("%s: %s\n%s\n\n", s->name, matrix_spec_text(&s->spec, MATRIX_TITLE, ""),
	       matrix_spec_text(&s->spec, MATRIX_QUESTION, ""));
	if (s->study_why[0])
		printf("cannot run here: it %s\n\n", s->study_why);
	for (size_t c = 0; c < s->design.n; c++) {
		const struct matrix_cell *cell = &s->design.cells[c];
		char *command = matrix_cell_command(&s->design, cell);

		printf("  %-16s %s%s%s%s\n", cell->name, cell->same >= 0 ? "A/A of " : "",
		       cell->same >= 0 ? s->design.cells[cell->same].name : cell->about,
		       s->present[c] ? "" : "; left out: it ", s->why_not[c]);
		print_lines(cell);
		printf("      runs: %.*s\n", command ? (int)strcspn(command, "\n") : 0,
		       command ? command : "");
		free(command);
	}
	if (matrix_analyse(&s->design, NULL, 0, s->present, &a))
		return TOOL_FINDING;
	printf("\n%u blocks after %u of warm-up, margin %.3g %%; primary effects: %zu; fewer than %zu "
	       "blocks can show nothing\n", s->spec.blocks, s->spec.warmup, 100 * s->spec.margin,
	       a.primary, a.least);
	matrix_analysis_fini(&a);
	return TOOL_OK;
}

/* ---- verbs ----------------------------------------------------------------------- */

static int
take_reference(const struct opt_parser *p, int id, const char **out)
{
	char name[MATRIX_NAME_MAX];
	double number;

	*out = p->value;
	return matrix_reference_parse(p->value, name, &number) ? TOOL_OK :
	       opt_refuse(p, id, "allowed is NAME=NUMBER, the number above 0: NCCL=18.7");
}

static int
take_blocks(const struct opt_parser *p, int id, struct matrix_wish *wish)
{
	uint64_t v = 0;
	int rc = opt_number(p, id, 1, MATRIX_BLOCKS_MAX, &v);

	wish->blocks = (unsigned)v;
	return rc;
}

static int
run_run(int argc, char **argv)
{
	enum { DIR, BLOCKS, SEED, SET, LOAD, REFERENCE, LIST, JSON };
	static const struct opt opts[] = {
		[DIR] = { 'o', "output", "DIR", "folder of the study (NAME.study)" },
		[BLOCKS] = { 'b', "blocks", "N", "measure every cell N times (as the spec says)" },
		[SEED] = { 's', "seed", "N", "of the order within blocks (as the spec says)" },
		[SET] = { 0, "set", "NAME=VALUE", "another value for what the spec sets" },
		[LOAD] = { 0, "load", "SHARE", "user time of other processes, as a share of all CPUs, "
			   "up to which a run counts: 40% (as the spec says)" },
		[REFERENCE] = { 'r', "reference", "NAME=NUMBER", "a figure to reach, as NCCL=18.7, in the "
				"spec's unit" },
		[LIST] = { 'l', "list", NULL, "show the cells and which can run here; run nothing" },
		[JSON] = { 0, "json", "FILE", "the analysis, or the list, as JSON; - is stdout" },
	};
	static const struct opt_command cmd = {
		"tcpx matrix run", "[OPTIONS] SPEC",
		"Runs an experiment: every cell once a block, the blocks' order shuffled, what a cell "
		"sets up taken down again after each run. SPEC is a file, or the name of a shipped "
		"one; without it these are listed. Interrupted, it goes on with resume.",
		opts, ARRAY_LEN(opts),
		"  tcpx matrix run t1-t5 --list\n"
		"  tcpx matrix run t1-t5 --set PEER=10.0.0.2 -o t1t5\n"
		"  tcpx matrix resume t1t5\n"
		"  tcpx matrix report t1t5\n", false,
	};
	char *sets[SETS_MAX], path[MATRIX_PATH], dir[MATRIX_NAME_MAX + 140];
	struct matrix_wish wish = { .sets = sets };
	bool only_list = false;
	const char *json_path = NULL;
	struct matrix_session s;
	struct opt_parser p;
	int id, rc = TOOL_OK;

	opt_init(&p, &cmd, argc, argv);
	while (!rc && (id = opt_next(&p)) != OPT_END) {
		switch (id) {
		case DIR:
			wish.dir = p.value;
			break;
		case BLOCKS:
			rc = take_blocks(&p, id, &wish);
			break;
		case SEED:
			rc = opt_number(&p, id, 0, UINT32_MAX, &wish.seed);
			wish.seeded = true;
			break;
		case SET:
			if (!strchr(p.value, '=') || wish.set_count == SETS_MAX)
				rc = opt_refuse(&p, id, "allowed is NAME=VALUE, up to 32 times");
			else
				sets[wish.set_count++] = (char *)p.value;
			break;
		case LOAD:
			if (!matrix_fraction_parse(p.value, &wish.load))
				rc = opt_refuse(&p, id, "allowed is a share up to 1, as 40% or 0.4");
			break;
		case REFERENCE:
			rc = take_reference(&p, id, &wish.reference);
			break;
		case LIST:
			only_list = true;
			break;
		case JSON:
			json_path = p.value;
			break;
		default:
			return id == OPT_HELP ? TOOL_OK : TOOL_USAGE;
		}
	}
	if (rc)
		return rc;
	if (p.first_word == argc) {
		matrix_find_print();
		return tool_usage(cmd.name, "which experiment?");
	}
	if (argc - p.first_word > 1)
		return tool_usage(cmd.name, "'%s' is one word too many", argv[p.first_word + 1]);
	if (matrix_find(argv[p.first_word], path) || matrix_session_init(&s, path, &wish))
		return TOOL_USAGE;
	if (!wish.dir) {
		snprintf(dir, sizeof(dir), "%s.study", s.name);
		wish.dir = dir;
	}
	rc = only_list ? list(&s, json_path) : matrix_session_run(&s, &wish);
	matrix_session_fini(&s);
	return rc || only_list ? rc : conclude(wish.dir, NULL, json_path);
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
	enum { BLOCKS, UNDONE, JSON };
	static const struct opt opts[] = {
		[BLOCKS] = { 'b', "blocks", "N", "raise the number of blocks, as a report asks" },
		[UNDONE] = { 0, "undone", NULL, "what was set up has been undone by hand" },
		[JSON] = { 0, "json", "FILE", "the analysis as JSON; - is stdout" },
	};
	static const struct opt_command cmd = {
		"tcpx matrix resume", "[OPTIONS] DIR",
		"Goes on with an experiment: takes down what was set up when it was interrupted, and "
		"begins the block it was in again.",
		opts, ARRAY_LEN(opts), NULL, false,
	};
	struct matrix_wish wish = { .dir = NULL };
	const char *json_path = NULL;
	struct opt_parser p;
	int id, rc = TOOL_OK;

	opt_init(&p, &cmd, argc, argv);
	while (!rc && (id = opt_next(&p)) != OPT_END) {
		if (id == BLOCKS)
			rc = take_blocks(&p, id, &wish);
		else if (id == UNDONE)
			wish.undone = true;
		else if (id == JSON)
			json_path = p.value;
		else
			return id == OPT_HELP ? TOOL_OK : TOOL_USAGE;
	}
	rc = rc ? rc : one_folder(&p, &wish.dir);
	rc = rc ? rc : matrix_session_resume(&wish);
	return rc ? rc : conclude(wish.dir, NULL, json_path);
}

static int
run_report(int argc, char **argv)
{
	enum { OUTPUT, HTML, JSON, REFERENCE };
	static const struct opt opts[] = {
		[OUTPUT] = { 'o', "output", "FILE", "the report as Markdown; - is stdout "
			     "(DIR/REPORT.md)" },
		[HTML] = { 0, "html", "FILE", "the report as HTML with plots (DIR/report.html)" },
		[JSON] = { 0, "json", "FILE", "the analysis as JSON; - is stdout" },
		[REFERENCE] = { 'r', "reference", "NAME=NUMBER", "a figure to reach, as NCCL=18.7, in "
				"place of the study's" },
	};
	static const struct opt_command cmd = {
		"tcpx matrix report", "[OPTIONS] DIR",
		"Reads the files of a study and writes its report; the same files give the same "
		"report, on any machine.",
		opts, ARRAY_LEN(opts), NULL, false,
	};
	const char *dir = NULL, *output = NULL, *html = NULL, *json_path = NULL, *reference = NULL;
	struct matrix_data data;
	struct opt_parser p;
	json_t *json;
	int id, rc;

	opt_init(&p, &cmd, argc, argv);
	while ((id = opt_next(&p)) != OPT_END) {
		if (id < 0)
			return id == OPT_HELP ? TOOL_OK : TOOL_USAGE;
		if (id == REFERENCE && take_reference(&p, id, &reference))
			return TOOL_USAGE;
		else if (id != REFERENCE)
			*(id == OUTPUT ? &output : id == HTML ? &html : &json_path) = p.value;
	}
	rc = one_folder(&p, &dir);
	if (rc)
		return rc;
	if (!output && !html)
		return conclude(dir, reference, json_path);
	if (matrix_data_load(&data, dir, reference))
		return TOOL_USAGE;
	rc = output ? matrix_report_write(&data, output, false) : 0;
	rc = rc || !html ? rc : matrix_report_write(&data, html, true);
	json = rc || !json_path ? NULL : matrix_data_json(&data);
	rc = rc ? TOOL_USAGE : json ? tool_json_write(json, json_path) : TOOL_OK;
	json_decref(json);
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
			"Experiments with a verdict: any command that prints a figure, run with settings in\n"
			"shuffled blocks, judged by intervals and a margin fixed beforehand.\n",
		.more = "; `tcpx matrix run` lists what is shipped",
		.verb = verbs,
		.count = ARRAY_LEN(verbs),
	};

	return tool_run_verb(&all, argc, argv);
}
