/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a spec: each key, its sections, its name and its value. Pure; the parser
 * uses it, and the readers of checked values.
 */
#ifndef MEASURE_MATRIX_KEY_H
#define MEASURE_MATRIX_KEY_H

#include "measure/matrix/spec.h"

enum matrix_value_type {
	MATRIX_VALUE_TEXT,     /* anything but the empty text       */
	MATRIX_VALUE_NAME,
	MATRIX_VALUE_FIGURE,   /* json:PATH or regex:EXPRESSION     */
	MATRIX_VALUE_FRACTION, /* 5% or 0.05                        */
	MATRIX_VALUE_COUNT,
	MATRIX_VALUE_TIME,
	MATRIX_VALUE_POSITIVE,
	MATRIX_VALUE_BETTER,
	MATRIX_VALUE_CONTROL
};

enum matrix_name_type {
	MATRIX_NAME_NONE, MATRIX_NAME_PLAIN, MATRIX_NAME_VARIABLE, MATRIX_NAME_WORDS
};

struct matrix_key_def {
	const char *word;
	unsigned where;      /* kinds of section           */
	enum matrix_name_type name;
	bool many;           /* may occur more than once   */
	enum matrix_value_type type;
	uint64_t min, max;   /* of counts                  */
};

extern const struct matrix_key_def matrix_keys[MATRIX_KEYS];

/* Does the name before the = fit the key? */
bool matrix_key_name_fits(const struct matrix_key_def *def, const char *name);
/* NULL if the value fits; else the allowed values, in @buf or static. */
const char *matrix_key_refuses(const struct matrix_key_def *def, const char *value, char buf[96]);

/* "5%" or "0.05" to 0.05; false unless above 0 and at most 1. */
bool matrix_fraction_parse(const char *text, double *out);
/* "NCCL=18.7" to a name and a number above 0; false: it is none, and both stay. */
bool matrix_reference_parse(const char *text, char name[MATRIX_NAME_MAX], double *out);
/* A plain decimal number, and nothing behind it. */
bool matrix_number_parse(const char *text, double *out);

#endif
