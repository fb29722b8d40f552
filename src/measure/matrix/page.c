/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report, as Markdown and as a page: page.md, filled from the study as JSON with what
 * only the report shows. What it says, and in which order, stands in page.md.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/matrix/machine.h"
#include "measure/matrix/report.h"
#include "tool/out_text.h"
#include "tool/template.h"
#include "tool/tool.h"

#define RUNS_SHOWN 200 /* of more, only those that do not count */

/* ---- the spec ---------------------------------------------------------------------- */

/* The values of @key in the study. */
static json_t *
lines_of(const struct matrix_data *m, enum matrix_key key)
{
	const struct matrix_section *study = &m->spec.sections[0];
	json_t *list = json_array();

	for (size_t i = 0; i < study->n; i++)
		if (study->lines[i].key == key)
			json_array_append_new(list, out_json(study->lines[i].value));
	return list;
}

static void
append_members(json_t *list, json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
		json_array_append_new(list, json_pack("{s:s, s:O}", "name", name, "value", value));
}

static void
add_spec(json_t *page, const struct matrix_data *m)
{
	static const enum matrix_key texts[] = { MATRIX_QUESTION, MATRIX_METRIC, MATRIX_UNIT,
						 MATRIX_RUN };
	json_t *facts = json_array(), *sets = json_array();

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		json_object_set_new(page, matrix_key_name(texts[i]),
				    out_json(matrix_spec_text(&m->spec, texts[i], "")));
	append_members(facts, json_object_get(m->study, "machine"));
	append_members(facts, json_object_get(m->study, "facts"));
	append_members(sets, json_object_get(m->study, "sets"));
	template_add(page, json_pack("{s:o, s:o, s:o, s:b, s:f, s:f, s:b, s:o, s:o, s:o}",
				     "title", out_json(matrix_spec_text(&m->spec, MATRIX_TITLE,
									"An experiment")),
				     "label", lines_of(m, MATRIX_LABEL),
				     "threat", lines_of(m, MATRIX_THREAT), "lower", m->spec.lower,
				     "load_max", m->spec.load_max, "steal_max", m->spec.steal_max,
				     "load_set", json_object_get(m->study, "load") != NULL,
				     "facts", facts, "sets", sets,
				     "hash", json_sprintf("%016llx", (unsigned long long)
							  matrix_hash(MATRIX_HASH, m->text))));
}

/* ---- effects and the decision ------------------------------------------------------- */

static void
add_effects(json_t *page, const struct matrix_data *m)
{
	json_t *effects = json_object_get(page, "effects");
	char text[512];

	for (size_t i = 0; i < m->design.effect_count; i++) {
		const struct matrix_estimate *v = &m->analysis.effects[i];

		template_add(json_array_get(effects, i),
		    json_pack("{s:b, s:b, s:b, s:b, s:o?}", "measured", v->n > 1,
			      "interaction", m->design.effects[i].interaction,
			      "terms", v->terms > 0, "off", v->ci.lo > 1 || v->ci.hi < 1,
			      "spread", json_real(expm1(v->sd))));
	}
	matrix_report_verdict(m, text, sizeof(text));
	template_add(page, json_pack("{s:o, s:s, s:i, s:f, s:b}", "sentence", out_json(text),
				     "option_text", matrix_letter_text(m->analysis.letter),
				     "primary", (int)m->analysis.primary, "level", m->analysis.level,
				     "exact", m->spec.blocks <= STATS_FLIP_EXACT));
}

/* The primary effects, those that leave the margin, and how far all of them reach. */
static void
add_ends(json_t *page, const struct matrix_data *m)
{
	json_t *begin = json_array(), *reach = json_array();
	double lo = NAN, hi = NAN, over = 1 + m->spec.margin, under = 1 - m->spec.margin;

	for (size_t i = 0; i < m->design.effect_count; i++) {
		const struct matrix_effect *e = &m->design.effects[i];
		const struct stats_interval *ci = &m->analysis.effects[i].ci;
		json_t *json = json_array_get(json_object_get(page, "effects"), i);

		if (e->kind != MATRIX_PRIMARY || e->interaction ||
		    !m->analysis.effects[i].terms || isnan(ci->lo))
			continue;
		json_array_append(begin, json);
		if (ci->lo < under || ci->hi > over)
			json_array_append(reach, json);
		lo = fmin(lo, ci->lo);
		hi = fmax(hi, ci->hi);
	}
	template_add(page, json_pack("{s:f, s:f, s:o, s:o}", "over", over, "under", under, "begin", begin,
				     "reach", reach));
	if (isfinite(lo) && isfinite(hi))
		template_add(page, json_pack("{s:f, s:f}", "gain", fmax(0, 100 * (hi - 1)),
					     "loss", fmax(0, 100 * (1 - lo))));
}

/* Blocks are lost to invalid runs: more are to be run than must count. */
static void
add_settle(json_t *page, const struct matrix_data *m)
{
	const struct matrix_analysis *a = &m->analysis;
	size_t counted = 0, blocks;

	if (!a->needed || a->letter != '?')
		return;
	for (size_t i = 0; i < m->design.effect_count; i++)
		if (m->design.effects[i].kind == MATRIX_PRIMARY && a->effects[i].needed == a->needed)
			counted = a->effects[i].n;
	blocks = counted ? (a->needed * m->spec.blocks + counted - 1) / counted : a->needed;
	json_object_set_new(page, "settle",
			    json_pack("{s:i, s:i, s:i}", "counted", (int)counted, "blocks",
				      (int)blocks, "most", (int)(blocks < MATRIX_BLOCKS_MAX ? blocks
							    : MATRIX_BLOCKS_MAX)));
}

static void
add_decision(json_t *page, const struct matrix_data *m)
{
	const struct matrix_analysis *a = &m->analysis;

	add_ends(page, m);
	add_settle(page, m);
	template_add(page, json_pack("{s:f, s:o, s:s, s:o?}", "reference", m->spec.reference,
				     "reference_name", out_json(m->reference_name),
				     "best", m->design.cells[a->best].name,
				     "best_median", json_real(a->best_median)));
}

/* ---- cells ------------------------------------------------------------------------- */

static bool
has_line(const struct matrix_cell *cell, const struct matrix_line *line)
{
	for (size_t i = 0; i < cell->n; i++)
		if (cell->lines[i].key == line->key && !strcmp(cell->lines[i].name, line->name) &&
		    !strcmp(cell->lines[i].value, line->value))
			return true;
	return false;
}

/* "env TCPX_CHUNK = 1M", ...: the settings of @cell that @other (or NULL) lacks. */
static json_t *
settings(const struct matrix_cell *cell, const struct matrix_cell *other)
{
	json_t *list = json_array();

	for (size_t i = 0; i < cell->n; i++) {
		const struct matrix_line *line = &cell->lines[i];
		char *text;

		if ((line->key != MATRIX_ENV && line->key != MATRIX_ARGS &&
		     line->key != MATRIX_PREFIX && line->key != MATRIX_SETUP) ||
		    (other && has_line(other, line)) ||
		    asprintf(&text, "%s%s%s = %s", matrix_key_name(line->key),
			     *line->name ? " " : "", line->name, line->value) < 0)
			continue;
		json_array_append_new(list, out_json(text));
		free(text);
	}
	return list;
}

/* Bars of eight heights, from 0 to the highest figure of all. */
static json_t *
sparkline(const struct matrix_data *m, size_t cell)
{
	static const char *const bars[] = { "\u2581", "\u2582", "\u2583", "\u2584",
					    "\u2585", "\u2586", "\u2587", "\u2588" };
	char text[3 * MATRIX_BLOCKS_MAX + 1], *at = text;
	double highest = 0;

	for (size_t i = 0; i < m->spec.blocks * m->design.n; i++)
		highest = isfinite(m->figures[i]) ? fmax(highest, m->figures[i]) : highest;
	for (size_t b = 0; b < m->spec.blocks; b++) {
		double v = m->figures[b * m->design.n + cell];
		int height = isfinite(v) ? (int)fmin(7, 8 * v / highest) : -1;

		at = stpcpy(at, height < 0 ? "x" : bars[height]);
	}
	*at = '\0';
	return json_string(text);
}

/* The median of a number over @cell's runs that count. */
static json_t *
median_of(const struct matrix_data *m, size_t cell, const char *group, const char *name)
{
	double *v = calloc(m->store.n + 1, sizeof(*v)), median;
	size_t n = 0;

	for (size_t i = 0; v && i < m->store.n; i++) {
		double x = matrix_data_number(m, i, group, name);

		if (isfinite(x) && matrix_data_cell(m, i) == (int)cell)
			v[n++] = x;
	}
	median = stats_median(v, n);
	free(v);
	return isfinite(median) ? json_real(median) : json_null();
}

/* Medians of what the study measures beside its figure; @names: theirs. */
static json_t *
also_of(const struct matrix_data *m, size_t cell, json_t *names)
{
	const struct matrix_section *study = &m->spec.sections[0];
	json_t *list = json_array();

	for (size_t i = 0; i < study->n; i++) {
		const struct matrix_line *line = &study->lines[i];

		if (line->key != MATRIX_ALSO && line->key != MATRIX_COUNTER)
			continue;
		json_array_append_new(list, median_of(m, cell, line->key == MATRIX_ALSO
						      ? "also" : "counters", line->name));
		if (!cell)
			json_array_append_new(names, out_json(line->name));
	}
	return list;
}

static void
add_cells(json_t *page, const struct matrix_data *m)
{
	static const char *const loads[] = { "busiest", "interrupts", "user_s", "system_s",
					     "retransmits" };
	const struct matrix_cell *cells = m->design.cells, *base = &cells[m->design.baseline];
	json_t *list = json_object_get(page, "cells"), *extra = json_array(), *baseline;
	int left_out = 0;

	for (size_t c = 0; c < m->design.n; c++) {
		const json_t *study = json_array_get(json_object_get(m->study, "cells"), c);
		json_t *cell = json_array_get(list, c), *why = json_object_get(study, "why");

		left_out += !m->present[c];
		template_add(cell, json_pack("{s:o, s:s, s:b, s:o, s:O?, s:o, s:o}",
					     "about", out_json(cells[c].about),
					     "same", cells[c].same >= 0 ? cells[cells[c].same].name : "",
					     "negative", cells[c].negative,
					     "differs", settings(&cells[c], base), "why", why,
					     "spark", sparkline(m, c), "also", also_of(m, c, extra)));
		for (size_t i = 0; i < ARRAY_LEN(loads); i++)
			json_object_set_new(cell, loads[i], median_of(m, c, "load", loads[i]));
	}
	baseline = json_array_get(list, m->design.baseline);
	json_object_set_new(baseline, "sets", settings(base, NULL));
	template_add(page, json_pack("{s:O, s:o, s:i}", "baseline", baseline, "extra", extra,
				     "left_out", left_out));
}

/* ---- runs -------------------------------------------------------------------------- */

static json_t *
run_json(const struct matrix_data *m, size_t i)
{
	const struct matrix_run *run = &m->store.runs[i];
	const char *counts = !run->valid ? "no" : run->block <= 0 ? "no, warm-up"
			     : matrix_data_counts(m, run) ? "yes" : "no, its block was interrupted";

	return json_pack("{s:i, s:b, s:i, s:o, s:o, s:s, s:o, s:o?, s:o?, s:o?}",
			 "block", run->block > 0 ? run->block : 0,
			 "again", run->block > 0 && run->attempt > 1, "order", (int)run->order,
			 "cell", out_json(run->cell), "start", out_json(run->start),
			 "counts", counts, "reason", out_json(run->valid ? "" : run->reason),
			 "figure", json_real(run->figure),
			 "load", json_real(matrix_data_number(m, i, "load", "background")),
			 "steal", json_real(matrix_data_number(m, i, "load", "steal")));
}

static void
add_runs(json_t *page, const struct matrix_data *m)
{
	bool all = m->store.n <= RUNS_SHOWN;
	int invalid = 0, drifted = 0;
	json_t *shown = json_array();

	for (size_t i = 0; i < m->store.n; i++) {
		const struct matrix_run *run = &m->store.runs[i];

		invalid += !run->valid;
		drifted += matrix_data_number(m, i, "load", "irqs_drifted") > 0;
		if (all || !run->valid || !matrix_data_counts(m, run))
			json_array_append_new(shown, run_json(m, i));
	}
	template_add(page, json_pack("{s:b, s:i, s:i, s:i, s:o}", "all_shown", all,
				     "stored", (int)m->store.n, "invalid", invalid, "drifted", drifted,
				     "shown", shown));
}

/* The different texts of evidence @name in @cell's runs that count, four at most. */
static json_t *
evidence_json(const struct matrix_data *m, size_t cell, const char *name)
{
	json_t *seen = json_array(), *other;
	int times = 0;
	size_t k;

	for (size_t i = 0; i < m->store.n; i++) {
		json_t *text = json_object_get(json_object_get(m->details[i], "evidence"), name);
		bool known = json_array_size(seen) == 4;

		if (!json_is_string(text) || !matrix_data_counts(m, &m->store.runs[i]) ||
		    strcmp(m->store.runs[i].cell, m->design.cells[cell].name))
			continue;
		times++;
		json_array_foreach(seen, k, other)
			known |= json_equal(other, text);
		if (!known)
			json_array_append(seen, text);
	}
	return json_pack("{s:s, s:s, s:o, s:i}", "cell", m->design.cells[cell].name, "name", name,
			 "seen", seen, "times", times);
}

static void
add_evidence(json_t *page, const struct matrix_data *m)
{
	json_t *list = json_array(), *value;
	const char *name;

	for (size_t c = 0; c < m->design.n; c++) {
		json_t *sample = NULL;

		for (size_t i = 0; i < m->store.n && !sample; i++)
			if (!strcmp(m->store.runs[i].cell, m->design.cells[c].name))
				sample = json_object_get(m->details[i], "evidence");
		json_object_foreach(sample, name, value)
			json_array_append_new(list, evidence_json(m, c, name));
	}
	json_object_set_new(page, "evidence", list);
}

/* ---- lessons ----------------------------------------------------------------------- */

/* Reasons are alike up to their first number: "the hypervisor took". */
static void
add_lost(json_t *page, const struct matrix_data *m)
{
	json_t *reasons = json_array(), *reason;
	int lost = 0, begun = 0;
	size_t k;

	for (size_t i = 0; i < m->store.n; i++) {
		const struct matrix_run *run = &m->store.runs[i];
		char text[MATRIX_WHY];
		size_t len = strcspn(run->reason, "0123456789:");
		json_t *stem;
		bool known = false;

		begun += run->block > 0;
		if (run->block <= 0 || run->valid)
			continue;
		lost++;
		while (len && run->reason[len - 1] == ' ')
			len--;
		snprintf(text, sizeof(text), "%.*s", (int)len, run->reason);
		stem = out_json(text);
		json_array_foreach(reasons, k, reason) {
			json_t *n = json_object_get(reason, "n");

			if (!json_equal(json_object_get(reason, "stem"), stem))
				continue;
			json_integer_set(n, json_integer_value(n) + 1);
			known = true;
		}
		if (!known)
			json_array_append_new(reasons, json_pack("{s:O, s:i}", "stem", stem, "n", 1));
		json_decref(stem);
	}
	template_add(page, json_pack("{s:i, s:i, s:o}", "lost", lost, "begun", begun, "reasons", reasons));
}

/* Items of lessons.md, a line each: what people learned, written after the runs. */
static json_t *
lessons(const struct matrix_data *m)
{
	char path[MATRIX_PATH], *line = NULL;
	json_t *list = json_array();
	size_t cap = 0;
	FILE *f;

	matrix_store_path(&m->store, "lessons.md", path);
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "- ", 2))
			json_array_append_new(list, out_json(line + 2));
	}
	free(line);
	if (f)
		fclose(f);
	return list;
}

/* The analysis and the runs that count, from which the page's script draws. */
static void
add_records(json_t *page, const struct matrix_data *m)
{
	json_t *record = json_copy(page), *counted = json_array();
	char *text;

	for (size_t i = 0; i < m->store.n; i++) {
		const struct matrix_run *run = &m->store.runs[i];
		int cell = matrix_data_cell(m, i);

		if (cell >= 0)
			json_array_append_new(counted, json_pack("{s:i, s:i, s:o?}", "cell", cell,
					      "block", run->block, "figure", json_real(run->figure)));
	}
	json_object_set_new(record, "counted", counted);
	text = tool_need(json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(12)));
	template_add(page, json_pack("{s:[{s:i, s:s}]}", "records", "index", 0, "json", text));
	free(text);
	json_decref(record);
}

int
matrix_report_write(const struct matrix_data *m, const char *path, bool html)
{
	const struct template template = { html ? matrix_html : matrix_md, !html };
	json_t *page = matrix_data_json(m);
	int rc;

	add_records(page, m);
	add_spec(page, m);
	add_effects(page, m);
	add_decision(page, m);
	add_cells(page, m);
	add_runs(page, m);
	add_evidence(page, m);
	add_lost(page, m);
	json_object_set_new(page, "lessons", lessons(m));
	rc = template_write(&template, page, path);
	json_decref(page);
	return rc;
}
