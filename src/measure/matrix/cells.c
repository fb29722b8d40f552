/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells from sections: the [cell]s, if there are any; else the levels of the only factor.
 * A spec without either is refused: it compares nothing.
 */
#include "measure/matrix/design.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/matrix/cells.h"

/* ---- factors --------------------------------------------------------------------- */

static int
refuse(const char *name, unsigned at, const char *what, const char *value)
{
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%.80s line %u: %s '%.60s'", name, at, what,
			 value);
}

static struct matrix_factor *
factor_of(struct matrix_design *d, const char *name)
{
	for (size_t i = 0; i < d->factor_count; i++)
		if (!strcmp(d->factors[i].name, name))
			return &d->factors[i];
	if (d->factor_count == MATRIX_FACTORS_MAX)
		return NULL;
	d->factors[d->factor_count].name = name;
	return &d->factors[d->factor_count++];
}

static bool
level_add(struct matrix_factor *f, const char *level)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->levels[i], level))
			return false;
	if (f->n == MATRIX_LEVELS_MAX)
		return false;
	snprintf(f->levels[f->n++], MATRIX_NAME_MAX, "%s", level);
	return true;
}

/* The levels of a sweep are its values. */
static int
sweep_levels(const struct matrix_section *s, struct matrix_factor *f, const char *name)
{
	const struct matrix_line *values = matrix_spec_find(s, MATRIX_VALUES);
	char *copy, *rest, *word;
	int rc = 0;

	if (!values)
		return refuse(name, s->at, "no 'values = ...' in sweep", s->name);
	rest = copy = strdup(values->value);
	if (!copy)
		return -ENOMEM;
	while (!rc && (word = strsep(&rest, " \t\n")) != NULL)
		if (*word && (!matrix_name_allowed(word) || !level_add(f, word)))
			rc = refuse(name, values->at,
				    "values are up to 32 different names; not so is", word);
	free(copy);
	return rc;
}

static bool
has_sweep(const struct matrix_spec *spec, size_t before, const char *factor)
{
	for (size_t i = 1; i < before; i++)
		if (spec->sections[i].kind == MATRIX_SWEEP &&
		    !strcmp(spec->sections[i].name, factor))
			return true;
	return false;
}

static int
factors_collect(struct matrix_design *d, const char *name)
{
	int rc = 0;

	for (size_t i = 1; !rc && i < d->spec->n; i++) {
		const struct matrix_section *s = &d->spec->sections[i];
		struct matrix_factor *f;

		if (s->kind == MATRIX_CELL)
			continue;
		f = factor_of(d, s->name);
		if (!f)
			return refuse(name, s->at, "more than 8 factors:", s->name);
		if (s->kind == MATRIX_SWEEP ? f->n > 0 : has_sweep(d->spec, i, s->name))
			return refuse(name, s->at, "a factor is a sweep or has levels, not both:",
				      s->name);
		if (s->kind == MATRIX_SWEEP)
			rc = sweep_levels(s, f, name);
		else if (!level_add(f, s->level))
			rc = refuse(name, s->at, "one level too many, or there already:", s->level);
	}
	return rc;
}

/* ---- cells ----------------------------------------------------------------------- */

/* @text with every {} replaced by @level, if there is one. */
static char *
substituted(const char *text, const char *level)
{
	struct tcpx_text t = { .len = 0 };
	const char *mark;
	char *out;

	for (; *level && (mark = strstr(text, "{}")) != NULL; text = mark + 2)
		tcpx_text_add(&t, "%.*s%s", (int)(mark - text), text, level);
	tcpx_text_add(&t, "%s", text);
	return tcpx_text_detach(&t, &out) ? NULL : out;
}

static int
lines_add(struct matrix_cell *cell, const struct matrix_section *s, const char *level)
{
	struct matrix_line *more = realloc(cell->lines, (cell->n + s->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	cell->lines = more;
	for (size_t i = 0; i < s->n; i++) {
		struct matrix_line *line = &cell->lines[cell->n];

		*line = s->lines[i];
		line->name = substituted(s->lines[i].name, level);
		line->value = substituted(s->lines[i].value, level);
		cell->n++; /* owned from here on, also after a failure */
		if (!line->name || !line->value)
			return -ENOMEM;
	}
	return 0;
}

/* The settings of @cell's levels, factor by factor, then those of its own
 * section (or NULL). */
static int
cell_fill(struct matrix_design *d, struct matrix_cell *cell, const struct matrix_section *own)
{
	const struct matrix_line *about = own ? matrix_spec_find(own, MATRIX_ABOUT) : NULL;
	int rc = 0;

	for (size_t f = 0; f < d->factor_count; f++) {
		const char *level = cell->level[f] < 0 ? NULL
						       : d->factors[f].levels[cell->level[f]];

		for (size_t i = 1; !rc && level && i < d->spec->n; i++) {
			const struct matrix_section *s = &d->spec->sections[i];

			if (s->kind == MATRIX_CELL || strcmp(s->name, d->factors[f].name))
				continue;
			if (s->kind == MATRIX_SWEEP)
				rc = lines_add(cell, s, level);
			else if (!strcmp(s->level, level))
				rc = lines_add(cell, s, "");
		}
	}
	if (!rc && own)
		rc = lines_add(cell, own, "");
	cell->about = about ? about->value : "";
	return rc;
}

static struct matrix_cell *
cell_new(struct matrix_design *d, const char *name)
{
	struct matrix_cell *cell = &d->cells[d->n++];

	*cell = (struct matrix_cell){ .same = -1, .about = "" };
	snprintf(cell->name, sizeof(cell->name), "%s", name);
	for (size_t f = 0; f < MATRIX_FACTORS_MAX; f++)
		cell->level[f] = -1;
	return cell;
}

static int
level_index(const struct matrix_factor *f, const char *level)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->levels[i], level))
			return (int)i;
	return -1;
}

/* Levels named by [cell]'s lines "level FACTOR = LEVEL". */
static int
cell_levels(struct matrix_design *d, struct matrix_cell *cell, const struct matrix_section *s,
	    const char *name)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct matrix_line *line = &s->lines[i];
		size_t f = 0;

		if (line->key != MATRIX_LEVEL)
			continue;
		while (f < d->factor_count && strcmp(d->factors[f].name, line->name))
			f++;
		if (f == d->factor_count)
			return refuse(name, line->at, "there is no factor", line->name);
		cell->level[f] = level_index(&d->factors[f], line->value);
		if (cell->level[f] < 0)
			return refuse(name, line->at, "this factor has no level", line->value);
	}
	return 0;
}

static int
cell_add(struct matrix_design *d, const struct matrix_section *s, const char *name)
{
	const struct matrix_line *same = matrix_spec_find(s, MATRIX_SAME);
	const struct matrix_section *own = s;
	struct matrix_cell *cell;
	int rc;

	if (d->n == MATRIX_CELLS_MAX)
		return refuse(name, s->at, "more than 64 cells:", s->name);
	cell = cell_new(d, s->name);
	if (same) {
		for (size_t i = 0; i < s->n; i++)
			if (s->lines[i].key != MATRIX_SAME && s->lines[i].key != MATRIX_ABOUT)
				return refuse(name, s->lines[i].at, "a cell with 'same' is in all "
					      "the same; it cannot have a",
					      matrix_key_name(s->lines[i].key));
		cell->same = matrix_design_cell(d, same->value);
		if (cell->same < 0 || cell->same == (int)d->n - 1)
			return refuse(name, same->at, "no cell before this one is named",
				      same->value);
		if (d->cells[cell->same].same >= 0)
			return refuse(name, same->at, "this cell is itself the same as another:",
				      same->value);
		memcpy(cell->level, d->cells[cell->same].level, sizeof(cell->level));
		own = NULL;
		for (size_t i = 1; i < d->spec->n; i++)
			if (d->spec->sections[i].kind == MATRIX_CELL &&
			    !strcmp(d->spec->sections[i].name, same->value))
				own = &d->spec->sections[i];
	}
	cell->negative = own && matrix_spec_find(own, MATRIX_CONTROL) != NULL;
	if (own && matrix_spec_find(own, MATRIX_AGAINST))
		cell->against = matrix_spec_find(own, MATRIX_AGAINST)->value;
	rc = same ? 0 : cell_levels(d, cell, s, name);
	rc = rc ? rc : cell_fill(d, cell, own);
	if (!rc && same && matrix_spec_find(s, MATRIX_ABOUT))
		cell->about = matrix_spec_find(s, MATRIX_ABOUT)->value;
	return rc;
}

/* The levels of the only factor. */
static int
cells_sweep(struct matrix_design *d, const char *name)
{
	int rc = 0;

	if (d->factor_count > 1)
		return refuse(name, 1, "more than one factor; write the [cell]s out:",
			      d->factors[1].name);
	for (size_t i = 0; !rc && d->factor_count && i < d->factors[0].n; i++) {
		struct matrix_cell *cell = cell_new(d, d->factors[0].levels[i]);

		cell->level[0] = (int)i;
		rc = cell_fill(d, cell, NULL);
	}
	d->swept = true;
	return rc;
}

int
matrix_design_cell(const struct matrix_design *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->cells[i].name, name))
			return (int)i;
	return -1;
}

int
matrix_cells_make(struct matrix_design *d, const char *name)
{
	const struct matrix_line *baseline;
	bool named = false;
	int rc = factors_collect(d, name), at;

	for (size_t i = 1; i < d->spec->n; i++)
		named |= d->spec->sections[i].kind == MATRIX_CELL;
	for (size_t i = 1; !rc && named && i < d->spec->n; i++)
		if (d->spec->sections[i].kind == MATRIX_CELL)
			rc = cell_add(d, &d->spec->sections[i], name);
	if (!rc && !named)
		rc = cells_sweep(d, name);
	if (rc)
		return rc;
	if (d->n < 2)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%.80s: %zu cells; an experiment "
				 "compares at least 2: add [cell]s, [level]s or a [sweep]", name,
				 d->n);
	baseline = matrix_spec_find(&d->spec->sections[0], MATRIX_BASELINE);
	at = baseline ? matrix_design_cell(d, baseline->value) : 0;
	if (at < 0)
		return refuse(name, baseline->at, "baseline: there is no cell", baseline->value);
	d->baseline = (size_t)at;
	return 0;
}
