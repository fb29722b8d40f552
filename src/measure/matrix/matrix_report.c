/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report, in the order of a reader who decides: verdict, decision, question, machine,
 * cells, runs, effects, evidence, costs, lessons, threats, repetition.
 */
#include "measure/matrix/matrix_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/matrix/matrix_plot.h"
#include "tool/stats.h"
#include "tool/tool.h"

static const char *
study_text(const struct matrix_data *m, const char *name)
{
	const char *text = json_string_value(json_object_get(m->study, name));

	return text ? text : "";
}

/* Lines of @key of the study, one item each; their number. */
static size_t
items(struct matrix_doc *d, const struct matrix_data *m, enum matrix_key key)
{
	const struct matrix_section *study = &m->spec.sections[0];
	size_t n = 0;

	for (size_t i = 0; i < study->n; i++)
		if (study->lines[i].key == key) {
			matrix_doc_item(d, "%s", study->lines[i].value);
			n++;
		}
	return n;
}

/* ---- verdict --------------------------------------------------------------------- */

void
matrix_report_verdict(const struct matrix_data *m, char *buf, size_t cap)
{
	const struct matrix_analysis *a = &m->analysis;
	const struct matrix_estimate *e;

	if (a->decisive < 0) {
		snprintf(buf, cap, "inconclusive: no primary effect could be measured");
		return;
	}
	e = &a->effects[a->decisive];
	if (e->n < 2)
		snprintf(buf, cap, "inconclusive: %s was measured in %zu blocks; at least %zu are "
			 "needed", m->design.effects[a->decisive].name, e->n, a->least);
	else if (a->verdict == MATRIX_INCONCLUSIVE)
		snprintf(buf, cap, "inconclusive: %s is %.3f (%.3f to %.3f); about %zu blocks are "
			 "needed in all, %zu were measured", m->design.effects[a->decisive].name,
			 e->ratio, e->ci.lo, e->ci.hi, a->needed, e->n);
	else
		snprintf(buf, cap, "%s: %s is %.3f (%.3f to %.3f), margin %.3g %%",
			 matrix_verdict_text(a->verdict), m->design.effects[a->decisive].name,
			 e->ratio, e->ci.lo, e->ci.hi, 100 * m->spec.margin);
}

/* The evidence of A/A cells and negative controls about the others. */
static void
controls(struct matrix_doc *d, const struct matrix_data *m)
{
	for (size_t i = 0; i < m->design.effect_count; i++) {
		const struct matrix_effect *e = &m->design.effects[i];
		const struct matrix_estimate *v = &m->analysis.effects[i];
		bool off = v->ci.lo > 1 || v->ci.hi < 1;

		if (v->n < 2)
			continue;
		if (e->kind == MATRIX_AA)
			matrix_doc_item(d, "A/A %s: %.3f (%.3f to %.3f), %s. %s", e->name, v->ratio,
				v->ci.lo, v->ci.hi, matrix_verdict_text(v->verdict), off ?
				"The same cell twice differs: doubt every effect of this size (one in "
				"twenty such intervals misses 1 by chance)." :
				v->verdict == MATRIX_NO_EFFECT ? "The same cell twice does not differ."
				: "So wide is the noise: it hides what is smaller than this.");
		if (e->kind == MATRIX_NEGATIVE)
			matrix_doc_item(d, "Negative control %s: %.3f (%.3f to %.3f), %s.%s", e->name,
				v->ratio, v->ci.lo, v->ci.hi, matrix_verdict_text(v->verdict),
				v->verdict == MATRIX_NO_EFFECT ? " Even what ought to harm does not: "
				"this factor does not matter here." : "");
	}
}

static void
verdict_section(struct matrix_doc *d, const struct matrix_data *m)
{
	const struct matrix_analysis *a = &m->analysis;
	char text[512];

	matrix_report_verdict(m, text, sizeof(text));
	matrix_doc_section(d, "Verdict");
	matrix_doc_bold(d, "%s", text);
	for (size_t i = 0; i < m->design.effect_count; i++) {
		const struct matrix_estimate *v = &a->effects[i];

		if (m->design.effects[i].kind == MATRIX_PRIMARY && v->n > 1)
			matrix_doc_item(d, "%s: %.3f (%.3f to %.3f), %s.", m->design.effects[i].name,
					v->ratio, v->ci.lo, v->ci.hi, matrix_verdict_text(v->verdict));
	}
	controls(d, m);
}

/* ---- question and machine ----------------------------------------------------------- */

static void
question_section(struct matrix_doc *d, const struct matrix_data *m)
{
	const struct matrix_analysis *a = &m->analysis;
	const json_t *planned = json_object_get(m->study, "planned_blocks");

	matrix_doc_section(d, "Question, fixed beforehand");
	matrix_doc_text(d, "%s", matrix_spec_text(&m->spec, MATRIX_QUESTION, "none was written"));
	matrix_doc_item(d, "Fixed at %s, before the first run: cells, effects, margin %.3g %%, seed "
			"%llu of the order, %d blocks of all cells after %u of warm-up.",
			study_text(m, "created"), 100 * m->spec.margin,
			(unsigned long long)m->spec.seed,
			planned ? (int)json_integer_value(planned) : (int)m->spec.blocks,
			m->spec.warmup);
	if (planned)
		matrix_doc_item(d, "Raised to %u blocks after a look at the first ones: the error "
				"of 5 %% is then a little more than that.", m->spec.blocks);
	matrix_doc_item(d, "Primary figure: %s, in %s; %s is better. All ratios are turned so that "
			"above 1 is better.", matrix_spec_text(&m->spec, MATRIX_METRIC, ""),
			matrix_spec_text(&m->spec, MATRIX_UNIT, "no unit"),
			m->spec.lower ? "lower" : "higher");
	matrix_doc_item(d, "A run counts if the workload succeeds and its data was verified, no IRQ moved "
			"meanwhile, other processes took no more than %.3g %% and the hypervisor no more "
			"than %.3g %% of all CPUs' time%s.", 100 * m->spec.load_max,
			100 * m->spec.steal_max, json_object_get(m->study, "load") ?
			" (the share of others was set on the command line, before the first run)" : "");
	matrix_doc_item(d, "Primary effects: %zu. They share an error of 5 %%: their intervals are of "
			"%.2f %%, and fewer than %zu blocks can show nothing (the exact sign-flip test has no "
			"smaller p).", a->primary, 100 * a->level, a->least);
}

static void
machine_section(struct matrix_doc *d, const struct matrix_data *m)
{
	static const char *const head[] = { "what", "is", NULL };
	static const char *const groups[] = { "machine", "facts" };
	const json_t *value;
	const char *name;

	matrix_doc_section(d, "Machine");
	matrix_doc_table(d, head);
	for (size_t g = 0; g < ARRAY_LEN(groups); g++)
		json_object_foreach(json_object_get(m->study, groups[g]), name, value) {
			matrix_doc_cell(d, "%s", name);
			matrix_doc_cell(d, "%s", json_string_value(value) ?: "");
		}
	matrix_doc_table_end(d);
}

/* ---- effects --------------------------------------------------------------------- */

static void
effect_row(struct matrix_doc *d, const struct matrix_effect *e, const struct matrix_estimate *v)
{
	static const char *const kinds[] = { "primary", "A/A", "control", "exploratory" };

	matrix_doc_cell(d, "%s", e->name);
	matrix_doc_cell(d, "%s%s", kinds[e->kind], e->interaction ? ", interaction" : "");
	matrix_doc_cell(d, "%zu", v->n);
	if (v->n < 2) {
		for (int i = 0; i < 5; i++)
			matrix_doc_cell(d, "-");
		matrix_doc_cell(d, v->terms ? "too few blocks" : "its cells were left out");
		return;
	}
	matrix_doc_cell(d, "%.3f (%.3f to %.3f)", v->ratio, v->ci.lo, v->ci.hi);
	matrix_doc_cell(d, "%.3f", v->hl);
	matrix_doc_cell(d, "%.3g", v->p);
	if (isfinite(v->p_holm))
		matrix_doc_cell(d, "%.3g", v->p_holm);
	else
		matrix_doc_cell(d, "-");
	matrix_doc_cell(d, "%zu", v->needed);
	matrix_doc_cell(d, "%s", matrix_verdict_text(v->verdict));
}

static void
effects_section(struct matrix_doc *d, const struct matrix_data *m)
{
	static const char *const head[] = { "effect", "kind", "blocks", "ratio (interval)",
					    "Hodges-Lehmann", "p, sign-flip", "p, Holm",
					    "blocks for the margin", "verdict", NULL };

	matrix_doc_section(d, "Effects");
	matrix_doc_text(d, "Geometric means of ratios within blocks, with Student's t on the "
			"logarithms; beside it the Hodges-Lehmann estimate and the exact sign-flip "
			"test, %s. Exploratory ones are not corrected and decide nothing.",
			m->spec.blocks <= STATS_FLIP_EXACT ? "of all 2^n signs"
							   : "of 20,000 drawn signs");
	if (matrix_doc_figure(d, "Dots are ratios, lines their intervals; the band is the margin.")) {
		matrix_plot_effects(d->f, &m->design, &m->analysis);
		matrix_doc_figure_end(d);
	}
	matrix_doc_table(d, head);
	for (size_t i = 0; i < m->design.effect_count; i++)
		effect_row(d, &m->design.effects[i], &m->analysis.effects[i]);
	matrix_doc_table_end(d);
}

/* ---- threats, repeating -------------------------------------------------------------- */

static void
threats_section(struct matrix_doc *d, const struct matrix_data *m)
{
	const struct matrix_analysis *a = &m->analysis;
	size_t out = 0;

	matrix_doc_section(d, "Threats, and what would change the verdict");
	items(d, m, MATRIX_THREAT);
	for (size_t c = 0; c < m->design.n; c++)
		out += !m->present[c];
	if (out)
		matrix_doc_item(d, "%zu of %zu cells could not run on this machine and say nothing.",
				out, m->design.n);
	if (m->analysis.needed)
		matrix_doc_item(d, "With about %zu blocks in all every primary effect would be known "
				"to the margin, if the noise stays as it is.", a->needed);
	matrix_doc_item(d, "What an interval within the margin says holds for this workload on this "
			"machine; another bottleneck gives another answer.");
}

static void
repeat_section(struct matrix_doc *d, const struct matrix_data *m)
{
	const json_t *sessions = json_object_get(m->study, "sessions"), *entry;
	char command[1024];
	const json_t *sets = json_object_get(m->study, "sets"), *value;
	const char *name;
	uint64_t hash = 14695981039346656037ull;
	size_t i, at;

	for (const char *c = m->text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
	at = (size_t)snprintf(command, sizeof(command), "tcpx matrix run %.100s --seed %llu --blocks %u",
			      study_text(m, "name"), (unsigned long long)m->spec.seed,
			      m->spec.blocks);
	if (json_object_get(m->study, "load") && at < sizeof(command))
		at += (size_t)snprintf(command + at, sizeof(command) - at, " --load %.4g%%",
				       100 * m->spec.load_max);
	json_object_foreach((json_t *)sets, name, value)
		if (at < sizeof(command))
			at += (size_t)snprintf(command + at, sizeof(command) - at, " --set '%s=%s'",
					       name, json_string_value(value) ?: "");
	matrix_doc_section(d, "Again");
	matrix_doc_code(d, command);
	matrix_doc_text(d, "The spec's text has the hash %016llx (FNV-1a) and lies beside the runs as "
			"study.spec. This report again: tcpx matrix report FOLDER.",
			(unsigned long long)hash);
	json_array_foreach(sessions, i, entry)
		matrix_doc_item(d, "Measured from %s to %s; %s.",
				json_string_value(json_object_get(entry, "start")) ?: "?",
				json_string_value(json_object_get(entry, "end")) ?: "?",
				json_is_true(json_object_get(entry, "restored"))
					? "every tear-down succeeded"
					: "not ended, or a tear-down failed");
}

static void
document(const struct matrix_data *m, FILE *f, bool html)
{
	const struct matrix_section *study = &m->spec.sections[0];
	char above[600] = "";
	struct matrix_doc d;
	size_t at = 0;

	for (size_t i = 0; i < study->n; i++)
		if (study->lines[i].key == MATRIX_LABEL && at < sizeof(above))
			at += (size_t)snprintf(above + at, sizeof(above) - at, "%s%s",
					       at ? " \u00b7 " : "", study->lines[i].value);
	matrix_doc_open(&d, f, html, matrix_spec_text(&m->spec, MATRIX_TITLE, "An experiment"),
			above);
	verdict_section(&d, m);
	matrix_report_decision(&d, m);
	question_section(&d, m);
	machine_section(&d, m);
	matrix_report_cells(&d, m);
	matrix_report_runs(&d, m);
	effects_section(&d, m);
	matrix_report_evidence(&d, m);
	matrix_report_costs(&d, m);
	matrix_report_lessons(&d, m);
	threats_section(&d, m);
	repeat_section(&d, m);
	matrix_doc_close(&d, "Made by tcpx matrix report from results.csv, runs and study.json alone.");
}

int
matrix_report_write(const struct matrix_data *m, const char *path, bool html)
{
	bool to_stdout = !strcmp(path, "-"), failed;
	FILE *f = to_stdout ? stdout : fopen(path, "we");

	if (!f)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "write report %s", path);
	document(m, f, html);
	failed = ferror(f) != 0;
	failed |= (to_stdout ? fflush(f) : fclose(f)) != 0;
	return failed ? tcpx_fail_errno(TCPX_SUB_TOOL, "write report %s", path) : 0;
}

void
matrix_report_print(const struct matrix_data *m, FILE *f)
{
	char text[512];

	fprintf(f, "%-28s %6s %8s  %-18s %8s %6s  %s\n", "effect", "blocks", "ratio", "interval",
		"p, Holm", "needs", "verdict");
	for (size_t i = 0; i < m->design.effect_count; i++) {
		const struct matrix_estimate *v = &m->analysis.effects[i];

		if (v->n < 2) {
			fprintf(f, "%-28s %6zu %8s  %-18s %8s %6s  %s\n", m->design.effects[i].name,
				v->n, "-", "-", "-", "-", v->terms ? "too few blocks"
								   : "its cells were left out");
			continue;
		}
		snprintf(text, sizeof(text), "%.3f .. %.3f", v->ci.lo, v->ci.hi);
		fprintf(f, "%-28s %6zu %8.3f  %-18s %8.3g %6zu  %s\n", m->design.effects[i].name,
			v->n, v->ratio, text, isfinite(v->p_holm) ? v->p_holm : v->p, v->needed,
			matrix_verdict_text(v->verdict));
	}
	matrix_report_verdict(m, text, sizeof(text));
	fprintf(f, "\n%s\noption %c: %s\n", text, m->analysis.letter,
		matrix_letter_text(m->analysis.letter));
}
