/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of an experiment: sections of "key [name] = value" lines. The first section is
 * the study; [level FACTOR=LEVEL], [sweep FACTOR] and [cell NAME] follow. A line that
 * begins with a blank continues the value above; '#' begins a comment line. design.h
 * gives the lines their meaning together (cells, effects).
 */
#ifndef MEASURE_MATRIX_SPEC_H
#define MEASURE_MATRIX_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	MATRIX_TEXT_MAX = 256 * 1024, /* bytes of a spec                            */
	MATRIX_LINES_MAX = 4000,
	MATRIX_NAME_MAX = 48,         /* of a cell, factor, level, effect; with NUL */
	MATRIX_BLOCKS_MAX = 500
};

enum matrix_key {
	/* of the study alone */
	MATRIX_TITLE, MATRIX_QUESTION, MATRIX_LABEL, MATRIX_RUN, MATRIX_METRIC, MATRIX_UNIT,
	MATRIX_BETTER, MATRIX_MARGIN, MATRIX_BLOCKS, MATRIX_WARMUP, MATRIX_SEED,
	MATRIX_TIMEOUT, MATRIX_BASELINE, MATRIX_REFERENCE, MATRIX_LOAD, MATRIX_STEAL,
	MATRIX_SET, MATRIX_FACT, MATRIX_ALSO, MATRIX_EXPECT, MATRIX_COUNTER, MATRIX_LIMIT,
	MATRIX_EFFECT, MATRIX_INTERACTION, MATRIX_THREAT,
	/* of the study, a level, a sweep or a cell */
	MATRIX_ABOUT, MATRIX_REQUIRE, MATRIX_ENV, MATRIX_ARGS, MATRIX_PREFIX, MATRIX_SETUP,
	MATRIX_TEARDOWN, MATRIX_CHECK, MATRIX_EVIDENCE,
	MATRIX_VALUES,                               /* of a sweep                 */
	MATRIX_LEVEL, MATRIX_SAME, MATRIX_CONTROL, MATRIX_AGAINST, /* of a cell    */
	MATRIX_KEYS
};

enum matrix_kind {
	MATRIX_STUDY = 1, MATRIX_LEVELS = 2, MATRIX_SWEEP = 4, MATRIX_CELL = 8
};

struct matrix_line {
	enum matrix_key key;
	char *name, *value; /* owned; name "" for keys without one, value may have lines */
	unsigned at;        /* line of the text                                          */
};

struct matrix_section {
	enum matrix_kind kind;
	char name[MATRIX_NAME_MAX];  /* the factor or cell; "" of the study */
	char level[MATRIX_NAME_MAX]; /* of MATRIX_LEVELS                    */
	unsigned at;
	struct matrix_line *lines;
	size_t n;
};

struct matrix_spec {
	struct matrix_section *sections; /* [0] is the study, n >= 1              */
	size_t n;
	/* from the study's lines, or the default */
	double margin;      /* 0.05 is 5 %: smaller effects do not matter         */
	unsigned blocks;    /* runs of all cells, 8                               */
	unsigned warmup;    /* blocks before the first that counts, 1             */
	uint64_t seed;      /* of the order                                       */
	uint64_t timeout_ms; /* of each command                                   */
	bool lower;         /* a smaller figure is better                         */
	double reference;   /* a figure to reach; 0 none                          */
	double load_max;    /* share of all CPUs that other processes' user time may take, 0.25 */
	double steal_max;   /* share of time the hypervisor may take, 0.05        */
};

/*
 * matrix_spec_parse - read a spec
 * @text: @len bytes, any
 * @name: of the spec, for messages
 * @out:  out: give back with matrix_spec_fini(); untouched on failure
 * Return: 0; TCPX_ECONFIG (logged: line, value, what is allowed); -ENOMEM.
 */
TCPX_MUST_CHECK int matrix_spec_parse(const char *text, size_t len, const char *name,
				      struct matrix_spec *out);
void matrix_spec_fini(struct matrix_spec *spec);

/* The first line of @key in @section; NULL: none. */
const struct matrix_line *matrix_spec_find(const struct matrix_section *section,
					   enum matrix_key key);
/* Its value, or @otherwise. */
const char *matrix_spec_text(const struct matrix_spec *spec, enum matrix_key key,
			     const char *otherwise);
/* Letters, digits and _.+-@ of 1 to MATRIX_NAME_MAX - 1 bytes. */
bool matrix_name_allowed(const char *name);
/* The word of a key in the text. */
const char *matrix_key_name(enum matrix_key key);

#endif
