/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study.json holds what was fixed before the first run: seed, blocks, margin, machine,
 * usable cells. A resumed study reads it back and changes none of it but the number of
 * blocks, which it records.
 */
#include "measure/matrix/session.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "measure/matrix/blocks.h"
#include "measure/matrix/data.h"
#include "measure/matrix/find.h"
#include "measure/matrix/machine.h"
#include "tool/out_text.h"
#include "tool/output.h"
#include "tool/tool.h"

static const char command_name[] = "tcpx matrix";

/* ---- reading ---------------------------------------------------------------------- */

static int
figures_check(const struct matrix_spec *spec)
{
	const struct matrix_section *study = &spec->sections[0];
	char how[512];
	struct matrix_want want;
	int rc = 0;

	for (size_t i = 0; !rc && i < study->n; i++) {
		const struct matrix_line *line = &study->lines[i];

		if (line->key == MATRIX_METRIC || line->key == MATRIX_ALSO)
			rc = matrix_figure_check(line->value, matrix_key_name(line->key));
		if (line->key != MATRIX_EXPECT)
			continue;
		if (matrix_expect_cut(line->value, how, sizeof(how), &want))
			rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "line %u: expect %.60s = %.60s: "
				       "allowed is a figure, a blank and the number it must be",
				       line->at, line->name, line->value);
		else
			rc = matrix_figure_check(how, "expect");
	}
	return rc;
}

static int
sets_apply(struct matrix_session *s, const struct matrix_wish *wish)
{
	const struct matrix_section *study = &s->spec.sections[0];
	int rc = 0;

	for (size_t i = 0; !rc && i < study->n; i++)
		if (study->lines[i].key == MATRIX_SET)
			rc = matrix_env_set(&s->runner.env, study->lines[i].name,
					    study->lines[i].value);
	for (size_t i = 0; !rc && i < wish->set_count; i++) {
		char *equals = strchr(wish->sets[i], '='), name[MATRIX_NAME_MAX];
		bool known = false;

		snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - wish->sets[i]) : 0,
			 wish->sets[i]);
		for (size_t k = 0; k < study->n; k++)
			known |= study->lines[k].key == MATRIX_SET &&
				 !strcmp(study->lines[k].name, name);
		if (!known)
			return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "--set %.60s: allowed is "
					 "NAME=VALUE for a NAME that the spec sets", wish->sets[i]);
		rc = matrix_env_set(&s->runner.env, name, equals + 1);
	}
	return rc;
}

static int
env_fill(struct matrix_session *s, const struct matrix_wish *wish)
{
	char self[MATRIX_PATH];
	unsigned char random[8];
	int rc = tcpx_random_bytes(random, sizeof(random));

	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(s->id + 2 * i, 3, "%02x", random[i]);
	matrix_find_self(self);
	rc = rc ? rc : matrix_env_init(&s->runner.env, environ);
	rc = rc ? rc : matrix_env_set(&s->runner.env, "TCPX", self);
	rc = rc ? rc : matrix_env_set(&s->runner.env, "MATRIX_SHARE", s->share);
	rc = rc ? rc : matrix_env_set(&s->runner.env, "MATRIX_ID", s->id);
	return rc ? rc : sets_apply(s, wish);
}

int
matrix_session_init(struct matrix_session *s, const char *path, const struct matrix_wish *wish)
{
	char copy[MATRIX_PATH], *dot, *folder;
	int rc;

	*s = (struct matrix_session){ .store = { .lock = -1 } };
	snprintf(copy, sizeof(copy), "%s", path);
	snprintf(s->name, sizeof(s->name), "%.120s", basename(copy));
	dot = strrchr(s->name, '.');
	if (dot && dot != s->name)
		*dot = '\0';
	snprintf(copy, sizeof(copy), "%s", path);
	folder = realpath(dirname(copy), NULL);
	snprintf(s->share, sizeof(s->share), "%s", folder ? folder : ".");
	free(folder);

	errno = 0;
	s->text = matrix_file_read(path, &s->len);
	if (!s->text)
		return tcpx_fail(TCPX_SUB_TOOL, errno ? -errno : -ENOMEM, "read %s: %s", path,
				 strerror(errno));
	rc = matrix_spec_parse(s->text, s->len, s->name, &s->spec);
	rc = rc ? rc : matrix_design_init(&s->design, &s->spec, s->name);
	rc = rc ? rc : figures_check(&s->spec);
	s->runner.design = &s->design;
	s->runner.store = &s->store;
	rc = rc ? rc : env_fill(s, wish);
	if (wish->blocks)
		s->spec.blocks = wish->blocks;
	if (wish->seeded)
		s->spec.seed = wish->seed;
	if (wish->load > 0)
		s->spec.load_max = wish->load;
	if (rc)
		matrix_session_fini(s);
	return rc;
}

void
matrix_session_fini(struct matrix_session *s)
{
	matrix_store_close(&s->store);
	matrix_env_fini(&s->runner.env);
	if (s->design.spec)
		matrix_design_fini(&s->design);
	matrix_spec_fini(&s->spec);
	json_decref(s->study);
	free(s->text);
	s->text = NULL;
	s->study = NULL;
}

/* Runs the requirements: fills present, why_not and study_why. */
static void
ask(struct matrix_session *s)
{
	const struct matrix_section *study = &s->spec.sections[0];

	matrix_exec_begin();
	s->study_why[0] = '\0';
	matrix_requires(&s->runner, study->lines, study->n, s->study_why);
	for (size_t c = 0; c < s->design.n; c++) {
		s->why_not[c][0] = '\0';
		s->present[c] = !matrix_requires(&s->runner, s->design.cells[c].lines,
						 s->design.cells[c].n, s->why_not[c]);
	}
}

/* ---- study.json -------------------------------------------------------------------- */

static json_t *
facts_take(struct matrix_session *s)
{
	const struct matrix_section *study = &s->spec.sections[0];
	json_t *facts = json_object();
	char text[320];

	for (size_t i = 0; i < study->n; i++)
		if (study->lines[i].key == MATRIX_FACT) {
			matrix_command_line(&s->runner, study->lines[i].value, text, sizeof(text));
			json_object_set_new(facts, study->lines[i].name,
					    json_string(text[0] ? text : "not told"));
		}
	return facts;
}

static int
study_begin(struct matrix_session *s, const struct matrix_wish *wish)
{
	json_t *cells = json_array(), *sets = json_object();
	char now[32];

	out_now(now);
	for (size_t c = 0; c < s->design.n; c++)
		json_array_append_new(cells, json_pack("{s:s, s:b, s:s}", "name",
						       s->design.cells[c].name, "runs",
						       s->present[c], "why", s->why_not[c]));
	for (size_t i = 0; i < wish->set_count; i++) {
		char *name = strndup(wish->sets[i], strcspn(wish->sets[i], "="));

		if (name)
			json_object_set_new(sets, name,
					    json_string(strchr(wish->sets[i], '=') + 1));
		free(name);
	}
	s->study = json_pack("{s:i, s:s, s:s, s:s, s:I, s:i, s:i, s:f, s:o, s:o, s:o, s:o, s:[]}",
			     "schema", MATRIX_SCHEMA, "name", s->name, "created", now, "tcpx",
			     TCPX_VERSION, "seed", (json_int_t)s->spec.seed, "blocks",
			     (int)s->spec.blocks, "warmup", (int)s->spec.warmup, "margin",
			     s->spec.margin, "sets", sets, "machine", matrix_machine(), "facts",
			     facts_take(s), "cells", cells, "sessions");
	if (s->study && wish->load > 0)
		json_object_set_new(s->study, "load", json_real(wish->load));
	if (s->study && wish->reference)
		json_object_set_new(s->study, "reference", json_string(wish->reference));
	return s->study ? matrix_store_write(&s->store, "study.json", s->study) : -ENOMEM;
}

static int
spec_copy(struct matrix_session *s)
{
	char path[MATRIX_PATH];
	int rc;

	matrix_store_path(&s->store, "study.spec", path);
	rc = output_text(path, s->text, s->len);
	return rc ? tcpx_fail(TCPX_SUB_TOOL, rc, "write %s", path) : 0;
}

/* ---- a session ---------------------------------------------------------------------- */

/* Runs the blocks, between two lines of the study's diary. */
static int
session_go(struct matrix_session *s)
{
	json_t *sessions = json_object_get(s->study, "sessions"), *entry;
	char begin[32], end[32];
	int code;

	out_now(begin);
	entry = json_pack("{s:s, s:s, s:b}", "start", begin, "end", "", "restored", 0);
	json_array_append_new(sessions, entry);
	if (matrix_store_write(&s->store, "study.json", s->study))
		return TOOL_FINDING;
	code = matrix_blocks_run(s);
	out_now(end);
	json_object_set_new(entry, "end", json_string(end));
	json_object_set_new(entry, "restored", json_boolean(code != TOOL_HALF));
	if (matrix_store_write(&s->store, "study.json", s->study) && !code)
		code = TOOL_FINDING;
	return code;
}

static int
env_dir(struct matrix_session *s)
{
	char *dir = realpath(s->store.dir, NULL);
	int rc = dir ? matrix_env_set(&s->runner.env, "MATRIX_DIR", dir) : -errno;

	if (dir && strlen(dir) < sizeof(s->store.dir))
		snprintf(s->store.dir, sizeof(s->store.dir), "%s", dir);
	free(dir);
	return rc ? rc : matrix_env_set(&s->runner.env, "MATRIX_ID", s->id);
}

static size_t
cells_present(const struct matrix_session *s)
{
	size_t n = 0;

	for (size_t c = 0; c < s->design.n; c++)
		n += s->present[c];
	return n;
}

int
matrix_session_run(struct matrix_session *s, const struct matrix_wish *wish)
{
	int rc;

	ask(s);
	if (s->study_why[0])
		return tool_fail(TOOL_DENIED, command_name, "%s cannot run here: it %s", s->name,
				 s->study_why);
	for (size_t c = 0; c < s->design.n; c++)
		if (!s->present[c])
			fprintf(stderr, "left out: cell %s %s\n", s->design.cells[c].name,
				s->why_not[c]);
	if (cells_present(s) < 2)
		return tool_fail(TOOL_DENIED, command_name, "%s: %zu of %zu cells can run here; "
				 "nothing to compare", s->name, cells_present(s), s->design.n);
	rc = matrix_store_create(&s->store, wish->dir);
	rc = rc ? rc : env_dir(s);
	rc = rc ? rc : spec_copy(s);
	rc = rc ? rc : study_begin(s, wish);
	return rc ? TOOL_USAGE : session_go(s);
}

/* As it was fixed, but for more blocks. */
static int
study_restore(struct matrix_session *s, const struct matrix_wish *wish)
{
	int rc = matrix_study_restore(s->study, s->store.dir, &s->spec, &s->design, s->present);

	if (rc)
		return rc;
	if (!wish->blocks || wish->blocks == s->spec.blocks)
		return 0;
	if (wish->blocks < s->spec.blocks)
		return tcpx_fail(TCPX_SUB_TOOL, -EINVAL, "--blocks %u: allowed is more than the %u "
				 "that were planned", wish->blocks, s->spec.blocks);
	if (!json_object_get(s->study, "planned_blocks"))
		json_object_set_new(s->study, "planned_blocks",
				    json_integer(s->spec.blocks));
	json_object_set_new(s->study, "blocks", json_integer((json_int_t)wish->blocks));
	s->spec.blocks = wish->blocks;
	return 0;
}

/* The NAME=VALUE sets that the study began with. */
static char **
sets_again(const json_t *study, size_t *n)
{
	json_t *sets = json_object_get(study, "sets"), *value;
	char **out = calloc(json_object_size(sets) + 1, sizeof(*out));
	const char *name;

	*n = 0;
	json_object_foreach(sets, name, value)
		if (out && json_is_string(value) &&
		    asprintf(&out[*n], "%s=%s", name, json_string_value(value)) >= 0)
			++*n;
	return out;
}

static int
resume_open(struct matrix_session *s, const struct matrix_wish *wish)
{
	struct matrix_store probe = { .lock = -1 };
	struct matrix_wish again = { .dir = wish->dir };
	char path[MATRIX_PATH];
	json_t *study, *state;
	int rc = matrix_store_open(&probe, wish->dir, true);

	if (rc)
		return rc;
	study = matrix_store_read(&probe, "study.json");
	state = study ? matrix_store_read(&probe, "state.json") : NULL;
	matrix_store_path(&probe, "study.spec", path);
	again.sets = study ? sets_again(study, &again.set_count) : NULL;
	rc = study && state && again.sets ? matrix_session_init(s, path, &again) : TCPX_ECONFIG;
	for (size_t i = 0; i < again.set_count; i++)
		free(again.sets[i]);
	free((void *)again.sets);
	if (rc) {
		json_decref(study);
		json_decref(state);
		matrix_store_close(&probe);
		return rc;
	}
	s->study = study;
	s->store = probe;
	snprintf(s->name, sizeof(s->name), "%.120s",
		 json_string_value(json_object_get(study, "name")) ?: "study");
	snprintf(s->share, sizeof(s->share), "%s",
		 json_string_value(json_object_get(state, "share")) ?: ".");
	json_decref(state);
	rc = matrix_env_set(&s->runner.env, "MATRIX_SHARE", s->share);
	rc = rc ? rc : study_restore(s, wish);
	rc = rc ? rc : env_dir(s);
	if (rc)
		matrix_session_fini(s);
	return rc;
}

int
matrix_session_resume(const struct matrix_wish *wish)
{
	struct matrix_session s;
	char id[sizeof(s.id)];
	int code;

	matrix_exec_begin();
	if (resume_open(&s, wish))
		return TOOL_USAGE;
	snprintf(id, sizeof(id), "%s", s.id);
	code = matrix_blocks_undo(&s, wish->undone);
	snprintf(s.id, sizeof(s.id), "%s", id); /* processes from now on carry our id */
	code = code ? code : session_go(&s);
	matrix_session_fini(&s);
	return code;
}
