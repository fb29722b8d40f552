/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a run. The tear-down ends what the cell's set-up began, whatever happens
 * between; only then is the run stored.
 */
#include "measure/matrix/runner.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/matrix/load.h"
#include "measure/matrix/validity.h"
#include "tool/out_text.h"

enum { COUNTERS_MAX = 16 };

/* The data of one run. */
struct gathered {
	const struct matrix_section *study;
	const struct matrix_cell *cell;
	char out[MATRIX_PATH], err[MATRIX_PATH], json[MATRIX_PATH];
	struct matrix_look before, after;
	struct matrix_load load;
	double counters[COUNTERS_MAX]; /* before the run, in order of the spec */
	struct matrix_facts facts;
	char setup[MATRIX_WHY], said[MATRIX_WHY], why[MATRIX_WHY], failed[MATRIX_WHY];
	json_t *also, *evidence, *counted;
};

static void
fail_first(struct gathered *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Keeps the first failure. */
static void
fail_first(struct gathered *g, const char *fmt, ...)
{
	va_list ap;

	if (g->failed[0])
		return;
	va_start(ap, fmt);
	vsnprintf(g->failed, sizeof(g->failed), fmt, ap);
	va_end(ap);
}

/* ---- counters -------------------------------------------------------------------- */

static double
counter_read(struct matrix_runner *r, const char *command)
{
	char text[320], *end;
	double v;

	matrix_command_line(r, command, text, sizeof(text));
	v = strtod(text, &end);
	return end == text || !isfinite(v) ? NAN : v;
}

static void
counters_before(struct matrix_runner *r, struct gathered *g)
{
	size_t k = 0;

	for (size_t i = 0; i < g->study->n && k < COUNTERS_MAX; i++)
		if (g->study->lines[i].key == MATRIX_COUNTER)
			g->counters[k++] = counter_read(r, g->study->lines[i].value);
}

static void
limit_check(struct gathered *g, const char *name, double by)
{
	for (size_t i = 0; i < g->study->n; i++) {
		const struct matrix_line *line = &g->study->lines[i];

		if (line->key == MATRIX_LIMIT && !strcmp(line->name, name) &&
		    !(by <= strtod(line->value, NULL)))
			fail_first(g, "counter %.60s rose by %.6g, allowed is %.20s", name, by,
				   line->value);
	}
}

static void
counters_after(struct matrix_runner *r, struct gathered *g)
{
	size_t k = 0;

	if (g->load.retransmits >= 0)
		limit_check(g, "retransmits", g->load.retransmits);
	for (size_t i = 0; i < g->study->n && k < COUNTERS_MAX; i++) {
		const struct matrix_line *line = &g->study->lines[i];
		double by;

		if (line->key != MATRIX_COUNTER)
			continue;
		by = counter_read(r, line->value) - g->counters[k++];
		if (isfinite(by))
			json_object_set_new(g->counted, line->name, json_real(by));
		limit_check(g, line->name, by);
	}
}

/* ---- figures --------------------------------------------------------------------- */

/* A figure is looked for in the workload's JSON file, if it wrote one and JSON is asked
 * for; else in its output. */
static int
figure_of(const struct gathered *g, const char *how, double *out, char why[MATRIX_WHY])
{
	bool json = !strncmp(how, "json:", 5) && !access(g->json, R_OK);
	char *text = matrix_file_read(json ? g->json : g->out, NULL);
	int rc = -ENOENT;

	snprintf(why, MATRIX_WHY, "its output cannot be read");
	if (text)
		rc = matrix_figure_find(how, text, out, why);
	free(text);
	return rc;
}

static void
figures_find(struct gathered *g)
{
	char why[MATRIX_WHY], how[512];
	struct matrix_want want;
	double v;

	for (size_t i = 0; i < g->study->n; i++) {
		const struct matrix_line *line = &g->study->lines[i];

		if (line->key == MATRIX_METRIC &&
		    figure_of(g, line->value, &g->facts.figure, g->why))
			g->facts.figure = NAN;
		if (line->key == MATRIX_ALSO && !figure_of(g, line->value, &v, why))
			json_object_set_new(g->also, line->name, json_real(v));
		if (line->key != MATRIX_EXPECT ||
		    matrix_expect_cut(line->value, how, sizeof(how), &want))
			continue;
		if (figure_of(g, how, &v, why))
			fail_first(g, "expected %.60s: %.100s", line->name, why);
		else if (want.above ? !(v > want.number) : v != want.number)
			fail_first(g, "expected %.60s: it is %.6g, not %s%.6g", line->name, v,
				   want.above ? "above " : "", want.number);
	}
}

/* ---- evidence and checks --------------------------------------------------------- */

static void
evidence_take(struct matrix_runner *r, struct gathered *g, const struct matrix_line *lines,
	      size_t n)
{
	char text[320], said[MATRIX_WHY];

	for (size_t i = 0; i < n; i++) {
		if (lines[i].key == MATRIX_EVIDENCE) {
			matrix_command_line(r, lines[i].value, text, sizeof(text));
			json_object_set_new(g->evidence, lines[i].name, json_string(text));
		}
		if (lines[i].key == MATRIX_CHECK &&
		    matrix_commands(r, &lines[i], 1, MATRIX_CHECK, true, said))
			fail_first(g, "check '%.60s' failed: %.110s", lines[i].name, said);
	}
}

/* ---- the run --------------------------------------------------------------------- */

static int
measure(struct matrix_runner *r, struct gathered *g)
{
	char *text = matrix_cell_command(r->design, g->cell);
	struct matrix_command c = { .text = text, .env = r->env.at, .out = g->out, .err = g->err,
				    .timeout_ms = r->design->spec->timeout_ms, .end_group = true };
	int rc = text ? 0 : -ENOMEM;

	(void)unlink(g->json);
	counters_before(r, g);
	matrix_look_now(&g->before);
	rc = rc ? rc : matrix_exec(&c, &g->facts.ended);
	matrix_look_now(&g->after);
	free(text);
	if (rc)
		return rc;
	if (g->facts.ended.signal) {
		r->signal = g->facts.ended.signal;
		return 0;
	}
	matrix_load_between(&g->before, &g->after, g->facts.ended.seconds, g->facts.ended.user_s,
			    &g->load);
	g->facts.load = &g->load;
	matrix_last_line(g->err, g->said, sizeof(g->said));
	figures_find(g);
	counters_after(r, g);
	evidence_take(r, g, g->study->lines, g->study->n);
	evidence_take(r, g, g->cell->lines, g->cell->n);
	return 0;
}

static json_t *
detail_of(const struct gathered *g, const struct matrix_run *run)
{
	const struct matrix_load *l = &g->load;
	json_t *json = json_pack("{s:i, s:s, s:i, s:i, s:i, s:s, s:f, s:i, s:b, s:s, s:O, s:O, s:O}",
				 "schema", MATRIX_SCHEMA, "cell", run->cell, "block", run->block,
				 "attempt", (int)run->attempt, "order", (int)run->order, "start",
				 run->start, "seconds", run->seconds, "exit", run->code, "valid",
				 run->valid, "reason", run->reason, "also", g->also, "evidence",
				 g->evidence, "counters", g->counted);

	if (json && isfinite(run->figure))
		json_object_set_new(json, "figure", json_real(run->figure));
	if (json && g->facts.load)
		json_object_set_new(json, "load",
			json_pack("{s:f, s:f, s:f, s:f, s:f, s:i, s:f, s:f, s:f, s:f, s:i}",
				  "steal", l->steal, "background", l->background, "user_s",
				  l->user_s, "system_s", l->system_s, "busiest", l->busiest,
				  "busiest_cpu", l->busiest_cpu, "interrupts", l->soft,
				  "own_user_s", g->facts.ended.user_s, "own_system_s",
				  g->facts.ended.system_s, "retransmits", l->retransmits,
				  "irqs_drifted", (int)l->drifted));
	return json;
}

static int
judge_and_store(struct matrix_runner *r, struct gathered *g, struct matrix_run *run)
{
	json_t *detail;

	g->facts.setup = g->setup;
	g->facts.said = g->said;
	g->facts.figure_why = g->why;
	g->facts.failed = g->failed;
	g->facts.load_max = r->design->spec->load_max;
	g->facts.steal_max = r->design->spec->steal_max;
	run->valid = matrix_valid(&g->facts, run->reason);
	run->figure = g->facts.figure;
	run->code = g->facts.ended.code & 255;
	run->seconds = g->facts.ended.seconds;
	detail = detail_of(g, run);
	return detail ? matrix_store_add(r->store, run, detail) : -ENOMEM;
}

/* Sets up, measures and takes down, in the environment that r->env holds now. */
static int
cell_life(struct matrix_runner *r, struct gathered *g, struct matrix_run *run,
	  char why[MATRIX_WHY])
{
	const struct matrix_cell *cell = g->cell;
	int rc, down;

	out_now(run->start);
	g->facts.figure = NAN;
	rc = matrix_commands(r, cell->lines, cell->n, MATRIX_SETUP, true, g->setup);
	if (!rc && !r->signal)
		rc = measure(r, g);
	down = matrix_commands(r, cell->lines, cell->n, MATRIX_TEARDOWN, false, why);
	if (rc < 0 || down < 0)
		return rc < 0 ? rc : down;
	if (r->signal && !down)
		return -EINTR;
	rc = judge_and_store(r, g, run);
	return rc ? rc : down;
}

static int
paths_set(struct matrix_runner *r, struct gathered *g, const struct matrix_run *run)
{
	char id[200], name[240], text[16];
	int rc;

	matrix_run_id(run, id, sizeof(id));
	snprintf(name, sizeof(name), "raw/%s.out", id);
	matrix_store_path(r->store, name, g->out);
	snprintf(name, sizeof(name), "raw/%s.err", id);
	matrix_store_path(r->store, name, g->err);
	snprintf(name, sizeof(name), "raw/%s.json", id);
	matrix_store_path(r->store, name, g->json);
	snprintf(text, sizeof(text), "%d", run->block);
	rc = matrix_env_set(&r->env, "MATRIX_BLOCK", text);
	return rc ? rc : matrix_env_set(&r->env, "MATRIX_OUT", g->json);
}

int
matrix_cell_run(struct matrix_runner *r, const struct matrix_cell *cell, struct matrix_run *run,
		char why[MATRIX_WHY])
{
	struct gathered *g = calloc(1, sizeof(*g));
	struct matrix_env kept = r->env, own;
	int rc = g ? matrix_cell_env(r, cell, &own) : -ENOMEM;

	if (rc) {
		free(g);
		return rc;
	}
	r->env = own;
	g->study = &r->design->spec->sections[0];
	g->cell = cell;
	g->also = json_object();
	g->evidence = json_object();
	g->counted = json_object();
	rc = paths_set(r, g, run);
	rc = rc ? rc : cell_life(r, g, run, why);
	json_decref(g->also);
	json_decref(g->evidence);
	json_decref(g->counted);
	free(g);
	matrix_env_fini(&r->env);
	r->env = kept;
	return rc;
}
