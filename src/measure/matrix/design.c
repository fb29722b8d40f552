/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A design of its cells and effects.
 * "effect binding = T2/T1 T4/T3" is the mean of two log ratios within a block; an
 * interaction is their difference. Where none is declared, each cell has an effect against
 * the baseline. Every A/A cell and control gets its own.
 */
#include "measure/matrix/cells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static struct matrix_effect *
effect_new(struct matrix_design *d, enum matrix_effect_kind kind)
{
	struct matrix_effect *e;

	if (d->effect_count == MATRIX_EFFECTS_MAX)
		return NULL;
	e = &d->effects[d->effect_count++];
	*e = (struct matrix_effect){ .kind = kind };
	return e;
}

static int
too_many(const char *name)
{
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%.80s: more than %d effects, or %d ratios "
			 "in one", name, MATRIX_EFFECTS_MAX, MATRIX_TERMS_MAX);
}

static bool
term_add(struct matrix_effect *e, size_t above, size_t below, int sign)
{
	if (e->n == MATRIX_TERMS_MAX)
		return false;
	e->terms[e->n++] = (struct matrix_term){ (unsigned char)above, (unsigned char)below,
						 (signed char)sign };
	return true;
}

/* "T2/T1 T4/T3" */
static int
terms_parse(struct matrix_design *d, struct matrix_effect *e, const struct matrix_line *line,
	    const char *name)
{
	char *copy = strdup(line->value), *rest = copy, *word;
	int rc = copy ? 0 : -ENOMEM;

	while (!rc && (word = strsep(&rest, " \t\n")) != NULL) {
		char *below = strchr(word, '/');
		int a, b;

		if (!*word)
			continue;
		if (below)
			*below++ = '\0';
		a = matrix_design_cell(d, word);
		b = below ? matrix_design_cell(d, below) : -1;
		if (a < 0 || b < 0 || a == b)
			rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%.80s line %u: '%.60s%s%.60s':"
				       " allowed are ratios CELL/CELL of two cells that exist",
				       name, line->at, word, below ? "/" : "", below ? below : "");
		else if (!term_add(e, (size_t)a, (size_t)b, e->interaction && e->n ? -1 : 1))
			rc = too_many(name);
	}
	if (!rc && e->interaction && e->n != 2)
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%.80s line %u: an interaction is the "
			       "difference of 2 ratios, here are %zu", name, line->at, e->n);
	if (!rc && !e->n)
		rc = tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%.80s line %u: no ratio CELL/CELL",
			       name, line->at);
	free(copy);
	return rc;
}

static int
declared(struct matrix_design *d, const char *name)
{
	const struct matrix_section *study = &d->spec->sections[0];
	int rc = 0;

	for (size_t i = 0; !rc && i < study->n; i++) {
		const struct matrix_line *line = &study->lines[i];
		struct matrix_effect *e;

		if (line->key != MATRIX_EFFECT && line->key != MATRIX_INTERACTION)
			continue;
		e = effect_new(d, MATRIX_PRIMARY);
		if (!e)
			return too_many(name);
		e->interaction = line->key == MATRIX_INTERACTION;
		snprintf(e->name, sizeof(e->name), "%s", line->name);
		rc = terms_parse(d, e, line, name);
	}
	return rc;
}

static int
against(struct matrix_design *d, enum matrix_effect_kind kind, size_t cell, size_t other,
	const char *name)
{
	struct matrix_effect *e = effect_new(d, kind);

	if (!e)
		return too_many(name);
	snprintf(e->name, sizeof(e->name), "%.48s/%.48s", d->cells[cell].name,
		 d->cells[other].name);
	term_add(e, cell, other, 1);
	return 0;
}

/* A level of a sweep has the factor's name before it. */
static int
undeclared(struct matrix_design *d, const char *name)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < d->n; i++) {
		if (i == d->baseline || d->cells[i].same >= 0 || d->cells[i].negative)
			continue;
		rc = against(d, MATRIX_PRIMARY, i, d->baseline, name);
		if (!rc && d->swept)
			snprintf(d->effects[d->effect_count - 1].name, sizeof(d->effects->name),
				 "%s=%s", d->factors[0].name, d->cells[i].name);
	}
	return rc;
}

static int
negative(struct matrix_design *d, size_t cell, const char *name)
{
	const char *other = d->cells[cell].against;
	int at = other ? matrix_design_cell(d, other) : (int)d->baseline;

	if (at < 0 || (size_t)at == cell)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%.80s: cell %.60s: against = %.60s: "
				 "allowed is another cell", name, d->cells[cell].name, other);
	return against(d, MATRIX_NEGATIVE, cell, (size_t)at, name);
}

/* Is there an effect of this cell alone already? */
static bool
is_single(const struct matrix_design *d, size_t cell)
{
	for (size_t i = 0; i < d->effect_count; i++) {
		const struct matrix_effect *e = &d->effects[i];

		if (e->n == 1 && e->terms[0].above == cell && e->terms[0].below == d->baseline)
			return true;
	}
	return false;
}

static int
effects_make(struct matrix_design *d, const char *name)
{
	int rc = declared(d, name);

	if (!rc && !d->effect_count)
		rc = undeclared(d, name);
	for (size_t i = 0; !rc && i < d->n; i++) {
		if (d->cells[i].same >= 0)
			rc = against(d, MATRIX_AA, i, (size_t)d->cells[i].same, name);
		else if (d->cells[i].negative && i != d->baseline)
			rc = negative(d, i, name);
	}
	for (size_t i = 0; !rc && i < d->n; i++)
		if (i != d->baseline && d->cells[i].same < 0 && !is_single(d, i))
			rc = against(d, MATRIX_EXPLORATORY, i, d->baseline, name);
	return rc;
}

int
matrix_design_init(struct matrix_design *out, const struct matrix_spec *spec, const char *name)
{
	struct matrix_design d = { .spec = spec };
	int rc = -ENOMEM;

	d.cells = calloc(MATRIX_CELLS_MAX, sizeof(*d.cells));
	d.effects = calloc(MATRIX_EFFECTS_MAX, sizeof(*d.effects));
	if (d.cells && d.effects)
		rc = matrix_cells_make(&d, name);
	rc = rc ? rc : effects_make(&d, name);
	if (rc) {
		matrix_design_fini(&d);
		return rc;
	}
	*out = d;
	return 0;
}

void
matrix_design_fini(struct matrix_design *d)
{
	for (size_t i = 0; d->cells && i < d->n; i++) {
		for (size_t k = 0; k < d->cells[i].n; k++) {
			free(d->cells[i].lines[k].name);
			free(d->cells[i].lines[k].value);
		}
		free(d->cells[i].lines);
	}
	free(d->cells);
	free(d->effects);
	*d = (struct matrix_design){ .spec = NULL };
}

size_t
matrix_design_count(const struct matrix_design *d, enum matrix_effect_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < d->effect_count; i++)
		n += d->effects[i].kind == kind;
	return n;
}

void
matrix_order(size_t cells, uint64_t seed, unsigned block, unsigned char order[])
{
	struct tcpx_rng rng = tcpx_rng_seed(seed * 1000003 + block);

	for (size_t i = 0; i < cells; i++)
		order[i] = (unsigned char)i;
	for (size_t i = cells; i > 1; i--) {
		size_t k = (size_t)tcpx_rng_below(&rng, i);
		unsigned char kept = order[i - 1];

		order[i - 1] = order[k];
		order[k] = kept;
	}
}
