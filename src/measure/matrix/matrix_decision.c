/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the study decides: each option, what it asks for and what it lacks here; the gap to a
 * reference; what would settle it; and what the study taught.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/matrix/matrix_plot.h"
#include "measure/matrix/matrix_report.h"
#include "tool/tool.h"

/* Ends of the intervals of the primary effects, "binding begins at 0.956, napi at 0.942". */
struct ends {
	char begin[600], reach[600]; /* their lower ends; those that leave the margin */
	double lo, hi;               /* of all of them; NAN: none was measured        */
};

static bool
decides(const struct matrix_data *m, size_t i)
{
	return m->design.effects[i].kind == MATRIX_PRIMARY && !m->design.effects[i].interaction &&
	       m->analysis.effects[i].terms;
}

static void
add(char *buf, size_t cap, const char *name, double lo, double hi)
{
	size_t at = strlen(buf);

	if (isnan(hi))
		snprintf(buf + at, cap - at, "%s%s begins at %.3f", at ? ", " : "", name, lo);
	else
		snprintf(buf + at, cap - at, "%s%s is %.3f to %.3f", at ? ", " : "", name, lo, hi);
}

static void
ends_of(const struct matrix_data *m, struct ends *e)
{
	const struct matrix_analysis *a = &m->analysis;

	*e = (struct ends){ .lo = NAN, .hi = NAN };
	for (size_t i = 0; i < m->design.effect_count; i++) {
		const struct stats_interval *ci = &a->effects[i].ci;

		if (!decides(m, i) || isnan(ci->lo))
			continue;
		add(e->begin, sizeof(e->begin), m->design.effects[i].name, ci->lo, NAN);
		if (ci->lo < 1 - m->spec.margin || ci->hi > 1 + m->spec.margin)
			add(e->reach, sizeof(e->reach), m->design.effects[i].name, ci->lo, ci->hi);
		e->lo = isnan(e->lo) ? ci->lo : fmin(e->lo, ci->lo);
		e->hi = isnan(e->hi) ? ci->hi : fmax(e->hi, ci->hi);
	}
}

/* "yes", or what is missing. */
static void
option_row(struct matrix_doc *d, char letter, char chosen, const char *wants, const char *lacks)
{
	matrix_doc_cell(d, "%c", letter);
	matrix_doc_cell(d, "%s", wants);
	matrix_doc_cell(d, "%s%s", letter == chosen ? "yes" : "",
			letter == chosen ? "" : *lacks ? lacks : "too few blocks");
}

static void
options_table(struct matrix_doc *d, const struct matrix_data *m, const struct ends *e)
{
	static const char *const head[] = { "option", "asks for", "lacks here", NULL };
	const struct matrix_analysis *a = &m->analysis;
	double over = 1 + m->spec.margin, under = 1 - m->spec.margin;
	char wants[200], lacks[800];

	matrix_doc_table(d, head);
	snprintf(wants, sizeof(wants), "an effect whose interval lies above %.3g, and less than 20 %% "
		 "missing to the reference", over);
	snprintf(lacks, sizeof(lacks), "%s%s%s", e->begin, *e->begin ? "; " : "",
		 isnan(a->gap) ? "no reference was given" : "see the gap below");
	option_row(d, 'A', a->letter, wants, lacks);
	snprintf(wants, sizeof(wants), "every interval within %.3g to %.3g", under, over);
	option_row(d, 'B', a->letter, wants, e->reach);
	option_row(d, 'C', a->letter, "an effect whose interval lies above 1, and not A", e->begin);
	matrix_doc_table_end(d);
}

/* Blocks are lost to invalid runs: more are to be run than must count. */
static void
what_would_settle(struct matrix_doc *d, const struct matrix_data *m, const struct ends *e)
{
	const struct matrix_analysis *a = &m->analysis;
	size_t counted = 0, blocks;
	char command[300];
	const char *name = json_string_value(json_object_get(m->study, "name"));

	if (isfinite(e->lo) && isfinite(e->hi))
		matrix_doc_item(d, "As it stands: no primary effect is a gain above %.1f %% or a loss "
				"above %.1f %%, at the confidence of the intervals.",
				fmax(0, 100 * (e->hi - 1)), fmax(0, 100 * (1 - e->lo)));
	if (!a->needed || a->letter != '?')
		return;
	for (size_t i = 0; i < m->design.effect_count; i++)
		if (m->design.effects[i].kind == MATRIX_PRIMARY && a->effects[i].needed == a->needed)
			counted = a->effects[i].n;
	blocks = counted ? (a->needed * m->spec.blocks + counted - 1) / counted : a->needed;
	matrix_doc_text(d, "What would settle it: about %zu blocks that count. Of %u run %zu counted, so "
			"%zu are to be run, that number fixed before the first run:", a->needed,
			m->spec.blocks, counted, blocks);
	snprintf(command, sizeof(command), "tcpx matrix run %s --blocks %zu", name ? name : "SPEC",
		 blocks < MATRIX_BLOCKS_MAX ? blocks : MATRIX_BLOCKS_MAX);
	matrix_doc_code(d, command);
}

static void
gap(struct matrix_doc *d, const struct matrix_data *m)
{
	const struct matrix_analysis *a = &m->analysis;
	const char *unit = matrix_spec_text(&m->spec, MATRIX_UNIT, "");

	if (isfinite(a->gap)) {
		matrix_doc_text(d, "To the reference of %.6g %s (%s) %.1f %% are missing in the best "
				"cell, %s, with a median of %.6g.", m->spec.reference, unit,
				m->reference_name, 100 * a->gap, m->design.cells[a->best].name,
				a->best_median);
	} else if (isfinite(a->best_median)) {
		matrix_doc_text(d, "No reference was given. The best median is that of %s: %.6g %s. A "
				"figure of NCCL between the same hosts, of the same size, makes a gap "
				"of it, such as:", m->design.cells[a->best].name, a->best_median, unit);
		matrix_doc_code(d, "run_nccl_test_tcpx.sh nccl 2 8 2 1\n"
				   "tcpx matrix report FOLDER --reference NCCL=FIGURE");
	}
}

void
matrix_report_decision(struct matrix_doc *d, const struct matrix_data *m)
{
	struct ends e;

	ends_of(m, &e);
	matrix_doc_section(d, "Decision");
	matrix_doc_bold(d, "Option %c: %s.", m->analysis.letter,
			matrix_letter_text(m->analysis.letter));
	options_table(d, m, &e);
	what_would_settle(d, m, &e);
	gap(d, m);
}

/* ---- lessons ---------------------------------------------------------------------- */

/* Reasons are alike up to their first number: "the hypervisor took". */
static size_t
stem(const char *reason)
{
	size_t len = strcspn(reason, "0123456789:");

	while (len && reason[len - 1] == ' ')
		len--;
	return len;
}

static bool
is_lost(const struct matrix_run *run)
{
	return run->block > 0 && !run->valid;
}

static void
lost_runs(struct matrix_doc *d, const struct matrix_data *m)
{
	const struct matrix_run *runs = m->store.runs;
	size_t lost = 0, all = 0;
	char text[600] = "";

	for (size_t i = 0; i < m->store.n; i++) {
		size_t len = stem(runs[i].reason), same = 0, at = strlen(text);

		all += runs[i].block > 0;
		if (!is_lost(&runs[i]))
			continue;
		lost++;
		for (size_t k = 0; k < m->store.n; k++) {
			if (!is_lost(&runs[k]) || stem(runs[k].reason) != len ||
			    strncmp(runs[k].reason, runs[i].reason, len))
				continue;
			if (k < i)
				break; /* it has been counted */
			same++;
		}
		if (same && at < sizeof(text))
			snprintf(text + at, sizeof(text) - at, "%s%zu by \"%.*s ...\"", at ? ", " : "", same,
				 (int)len, runs[i].reason);
	}
	if (lost)
		matrix_doc_item(d, "%zu of %zu runs do not count: %s. A block counts for an effect if all "
				"of its runs do.", lost, all, text);
	else
		matrix_doc_item(d, "All %zu runs count.", all);
}

static void
noise(struct matrix_doc *d, const struct matrix_data *m)
{
	for (size_t i = 0; i < m->design.effect_count; i++) {
		const struct matrix_estimate *v = &m->analysis.effects[i];

		if (m->design.effects[i].kind == MATRIX_AA && v->n > 1)
			matrix_doc_item(d, "The same cell twice (%s) varies by %.1f %% from block to block; "
					"over %zu blocks that leaves an interval of %.3f to %.3f. Smaller "
					"effects cannot be seen in so many.", m->design.effects[i].name,
					100 * expm1(v->sd), v->n, v->ci.lo, v->ci.hi);
	}
}

/* Items of lessons.md, a line each: what people learned, written after the runs. */
static void
written(struct matrix_doc *d, const struct matrix_data *m)
{
	char path[MATRIX_PATH], *line = NULL;
	size_t cap = 0;
	FILE *f;

	matrix_store_path(&m->store, "lessons.md", path);
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "- ", 2))
			matrix_doc_item(d, "%s", line + 2);
	}
	free(line);
	if (f)
		fclose(f);
}

void
matrix_report_lessons(struct matrix_doc *d, const struct matrix_data *m)
{
	matrix_doc_section(d, "Lessons");
	lost_runs(d, m);
	noise(d, m);
	written(d, m);
}
