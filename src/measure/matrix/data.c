/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the folder, puts figures into their places and has them analysed. */
#include "measure/matrix/data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "measure/matrix/key.h"
#include "tool/stats.h"

bool
matrix_data_counts(const struct matrix_data *m, const struct matrix_run *run)
{
	return run->block > 0 && run->attempt == matrix_store_attempt(&m->store, run->block);
}

int
matrix_data_cell(const struct matrix_data *m, size_t i)
{
	const struct matrix_run *run = &m->store.runs[i];

	return run->valid && matrix_data_counts(m, run) ? matrix_design_cell(&m->design, run->cell)
							: -1;
}

int
matrix_study_restore(const json_t *study, const char *dir, struct matrix_spec *spec,
		     const struct matrix_design *d, bool present[])
{
	json_t *cells, *cell;
	int blocks, warmup;
	json_int_t seed;
	size_t i;

	if (json_unpack((json_t *)study, "{s:i, s:i, s:I, s:o}", "blocks", &blocks, "warmup",
			&warmup, "seed", &seed, "cells", &cells) || blocks < 1 ||
	    blocks > MATRIX_BLOCKS_MAX || warmup < 0 || warmup > 20)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%s/study.json: allowed are 1 to %d "
				 "blocks, 0 to 20 of warm-up, a seed and cells", dir,
				 MATRIX_BLOCKS_MAX);
	spec->blocks = (unsigned)blocks;
	spec->warmup = (unsigned)warmup;
	spec->seed = (uint64_t)seed;
	if (json_is_number(json_object_get(study, "load")))
		spec->load_max = json_number_value(json_object_get(study, "load"));
	json_array_foreach(cells, i, cell) {
		const char *name = json_string_value(json_object_get(cell, "name"));
		int at = name ? matrix_design_cell(d, name) : -1;

		if (at >= 0)
			present[at] = json_is_true(json_object_get(cell, "runs"));
	}
	return 0;
}

/* That of the command line, of study.json, or of the spec. */
static int
reference_take(struct matrix_data *m, const char *reference)
{
	const struct matrix_line *line = matrix_spec_find(&m->spec.sections[0], MATRIX_REFERENCE);

	if (line)
		snprintf(m->reference_name, sizeof(m->reference_name), "%s", line->name);
	if (!reference)
		reference = json_string_value(json_object_get(m->study, "reference"));
	if (!reference || matrix_reference_parse(reference, m->reference_name, &m->spec.reference))
		return 0;
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "reference %s: allowed is NAME=NUMBER, the number "
			 "above 0", reference);
}

static void
details_read(struct matrix_data *m)
{
	char id[200], name[240], path[MATRIX_PATH];

	for (size_t i = 0; i < m->store.n; i++) {
		matrix_run_id(&m->store.runs[i], id, sizeof(id));
		snprintf(name, sizeof(name), "runs/%s.json", id);
		matrix_store_path(&m->store, name, path);
		m->details[i] = json_load_file(path, 0, NULL);
	}
}

static int
figures_place(struct matrix_data *m)
{
	size_t places = m->spec.blocks * m->design.n;

	m->figures = malloc(places * sizeof(*m->figures));
	if (!m->figures)
		return -ENOMEM;
	for (size_t i = 0; i < places; i++)
		m->figures[i] = NAN;
	for (size_t i = 0; i < m->store.n; i++) {
		const struct matrix_run *run = &m->store.runs[i];
		int cell = matrix_data_cell(m, i);

		if (cell >= 0 && run->block <= (int)m->spec.blocks)
			m->figures[((size_t)run->block - 1) * m->design.n + (size_t)cell] =
				run->figure;
	}
	return 0;
}

int
matrix_data_load(struct matrix_data *m, const char *dir, const char *reference)
{
	char path[MATRIX_PATH];
	size_t len = 0;
	int rc;

	*m = (struct matrix_data){ .store = { .lock = -1 } };
	rc = matrix_store_open(&m->store, dir, false);
	if (rc)
		return rc;
	matrix_store_path(&m->store, "study.spec", path);
	m->text = matrix_file_read(path, &len);
	if (!m->text)
		rc = tcpx_fail_errno(TCPX_SUB_TOOL, "read %s", path);
	rc = rc ? rc : matrix_spec_parse(m->text, len, "study.spec", &m->spec);
	rc = rc ? rc : matrix_design_init(&m->design, &m->spec, "study.spec");
	m->study = rc ? NULL : matrix_store_read(&m->store, "study.json");
	if (!rc)
		rc = m->study ? matrix_study_restore(m->study, m->store.dir, &m->spec, &m->design,
						     m->present) : TCPX_ECONFIG;
	rc = rc ? rc : reference_take(m, reference);
	if (!rc) {
		m->details = calloc(m->store.n + 1, sizeof(json_t *));
		rc = m->details ? figures_place(m) : -ENOMEM;
	}
	if (!rc) {
		details_read(m);
		rc = matrix_analyse(&m->design, m->figures, m->spec.blocks, m->present,
				    &m->analysis);
	}
	if (rc)
		matrix_data_fini(m);
	return rc;
}

void
matrix_data_fini(struct matrix_data *m)
{
	for (size_t i = 0; m->details && i < m->store.n; i++)
		json_decref(m->details[i]);
	free((void *)m->details);
	m->details = NULL;
	matrix_analysis_fini(&m->analysis);
	free(m->figures);
	m->figures = NULL;
	if (m->design.spec)
		matrix_design_fini(&m->design);
	matrix_spec_fini(&m->spec);
	matrix_store_close(&m->store);
	json_decref(m->study);
	m->study = NULL;
	free(m->text);
	m->text = NULL;
}

size_t
matrix_data_column(const struct matrix_data *m, size_t cell, double *out)
{
	return matrix_column(&m->design, m->figures, m->spec.blocks, cell, out);
}

double
matrix_data_number(const struct matrix_data *m, size_t run, const char *group, const char *name)
{
	const json_t *v = json_object_get(json_object_get(m->details[run], group), name);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static json_t *
effect_json(const struct matrix_effect *e, const struct matrix_estimate *est)
{
	static const char *const kinds[] = { "primary", "A/A", "negative control", "exploratory" };

	return json_pack("{s:s, s:s, s:i, s:o?, s:o?, s:o?, s:o?, s:o?, s:o?, s:o?, s:s, s:i}",
			 "name", e->name, "kind", kinds[e->kind], "blocks", (int)est->n, "ratio",
			 json_real(est->ratio), "lo", json_real(est->ci.lo), "hi",
			 json_real(est->ci.hi), "hodges_lehmann", json_real(est->hl), "sd_log",
			 json_real(est->sd), "p_sign_flip", json_real(est->p), "p_holm",
			 json_real(est->p_holm), "verdict", matrix_verdict_text(est->verdict),
			 "blocks_needed", (int)est->needed);
}

/* A figure that is not there, NAN, is null. */
json_t *
matrix_data_json(const struct matrix_data *m)
{
	const struct matrix_analysis *a = &m->analysis;
	double column[MATRIX_BLOCKS_MAX];
	json_t *cells = json_array(), *effects = json_array();
	char letter[2] = { a->letter, '\0' };

	for (size_t c = 0; c < m->design.n; c++) {
		size_t n = matrix_data_column(m, c, column);

		json_array_append_new(cells, json_pack("{s:s, s:b, s:i, s:o?, s:o?, s:o?}", "name",
				m->design.cells[c].name, "runs", m->present[c], "valid", (int)n,
				"median", json_real(stats_median(column, n)), "min",
				json_real(stats_percentile(column, n, 0)), "max",
				json_real(stats_percentile(column, n, 1))));
	}
	for (size_t i = 0; i < m->design.effect_count; i++)
		json_array_append_new(effects, effect_json(&m->design.effects[i], &a->effects[i]));
	return json_pack("{s:i, s:O, s:f, s:s, s:s, s:i, s:i, s:o?, s:o, s:o}", "schema",
			 MATRIX_SCHEMA, "study", m->study, "margin", m->spec.margin, "verdict",
			 matrix_verdict_text(a->verdict), "option", letter, "blocks_least",
			 (int)a->least, "blocks_needed", (int)a->needed, "gap", json_real(a->gap),
			 "cells", cells, "effects", effects);
}
