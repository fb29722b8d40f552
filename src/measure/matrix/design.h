/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of a spec's sections together: the cells, their settings, the effects
 * to estimate, and the order of the runs. Pure: a design depends on the text and
 * the seed alone.
 */
#ifndef MEASURE_MATRIX_DESIGN_H
#define MEASURE_MATRIX_DESIGN_H

#include "measure/matrix/spec.h"

enum {
	MATRIX_CELLS_MAX = 64,
	MATRIX_FACTORS_MAX = 8,
	MATRIX_LEVELS_MAX = 32,
	MATRIX_TERMS_MAX = 64,
	MATRIX_EFFECTS_MAX = 200
};

struct matrix_factor {
	const char *name;                       /* borrowed from the spec      */
	char levels[MATRIX_LEVELS_MAX][MATRIX_NAME_MAX];
	size_t n;
};

struct matrix_cell {
	char name[MATRIX_NAME_MAX];
	struct matrix_line *lines; /* owned, of its levels in order, then its own;
	                            * those of the study are not among them        */
	size_t n;
	int level[MATRIX_FACTORS_MAX]; /* -1: none named                           */
	int same;                  /* the cell that it repeats (A/A), -1 none      */
	bool negative;             /* a negative control                           */
	const char *against;       /* the cell it is compared with, borrowed; NULL the baseline */
	const char *about;         /* borrowed, "" none                            */
};

enum matrix_effect_kind {
	MATRIX_PRIMARY,     /* declared beforehand, the verdict is about these      */
	MATRIX_AA,          /* a cell against its repetition: the noise floor       */
	MATRIX_NEGATIVE,    /* of a negative control                                */
	MATRIX_EXPLORATORY  /* every other cell against the baseline                */
};

/* Log ratios of cells, above : below, with a sign each. The effect is their sum over
 * .divisor: the mean of ratios, or for an interaction their difference. */
struct matrix_effect {
	char name[2 * MATRIX_NAME_MAX + 8];
	enum matrix_effect_kind kind;
	struct matrix_term {
		unsigned char above, below;
		signed char sign;
	} terms[MATRIX_TERMS_MAX];
	size_t n;
	bool interaction;
};

struct matrix_design {
	const struct matrix_spec *spec; /* borrowed */
	struct matrix_factor factors[MATRIX_FACTORS_MAX];
	size_t factor_count;
	struct matrix_cell *cells;
	size_t n;
	size_t baseline;
	bool swept;                     /* the cells are the levels of the only factor */
	struct matrix_effect *effects;
	size_t effect_count;
};

/* 0; TCPX_ECONFIG (logged); -ENOMEM. @out: matrix_design_fini(). */
TCPX_MUST_CHECK int matrix_design_init(struct matrix_design *out, const struct matrix_spec *spec,
				       const char *name);
void matrix_design_fini(struct matrix_design *d);
/* Index of the named cell, or -1. */
int matrix_design_cell(const struct matrix_design *d, const char *name);
/* Number of effects of @kind. */
size_t matrix_design_count(const struct matrix_design *d, enum matrix_effect_kind kind);

/* The order of block @block (from 0; warm-up blocks count): a permutation of the cells. It
 * depends on the seed and the block's number alone, so a resumed study goes on. */
void matrix_order(size_t cells, uint64_t seed, unsigned block, unsigned char order[]);

#endif
