/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record as JSON, written and read by its tables. A file is accepted only if every
 * field of ours is present and sane.
 */
#include "measure/report/result.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "measure/report/result_fields.h"
#include "tool/json_file.h"

char *
result_text(const struct result *r)
{
	json_t *json = shape_json(&result_shape, r);
	char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

	json_decref(json);
	return text;
}

int
result_save(const struct result *r, const char *path)
{
	json_t *json = shape_json(&result_shape, r);
	int rc = json ? tool_json_save(json, path) : -ENOMEM;

	json_decref(json);
	return rc ? tcpx_fail(TCPX_SUB_TOOL, rc, "write result to %s", path) : 0;
}

static int
result_from_json(const char *name, const json_t *json, struct result *out)
{
	const json_t *schema = json_object_get(json, "schema");
	struct result r = { 0 };
	char why[SHAPE_WHY];

	if (json_is_integer(schema) && json_integer_value(schema) != RESULT_SCHEMA)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB,
				 "read result %s: schema is %lld, this version reads %d", name,
				 (long long)json_integer_value(schema), RESULT_SCHEMA);
	if (!shape_read(&result_shape, json, &r, why)) {
		result_fini(&r);
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "read result %s: %s", name, why);
	}
	*out = r;
	return 0;
}

static int
refuse_syntax(const char *name, const json_error_t *error)
{
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "read result %s: not JSON: line %d: %s", name,
			 error->line, error->text);
}

int
result_parse(const char *text, size_t len, const char *name, struct result *out)
{
	json_error_t error;
	json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	int rc;

	if (!json)
		return refuse_syntax(name, &error);
	rc = result_from_json(name, json, out);
	json_decref(json);
	return rc;
}

int
result_load(const char *path, struct result *out)
{
	FILE *f = fopen(path, "re");
	json_error_t error;
	json_t *json;
	int rc;

	if (!f)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "read result %s", path);
	json = json_loadf(f, JSON_REJECT_DUPLICATES, &error);
	if (json)
		rc = result_from_json(path, json, out);
	else if (ferror(f))
		rc = tcpx_fail_errno(TCPX_SUB_TOOL, "read result %s", path);
	else
		rc = refuse_syntax(path, &error);
	json_decref(json);
	fclose(f);
	return rc;
}
