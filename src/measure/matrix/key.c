/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys, and the forms of their values. */
#include "measure/matrix/key.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

#define ANYWHERE (MATRIX_STUDY | MATRIX_LEVELS | MATRIX_SWEEP | MATRIX_CELL)


const struct matrix_key_def matrix_keys[MATRIX_KEYS] = {
	[MATRIX_TITLE] = { "title", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_QUESTION] = { "question", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_LABEL] = { "label", MATRIX_STUDY, MATRIX_NAME_NONE, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_RUN] = { "run", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_METRIC] = { "metric", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_FIGURE, 0, 0 },
	[MATRIX_UNIT] = { "unit", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_BETTER] = { "better", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_BETTER, 0, 0 },
	[MATRIX_MARGIN] = { "margin", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_FRACTION, 0, 0 },
	[MATRIX_BLOCKS] = { "blocks", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_COUNT, 1,
			    MATRIX_BLOCKS_MAX },
	[MATRIX_WARMUP] = { "warmup", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_COUNT, 0, 20 },
	[MATRIX_SEED] = { "seed", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_COUNT, 0, UINT32_MAX },
	[MATRIX_TIMEOUT] = { "timeout", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_TIME, 10,
			     86400000 },
	[MATRIX_BASELINE] = { "baseline", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_NAME, 0, 0 },
	[MATRIX_REFERENCE] = { "reference", MATRIX_STUDY, MATRIX_NAME_WORDS, false, MATRIX_VALUE_POSITIVE, 0,
			       0 },
	[MATRIX_LOAD] = { "load", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_FRACTION, 0, 0 },
	[MATRIX_STEAL] = { "steal", MATRIX_STUDY, MATRIX_NAME_NONE, false, MATRIX_VALUE_FRACTION, 0, 0 },
	[MATRIX_SET] = { "set", MATRIX_STUDY, MATRIX_NAME_VARIABLE, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_FACT] = { "fact", MATRIX_STUDY, MATRIX_NAME_WORDS, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_ALSO] = { "also", MATRIX_STUDY, MATRIX_NAME_WORDS, true, MATRIX_VALUE_FIGURE, 0, 0 },
	[MATRIX_EXPECT] = { "expect", MATRIX_STUDY, MATRIX_NAME_WORDS, true, MATRIX_VALUE_FIGURE, 0, 0 },
	[MATRIX_COUNTER] = { "counter", MATRIX_STUDY, MATRIX_NAME_PLAIN, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_LIMIT] = { "limit", MATRIX_STUDY, MATRIX_NAME_PLAIN, true, MATRIX_VALUE_COUNT, 0, UINT32_MAX },
	[MATRIX_EFFECT] = { "effect", MATRIX_STUDY, MATRIX_NAME_PLAIN, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_INTERACTION] = { "interaction", MATRIX_STUDY, MATRIX_NAME_PLAIN, true, MATRIX_VALUE_TEXT, 0,
				 0 },
	[MATRIX_THREAT] = { "threat", MATRIX_STUDY, MATRIX_NAME_NONE, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_ABOUT] = { "about", ANYWHERE, MATRIX_NAME_NONE, false, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_REQUIRE] = { "require", ANYWHERE, MATRIX_NAME_WORDS, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_ENV] = { "env", ANYWHERE, MATRIX_NAME_VARIABLE, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_ARGS] = { "args", ANYWHERE, MATRIX_NAME_NONE, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_PREFIX] = { "prefix", ANYWHERE, MATRIX_NAME_NONE, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_SETUP] = { "setup", ANYWHERE, MATRIX_NAME_NONE, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_TEARDOWN] = { "teardown", ANYWHERE, MATRIX_NAME_NONE, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_CHECK] = { "check", ANYWHERE, MATRIX_NAME_WORDS, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_EVIDENCE] = { "evidence", ANYWHERE, MATRIX_NAME_WORDS, true, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_VALUES] = { "values", MATRIX_SWEEP, MATRIX_NAME_NONE, false, MATRIX_VALUE_TEXT, 0, 0 },
	[MATRIX_LEVEL] = { "level", MATRIX_CELL, MATRIX_NAME_PLAIN, true, MATRIX_VALUE_NAME, 0, 0 },
	[MATRIX_SAME] = { "same", MATRIX_CELL, MATRIX_NAME_NONE, false, MATRIX_VALUE_NAME, 0, 0 },
	[MATRIX_CONTROL] = { "control", MATRIX_CELL, MATRIX_NAME_NONE, false, MATRIX_VALUE_CONTROL, 0, 0 },
	[MATRIX_AGAINST] = { "against", MATRIX_CELL, MATRIX_NAME_NONE, false, MATRIX_VALUE_NAME, 0, 0 },
};

/* ---- names and values ------------------------------------------------------------ */

bool
matrix_name_allowed(const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= MATRIX_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_.+-@", name[i]))
			return false;
	return true;
}

static bool
variable_allowed(const char *name)
{
	if (!isalpha((unsigned char)name[0]) && name[0] != '_')
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	return strlen(name) < MATRIX_NAME_MAX;
}

bool
matrix_key_name_fits(const struct matrix_key_def *def, const char *name)
{
	switch (def->name) {
	case MATRIX_NAME_NONE:
		return !*name;
	case MATRIX_NAME_PLAIN:
		return matrix_name_allowed(name);
	case MATRIX_NAME_VARIABLE:
		return variable_allowed(name);
	default:
		return *name && strlen(name) < 120;
	}
}

const char *
matrix_key_name(enum matrix_key key)
{
	return matrix_keys[key].word;
}

bool
matrix_number_parse(const char *text, double *out)
{
	char *end;
	double v;

	if (!isdigit((unsigned char)*text) || strspn(text, "0123456789.eE+-") != strlen(text))
		return false;
	v = strtod(text, &end);
	if (*end || !isfinite(v))
		return false;
	*out = v;
	return true;
}

bool
matrix_fraction_parse(const char *text, double *out)
{
	char copy[32];
	size_t len = strlen(text);
	double v, unit = 1;

	if (!len || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len + 1);
	if (copy[len - 1] == '%') {
		copy[len - 1] = '\0';
		unit = 100;
	}
	if (!matrix_number_parse(copy, &v) || !(v / unit > 0) || v / unit > 1)
		return false;
	*out = v / unit;
	return true;
}

bool
matrix_reference_parse(const char *text, char name[MATRIX_NAME_MAX], double *out)
{
	size_t len = strcspn(text, "=");
	double v;

	if (!len || len >= MATRIX_NAME_MAX || !text[len] ||
	    !matrix_number_parse(text + len + 1, &v) || !(v > 0))
		return false;
	snprintf(name, MATRIX_NAME_MAX, "%.*s", (int)len, text);
	*out = v;
	return true;
}

const char *
matrix_key_refuses(const struct matrix_key_def *def, const char *value, char buf[96])
{
	uint64_t n = 0;
	double d;

	switch (def->type) {
	case MATRIX_VALUE_NAME:
		return matrix_name_allowed(value) ? NULL : "up to 47 of letters, digits, _.+-@";
	case MATRIX_VALUE_FIGURE:
		if ((!strncmp(value, "json:", 5) && value[5]) ||
		    (!strncmp(value, "regex:", 6) && value[6]))
			return NULL;
		return "json:PATH or regex:EXPRESSION";
	case MATRIX_VALUE_FRACTION:
		return matrix_fraction_parse(value, &d) ? NULL
							: "a share above 0, up to 1, as 5% or 0.05";
	case MATRIX_VALUE_COUNT:
		if (!tcpx_parse_count(value, &n) && n >= def->min && n <= def->max)
			return NULL;
		snprintf(buf, 96, "%" PRIu64 " to %" PRIu64, def->min, def->max);
		return buf;
	case MATRIX_VALUE_TIME:
		if (!tcpx_parse_ms(value, &n) && n >= def->min && n <= def->max)
			return NULL;
		return "a time such as 500ms or 60s, from 10ms to a day";
	case MATRIX_VALUE_POSITIVE:
		return matrix_number_parse(value, &d) && d > 0 ? NULL : "a number above 0";
	case MATRIX_VALUE_BETTER:
		return strcmp(value, "higher") && strcmp(value, "lower") ? "higher or lower" : NULL;
	case MATRIX_VALUE_CONTROL:
		return strcmp(value, "negative") ? "negative" : NULL;
	default:
		return *value ? NULL : "a text";
	}
}
