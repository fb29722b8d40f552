/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small commands around a workload. Their output goes to two files that are reused: it
 * matters only when one fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/matrix/runner.h"
#include "tool/tool.h"

void
matrix_last_line(const char *path, char *buf, size_t cap)
{
	char *text = matrix_file_read(path, NULL), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n")) != NULL)
		if (line[strspn(line, " \t\r")])
			snprintf(buf, cap, "%.*s", (int)cap - 1, line);
	free(text);
}

static int
command_run(struct matrix_runner *r, const char *text, bool whole, struct matrix_ended *ended,
	    char *out, char *err)
{
	struct matrix_command c = { .text = text, .env = r->env.at, .out = out, .err = err,
				    .timeout_ms = r->design->spec->timeout_ms, .whole = whole };
	int rc;

	matrix_store_path(r->store, "raw/command.out", out);
	matrix_store_path(r->store, "raw/command.err", err);
	rc = matrix_exec(&c, ended);
	if (!rc && ended->signal)
		r->signal = ended->signal;
	return rc;
}

static void
say_failure(const char *text, const struct matrix_ended *ended, const char *err,
	    char why[MATRIX_WHY])
{
	char said[160] = "", first[64];

	snprintf(first, sizeof(first), "%.60s", text);
	first[strcspn(first, "\n")] = '\0';
	matrix_last_line(err, said, sizeof(said));
	snprintf(why, MATRIX_WHY, "`%s`: %s %d%s%.100s", first,
		 ended->timed_out ? "timeout, exit code" : "exit code", ended->code,
		 said[0] ? ": " : "", said);
}

int
matrix_commands(struct matrix_runner *r, const struct matrix_line *lines, size_t n,
		enum matrix_key key, bool stop, char why[MATRIX_WHY])
{
	char out[MATRIX_PATH], err[MATRIX_PATH];
	bool backwards = key == MATRIX_TEARDOWN;
	struct matrix_ended ended;
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		const struct matrix_line *line = &lines[backwards ? n - 1 - i : i];
		int rc;

		if (line->key != key)
			continue;
		rc = command_run(r, line->value, backwards, &ended, out, err);
		if (rc)
			return rc;
		if (!ended.code && !ended.timed_out)
			continue;
		if (!failed)
			say_failure(line->value, &ended, err, why);
		failed = 1;
		if (stop)
			break;
	}
	return failed;
}

void
matrix_command_line(struct matrix_runner *r, const char *command, char *buf, size_t cap)
{
	char out[MATRIX_PATH], err[MATRIX_PATH];
	struct matrix_ended ended;
	char *text;

	buf[0] = '\0';
	if (command_run(r, command, false, &ended, out, err) || ended.code)
		return;
	text = matrix_file_read(out, NULL);
	if (text) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(buf, cap, "%.300s", text);
	}
	free(text);
}

bool
matrix_requires(struct matrix_runner *r, const struct matrix_line *lines, size_t n,
		char why[MATRIX_WHY])
{
	struct matrix_command c = { .env = r->env.at, .timeout_ms = r->design->spec->timeout_ms,
				    .end_group = true };
	struct matrix_ended ended;

	for (size_t i = 0; i < n; i++) {
		if (lines[i].key != MATRIX_REQUIRE)
			continue;
		c.text = lines[i].value;
		if (!matrix_exec(&c, &ended) && !ended.code)
			continue;
		snprintf(why, MATRIX_WHY, "needs %.120s", lines[i].name);
		return true;
	}
	return false;
}

/* ---- what a cell adds ------------------------------------------------------------ */

int
matrix_cell_env(struct matrix_runner *r, const struct matrix_cell *cell, struct matrix_env *out)
{
	const struct matrix_section *study = &r->design->spec->sections[0];
	int rc = matrix_env_init(out, r->env.at);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < study->n; i++)
		if (study->lines[i].key == MATRIX_ENV)
			rc = matrix_env_set(out, study->lines[i].name, study->lines[i].value);
	for (size_t i = 0; !rc && i < cell->n; i++)
		if (cell->lines[i].key == MATRIX_ENV)
			rc = matrix_env_set(out, cell->lines[i].name, cell->lines[i].value);
	rc = rc ? rc : matrix_env_set(out, "MATRIX_CELL", cell->name);
	if (rc)
		matrix_env_fini(out);
	return rc;
}

static void
join(struct tcpx_text *t, const struct matrix_line *lines, size_t n, enum matrix_key key)
{
	for (size_t i = 0; i < n; i++)
		if (lines[i].key == key)
			tcpx_text_add(t, "%s%s", t->len ? " " : "", lines[i].value);
}

/* Values of @key, the study's first, with blanks between. */
static char *
joined(const struct matrix_design *d, const struct matrix_cell *cell, enum matrix_key key)
{
	const struct matrix_section *study = &d->spec->sections[0];
	struct tcpx_text t = { .len = 0 };
	char *text;

	join(&t, study->lines, study->n, key);
	join(&t, cell->lines, cell->n, key);
	return tcpx_text_detach(&t, &text) ? NULL : text;
}

/* @text with each @mark replaced by @by; without a mark, @by stands before or behind it. */
static char *
placed(char *text, const char *mark, char *by, bool before)
{
	char *found = text && by ? strstr(text, mark) : NULL, *out = NULL;
	int rc = 0;

	if (found)
		rc = asprintf(&out, "%.*s%s%s", (int)(found - text), text, by,
			      found + strlen(mark));
	else if (text && by && !*by)
		out = strdup(text);
	else if (text && by && before)
		rc = asprintf(&out, "%s %s", by, text);
	else if (text && by)
		rc = asprintf(&out, "%s %s", text, by);
	free(text);
	free(by);
	return rc < 0 ? NULL : out;
}

char *
matrix_cell_command(const struct matrix_design *d, const struct matrix_cell *cell)
{
	char *text = strdup(matrix_spec_text(d->spec, MATRIX_RUN, ""));

	text = placed(text, "{args}", joined(d, cell, MATRIX_ARGS), false);
	return placed(text, "{prefix}", joined(d, cell, MATRIX_PREFIX), true);
}
