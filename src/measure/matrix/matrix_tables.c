/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the report of `tcpx matrix`: the settings of each cell, every run, the evidence that
 * a cell was what it claims, and its costs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/matrix/matrix_plot.h"
#include "measure/matrix/matrix_report.h"
#include "tool/stats.h"
#include "tool/tool.h"

#define RUNS_SHOWN 200 /* of more, only those that do not count */

/* ---- cells ----------------------------------------------------------------------- */

static bool
sets_something(enum matrix_key key)
{
	return key == MATRIX_ENV || key == MATRIX_ARGS || key == MATRIX_PREFIX ||
	       key == MATRIX_SETUP;
}

static bool
has_line(const struct matrix_cell *cell, const struct matrix_line *line)
{
	for (size_t i = 0; i < cell->n; i++)
		if (cell->lines[i].key == line->key && !strcmp(cell->lines[i].name, line->name) &&
		    !strcmp(cell->lines[i].value, line->value))
			return true;
	return false;
}

/* "env TCPX_CHUNK = 1M; setup = ...": the settings of @cell that @other (or NULL) lacks. */
static void
settings_text(const struct matrix_cell *cell, const struct matrix_cell *other, char *buf, size_t cap)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < cell->n; i++) {
		const struct matrix_line *line = &cell->lines[i];
		int len;

		if (!sets_something(line->key) || (other && has_line(other, line)))
			continue;
		len = snprintf(buf + at, cap - at, "%s%s%s%s = %s", at ? "; " : "",
			       matrix_key_name(line->key), *line->name ? " " : "", line->name,
			       line->value);
		at += (size_t)len;
		if (at >= cap)
			return;
	}
	if (!at)
		snprintf(buf, cap, "-");
}

static const char *
why_not(const struct matrix_data *m, size_t c)
{
	const json_t *cell = json_array_get(json_object_get(m->study, "cells"), c);
	const char *why = json_string_value(json_object_get(cell, "why"));

	return why ? why : "";
}

void
matrix_report_cells(struct matrix_doc *d, const struct matrix_data *m)
{
	static const char *const head[] = { "cell", "what it is", "sets, other than the baseline",
					    "here", NULL };
	const struct matrix_design *design = &m->design;
	char text[1024];

	matrix_doc_section(d, "Cells");
	matrix_doc_text(d, "The workload:");
	matrix_doc_code(d, matrix_spec_text(&m->spec, MATRIX_RUN, ""));
	matrix_doc_text(d, "The baseline is %s. It sets:", design->cells[design->baseline].name);
	settings_text(&design->cells[design->baseline], NULL, text, sizeof(text));
	matrix_doc_code(d, text);
	matrix_doc_table(d, head);
	for (size_t c = 0; c < design->n; c++) {
		const struct matrix_cell *cell = &design->cells[c];

		matrix_doc_cell(d, "%s", cell->name);
		if (cell->same >= 0)
			matrix_doc_cell(d, "%s again, to see the noise (A/A). %s",
					design->cells[cell->same].name, cell->about);
		else
			matrix_doc_cell(d, "%s%s", cell->about,
					cell->negative ? " (negative control)" : "");
		settings_text(cell, &design->cells[design->baseline], text, sizeof(text));
		matrix_doc_cell(d, "%s", text);
		if (m->present[c])
			matrix_doc_cell(d, "measured");
		else
			matrix_doc_cell(d, "left out: %s", why_not(m, c));
	}
	matrix_doc_table_end(d);
}

/* ---- runs ------------------------------------------------------------------------ */

/* Bars of eight heights, from 0 to the highest. */
static void
sparkline(const double *v, size_t n, double highest, char *buf, size_t cap)
{
	static const char *const bars[] = { "\u2581", "\u2582", "\u2583", "\u2584",
					    "\u2585", "\u2586", "\u2587", "\u2588" };
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && at + 4 < cap; i++) {
		int height = isfinite(v[i]) ? (int)fmin(7, 8 * v[i] / highest) : -1;

		at += (size_t)snprintf(buf + at, cap - at, "%s", height < 0 ? "x" : bars[height]);
	}
}

static void
medians_table(struct matrix_doc *d, const struct matrix_data *m)
{
	static const char *const head[] = { "cell", "valid runs", "median", "min", "max",
					    "block by block", NULL };
	double *column = calloc(m->spec.blocks + 1, sizeof(*column)), highest = 0;
	char text[2048];

	for (size_t i = 0; i < m->spec.blocks * m->design.n; i++)
		highest = isfinite(m->figures[i]) ? fmax(highest, m->figures[i]) : highest;
	matrix_doc_table(d, head);
	for (size_t c = 0; column && c < m->design.n; c++) {
		size_t n = matrix_data_column(m, c, column);

		if (!m->present[c])
			continue;
		matrix_doc_cell(d, "%s", m->design.cells[c].name);
		matrix_doc_cell(d, "%zu of %u", n, m->spec.blocks);
		matrix_doc_cell(d, "%.6g", stats_median(column, n));
		matrix_doc_cell(d, "%.6g", n ? stats_percentile(column, n, 0) : NAN);
		matrix_doc_cell(d, "%.6g", n ? stats_percentile(column, n, 1) : NAN);
		for (size_t b = 0; b < m->spec.blocks; b++)
			column[b] = m->figures[b * m->design.n + c];
		sparkline(column, m->spec.blocks, highest, text, sizeof(text));
		matrix_doc_cell(d, "%s", text);
	}
	matrix_doc_table_end(d);
	free(column);
}

/* A heat map of each run divided by the median of its block: cell effect and noise remain. */
static void
heat_of_runs(struct matrix_doc *d, const struct matrix_data *m)
{
	size_t n = m->design.n, blocks = m->spec.blocks;
	const char **rows = calloc(n, sizeof(*rows)), **columns = calloc(blocks, sizeof(*columns));
	double *values = calloc(n * blocks, sizeof(*values)), *line = calloc(n, sizeof(*line));
	char (*numbers)[24] = calloc(blocks, sizeof(*numbers));

	for (size_t b = 0; rows && columns && values && line && numbers && b < blocks; b++) {
		size_t k = 0;
		double median;

		for (size_t c = 0; c < n; c++)
			if (isfinite(m->figures[b * n + c]))
				line[k++] = m->figures[b * n + c];
		median = stats_median(line, k);
		for (size_t c = 0; c < n; c++) {
			values[c * blocks + b] = m->figures[b * n + c] / median;
			rows[c] = m->design.cells[c].name;
		}
		snprintf(numbers[b], sizeof(numbers[b]), "%zu", b + 1);
		columns[b] = numbers[b];
		if (b + 1 == blocks)
			matrix_plot_heat(d->f, "Each run over its block's median", rows, n, columns,
					 blocks, values, 2);
	}
	free((void *)rows);
	free((void *)columns);
	free(values);
	free(line);
	free(numbers);
}

/* A heat map of the medians, for studies of two factors. */
static void
heat_of_factors(struct matrix_doc *d, const struct matrix_data *m)
{
	const struct matrix_factor *f = m->design.factors;
	const char *rows[MATRIX_LEVELS_MAX], *columns[MATRIX_LEVELS_MAX];
	double values[MATRIX_CELLS_MAX];
	double *column = calloc(m->spec.blocks + 1, sizeof(*column));

	for (size_t i = 0; i < f[0].n; i++)
		rows[i] = f[0].levels[i];
	for (size_t i = 0; i < f[1].n; i++)
		columns[i] = f[1].levels[i];
	for (size_t c = 0; column && c < m->design.n; c++) {
		size_t n = matrix_data_column(m, c, column);

		values[(size_t)m->design.cells[c].level[0] * f[1].n +
		       (size_t)m->design.cells[c].level[1]] = stats_median(column, n);
	}
	if (column)
		matrix_plot_heat(d->f, "Medians over two factors", rows, f[0].n, columns, f[1].n,
				 values, 2);
	free(column);
}

static void
pictures(struct matrix_doc *d, const struct matrix_data *m)
{
	unsigned char *cells = calloc(m->store.n + 1, 1);
	double *values = calloc(m->store.n + 1, sizeof(*values));
	size_t n = 0;

	for (size_t i = 0; cells && values && i < m->store.n; i++) {
		const struct matrix_run *run = &m->store.runs[i];
		int cell = matrix_design_cell(&m->design, run->cell);

		if (cell < 0 || !run->valid || !matrix_data_counts(m, run))
			continue;
		cells[n] = (unsigned char)cell;
		values[n++] = run->figure;
	}
	if (n && matrix_doc_figure(d, "Every valid run in the order of time.")) {
		matrix_plot_points(d->f, &m->design, values, cells, n);
		matrix_doc_figure_end(d);
	}
	free(cells);
	free(values);
	if (m->design.product && m->design.factor_count == 2 &&
	    matrix_doc_figure(d, "Medians; darker is more.")) {
		heat_of_factors(d, m);
		matrix_doc_figure_end(d);
	}
	if (matrix_doc_figure(d, "Each run over the median of its block; darker is more.")) {
		heat_of_runs(d, m);
		matrix_doc_figure_end(d);
	}
}

void
matrix_report_runs(struct matrix_doc *d, const struct matrix_data *m)
{
	static const char *const head[] = { "block", "order", "cell", "start", "figure", "others' load",
					    "steal", "counts", NULL };
	size_t invalid = 0;
	bool all = m->store.n <= RUNS_SHOWN;

	matrix_doc_section(d, "Runs");
	medians_table(d, m);
	pictures(d, m);
	for (size_t i = 0; i < m->store.n; i++)
		invalid += !m->store.runs[i].valid;
	matrix_doc_text(d, "%s %zu runs in the order of time%s; %zu of them are invalid. Others' load is "
			"the user time of all other processes, steal the time that the hypervisor "
			"took, both as shares of all CPUs.", all ? "All" : "Of the", m->store.n,
			all ? "" : ", those that do not count: the others are in results.csv", invalid);
	matrix_doc_table(d, head);
	for (size_t i = 0; i < m->store.n; i++) {
		const struct matrix_run *run = &m->store.runs[i];

		if (!all && run->valid && matrix_data_counts(m, run))
			continue;
		if (run->block > 0)
			matrix_doc_cell(d, "%d%s", run->block, run->attempt > 1 ? ", again" : "");
		else
			matrix_doc_cell(d, "warm-up");
		matrix_doc_cell(d, "%u", run->order);
		matrix_doc_cell(d, "%s", run->cell);
		matrix_doc_cell(d, "%s", run->start);
		if (isfinite(run->figure))
			matrix_doc_cell(d, "%.6g", run->figure);
		else
			matrix_doc_cell(d, "-");
		matrix_doc_cell(d, "%.1f %%", 100 * matrix_data_number(m, i, "load", "background"));
		matrix_doc_cell(d, "%.1f %%", 100 * matrix_data_number(m, i, "load", "steal"));
		if (!run->valid)
			matrix_doc_cell(d, "no: %s", run->reason);
		else if (run->block <= 0)
			matrix_doc_cell(d, "no, warm-up");
		else
			matrix_doc_cell(d, "%s", matrix_data_counts(m, run)
							 ? "yes" : "no, its block was interrupted");
	}
	matrix_doc_table_end(d);
}

/* ---- evidence and costs ------------------------------------------------------------ */

/* The different texts of evidence @name in @cell's runs that count, most often one. */
static void
texts_of(const struct matrix_data *m, size_t cell, const char *name, char *buf, size_t cap)
{
	const char *seen[4];
	size_t n = 0, at = 0, runs = 0;

	for (size_t i = 0; i < m->store.n; i++) {
		const json_t *evidence = json_object_get(m->details[i], "evidence");
		const char *text = json_string_value(json_object_get(evidence, name));
		bool known = false;

		if (!text || !matrix_data_counts(m, &m->store.runs[i]) ||
		    strcmp(m->store.runs[i].cell, m->design.cells[cell].name))
			continue;
		runs++;
		for (size_t k = 0; k < n; k++)
			known |= !strcmp(seen[k], text);
		if (!known && n < ARRAY_LEN(seen))
			seen[n++] = text;
	}
	buf[0] = '\0';
	for (size_t k = 0; k < n && at < cap; k++)
		at += (size_t)snprintf(buf + at, cap - at, "%s%s", k ? " / " : "",
				       *seen[k] ? seen[k] : "nothing told");
	if (n && at < cap)
		snprintf(buf + at, cap - at, " (%zu runs)", runs);
}

void
matrix_report_evidence(struct matrix_doc *d, const struct matrix_data *m)
{
	static const char *const head[] = { "cell", "evidence", "seen", NULL };
	const json_t *value;
	const char *name;
	char text[1400];
	size_t drifted = 0;

	matrix_doc_section(d, "Evidence that each cell was what it claims");
	for (size_t i = 0; i < m->store.n; i++)
		drifted += matrix_data_number(m, i, "load", "irqs_drifted") > 0;
	matrix_doc_text(d, "The affinity of every IRQ of the machine was compared before and after each "
			"run: it changed during %zu of them.", drifted);
	matrix_doc_table(d, head);
	for (size_t c = 0; c < m->design.n; c++) {
		const json_t *sample = NULL;

		for (size_t i = 0; i < m->store.n && !sample; i++)
			if (!strcmp(m->store.runs[i].cell, m->design.cells[c].name))
				sample = json_object_get(m->details[i], "evidence");
		json_object_foreach((json_t *)sample, name, value) {
			texts_of(m, c, name, text, sizeof(text));
			matrix_doc_cell(d, "%s", m->design.cells[c].name);
			matrix_doc_cell(d, "%s", name);
			matrix_doc_cell(d, "%s", text);
		}
	}
	matrix_doc_table_end(d);
}

/* The median of a number over @cell's runs that count. */
static double
median_of(const struct matrix_data *m, size_t cell, const char *group, const char *name)
{
	double *v = calloc(m->store.n + 1, sizeof(*v)), median;
	size_t n = 0;

	for (size_t i = 0; v && i < m->store.n; i++) {
		double x = matrix_data_number(m, i, group, name);

		if (isfinite(x) && m->store.runs[i].valid && matrix_data_counts(m, &m->store.runs[i]) &&
		    !strcmp(m->store.runs[i].cell, m->design.cells[cell].name))
			v[n++] = x;
	}
	median = stats_median(v, n);
	free(v);
	return median;
}

static void
cost_cell(struct matrix_doc *d, double v, double unit, const char *text)
{
	if (isfinite(v))
		matrix_doc_cell(d, "%.4g%s", v * unit, text);
	else
		matrix_doc_cell(d, "-");
}

void
matrix_report_costs(struct matrix_doc *d, const struct matrix_data *m)
{
	const struct matrix_section *study = &m->spec.sections[0];
	const char *head[24] = { "cell", "busiest CPU", "in interrupts", "user s", "system s",
				 "retransmits" };
	size_t n = 6;

	for (size_t i = 0; i < study->n && n + 1 < ARRAY_LEN(head); i++)
		if (study->lines[i].key == MATRIX_ALSO || study->lines[i].key == MATRIX_COUNTER)
			head[n++] = study->lines[i].name;
	matrix_doc_section(d, "Costs to the system");
	matrix_doc_text(d, "Medians of each cell's valid runs, of the whole machine while the workload "
			"ran, others' load included. Time in interrupts is sampled by the timer tick.");
	matrix_doc_table(d, head);
	for (size_t c = 0; c < m->design.n; c++) {
		size_t k = 6;

		if (!m->present[c])
			continue;
		matrix_doc_cell(d, "%s", m->design.cells[c].name);
		cost_cell(d, median_of(m, c, "load", "busiest"), 100, " %");
		cost_cell(d, median_of(m, c, "load", "interrupts"), 100, " %");
		cost_cell(d, median_of(m, c, "load", "user_s"), 1, "");
		cost_cell(d, median_of(m, c, "load", "system_s"), 1, "");
		cost_cell(d, median_of(m, c, "load", "retransmits"), 1, "");
		for (size_t i = 0; i < study->n && k < n; i++) {
			if (study->lines[i].key != MATRIX_ALSO && study->lines[i].key != MATRIX_COUNTER)
				continue;
			cost_cell(d, median_of(m, c, study->lines[i].key == MATRIX_ALSO ? "also"
											: "counters",
					       study->lines[i].name), 1, "");
			k++;
		}
	}
	matrix_doc_table_end(d);
}
