/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record as JSON. One walk over the tables writes it, another reads it. A file is
 * accepted only if every field of ours is present and sane. Unknown fields are skipped: a
 * newer minor version may have added them.
 */
#include "measure/report/result.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tool/out_text.h"
#include "measure/report/result_fields.h"
#include "tool/tool.h"

/* ---- out ------------------------------------------------------------------------- */

static json_t *object_to_json(const struct shape *shape, const void *object);

static json_t *
text_to_json(const char *text)
{
	json_t *json = json_string(text);
	char *clean;

	if (json) /* it was UTF-8 */
		return json;
	clean = out_utf8_clean(text);
	json = clean ? json_string(clean) : NULL;
	free(clean);
	return json;
}

static json_t *
list_to_json(const struct field *field, const void *object)
{
	struct field_list list = field_list_of(field, object);
	json_t *array = json_array();

	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(array, object_to_json(field->shape,
							    list.at + i * field->shape->bytes));
	return array;
}

static json_t *
field_to_json(const struct field *field, const void *object)
{
	const void *place = (const char *)object + field->offset;
	double number;
	char *text;

	switch (field->type) {
	case FIELD_COUNT:
		return json_integer((json_int_t)*(const uint64_t *)place);
	case FIELD_INDEX:
		return json_integer(*(const unsigned *)place);
	case FIELD_NUMA:
		return json_integer(*(const int64_t *)place);
	case FIELD_NUMBER:
		number = *(const double *)place;
		return json_real(isfinite(number) && number > 0 ? number : 0);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)place);
	case FIELD_STRING:
		return text_to_json(place);
	case FIELD_TEXT:
		memcpy(&text, place, sizeof(text));
		return text_to_json(text ? text : "");
	case FIELD_OBJECT:
		return object_to_json(field->shape, place);
	case FIELD_LIST:
		return list_to_json(field, object);
	}
	return NULL;
}

static json_t *
object_to_json(const struct shape *shape, const void *object)
{
	json_t *json = json_object();

	for (size_t i = 0; i < shape->count; i++)
		if (!result_field_is_absent(&shape->fields[i], object))
			json_object_set_new(json, shape->fields[i].name,
					    field_to_json(&shape->fields[i], object));
	return json;
}

char *
result_text(const struct result *r)
{
	json_t *json = object_to_json(&result_shape, r);
	char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

	json_decref(json);
	return text;
}

int
result_save(const struct result *r, const char *path)
{
	bool to_stdout = !strcmp(path, "-");
	char *text = result_text(r);
	FILE *f;
	bool failed;

	if (!text)
		return tcpx_fail(TCPX_SUB_TOOL, -ENOMEM, "write result to %s", path);
	f = to_stdout ? stdout : fopen(path, "we");
	failed = !f || fputs(text, f) < 0 || fputc('\n', f) < 0;
	if (f)
		failed |= (to_stdout ? fflush(f) : fclose(f)) != 0;
	free(text);
	if (failed)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "write result to %s", path);
	return 0;
}

/* ---- in -------------------------------------------------------------------------- */

/* The present place in the file, for messages: "rows[2].time_us.p50". */
struct path {
	const char *file;
	size_t len;
	char text[128];
};

static int object_from_json(struct path *path, const struct shape *shape, const json_t *json,
			    void *object);

/* A path too long for its room is cut: it is for people. */
static void __attribute__((format(printf, 2, 3)))
path_enter(struct path *path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path->text + path->len, sizeof(path->text) - path->len, fmt, ap);
	va_end(ap);
	path->len = strlen(path->text);
}

static void
path_leave(struct path *path, size_t len)
{
	path->len = len;
	path->text[len] = '\0';
}

/* "file.json: rows[0].op: is "x", must be "write", ..." */
static int
refuse(const struct path *path, const char *is, const char *allowed)
{
	return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "read result %s: %s: %s, must be %s",
			 path->file, path->len ? path->text : "the whole", is, allowed);
}

static const char *
type_name(const json_t *json)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "is an object", [JSON_ARRAY] = "is a list",
		[JSON_STRING] = "is a text",    [JSON_INTEGER] = "is a whole number",
		[JSON_REAL] = "is a number",    [JSON_TRUE] = "is true",
		[JSON_FALSE] = "is false",      [JSON_NULL] = "is null",
	};

	return json ? names[json_typeof(json)] : "is missing";
}

static int
integer_from_json(const struct path *path, const struct field *field, const json_t *json,
		  void *place)
{
	json_int_t value = json_integer_value(json);
	json_int_t min = field->type == FIELD_NUMA ? -1 : (json_int_t)field->min;
	char is[64], allowed[64];

	snprintf(allowed, sizeof(allowed), "a whole number, at least %lld", (long long)min);
	if (!json_is_integer(json))
		return refuse(path, type_name(json), allowed);
	snprintf(is, sizeof(is), "is %lld", (long long)value);
	if (value < min)
		return refuse(path, is, allowed);
	if (field->type == FIELD_INDEX && value > UINT32_MAX)
		return refuse(path, is, "at most 4294967295");

	if (field->type == FIELD_INDEX)
		*(unsigned *)place = (unsigned)value;
	else
		*(int64_t *)place = value;
	return 0;
}

static int
number_from_json(const struct path *path, const json_t *json, double *number)
{
	if (!json_is_number(json))
		return refuse(path, type_name(json), "a number");
	if (json_number_value(json) < 0)
		return refuse(path, "is negative", "at least 0");
	*number = json_number_value(json);
	return 0;
}

static int
string_from_json(const struct path *path, const struct field *field, const json_t *json,
		 char *place)
{
	const char *text = json_string_value(json);
	char allowed[64] = "", is[64];

	if (!text)
		return refuse(path, type_name(json), "a text");
	snprintf(is, sizeof(is), "is \"%.40s\"", text);
	for (size_t i = 0; field->words && field->words[i]; i++) {
		if (!strcmp(field->words[i], text))
			break;
		snprintf(allowed + strlen(allowed), sizeof(allowed) - strlen(allowed), "%s\"%s\"",
			 i ? " or " : "", field->words[i]);
		if (!field->words[i + 1])
			return refuse(path, is, allowed);
	}
	if (strlen(text) >= field->room) {
		snprintf(allowed, sizeof(allowed), "at most %zu bytes", field->room - 1);
		return refuse(path, is, allowed);
	}
	memcpy(place, text, strlen(text) + 1);
	return 0;
}

static int
text_from_json(const struct path *path, const json_t *json, void *place)
{
	char *copy;

	if (!json_is_string(json))
		return refuse(path, type_name(json), "a text");
	copy = strdup(json_string_value(json));
	if (!copy)
		return tcpx_fail(TCPX_SUB_TOOL, -ENOMEM, "read result %s", path->file);
	memcpy(place, &copy, sizeof(copy));
	return 0;
}

static int
list_from_json(struct path *path, const struct shape *shape, const json_t *json, void *place)
{
	LIST_OF(char) list = { NULL, 0 };
	size_t here = path->len;
	int rc = 0;

	if (!json_is_array(json))
		return refuse(path, type_name(json), "a list");
	for (size_t i = 0; i < json_array_size(json) && !rc; i++) {
		void *elem = list_grow(&list.at, &list.n, shape->bytes);

		path_enter(path, "[%zu]", i);
		rc = object_from_json(path, shape, json_array_get(json, i), elem);
		path_leave(path, here);
	}
	memcpy(place, &list, sizeof(list)); /* on failure too: the caller frees the record */
	return rc;
}

static int
field_from_json(struct path *path, const struct field *field, const json_t *json, void *object)
{
	void *place = (char *)object + field->offset;

	switch (field->type) {
	case FIELD_COUNT:
	case FIELD_INDEX:
	case FIELD_NUMA:
		return integer_from_json(path, field, json, place);
	case FIELD_NUMBER:
		return number_from_json(path, json, place);
	case FIELD_BOOL:
		if (!json_is_boolean(json))
			return refuse(path, type_name(json), "true or false");
		*(bool *)place = json_is_true(json);
		return 0;
	case FIELD_STRING:
		return string_from_json(path, field, json, place);
	case FIELD_TEXT:
		return text_from_json(path, json, place);
	case FIELD_OBJECT:
		return object_from_json(path, field->shape, json, place);
	case FIELD_LIST:
		return list_from_json(path, field->shape, json, place);
	}
	return 0;
}

static int
object_from_json(struct path *path, const struct shape *shape, const json_t *json, void *object)
{
	size_t here = path->len;

	if (!json_is_object(json))
		return refuse(path, type_name(json), "an object");
	result_fields_clear(shape, object);
	for (size_t i = 0; i < shape->count; i++) {
		const struct field *field = &shape->fields[i];
		const json_t *value = json_object_get(json, field->name);
		int rc;

		if (!value && field->optional)
			continue;
		path_enter(path, here ? ".%s" : "%s", field->name);
		rc = field_from_json(path, field, value, object);
		if (rc)
			return rc;
		path_leave(path, here);
	}
	return 0;
}

static int
result_from_json(const char *name, const json_t *json, struct result *out)
{
	struct path path = { .file = name };
	const json_t *schema = json_object_get(json, "schema");
	struct result r = { 0 };
	int rc;

	if (json_is_integer(schema) && json_integer_value(schema) != RESULT_SCHEMA)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB,
				 "read result %s: schema is %lld, this version reads %d", name,
				 (long long)json_integer_value(schema), RESULT_SCHEMA);
	rc = object_from_json(&path, &result_shape, json, &r);
	if (rc)
		result_fini(&r);
	else
		*out = r;
	return rc;
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
