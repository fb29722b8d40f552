/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over the tables: one writes JSON, another reads it. shape_read() accepts JSON only if
 * every field of ours that is not optional is present and sane. Unknown fields are skipped: a
 * newer minor version may have added them.
 */
#include "tool/shape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpuset.h"
#include "tool/out_text.h"
#include "tool/tool.h"

enum { CPUS_TEXT = 4096 };

void *
list_grow(void *at, size_t *n, size_t elem_bytes)
{
	char *elems;

	memcpy(&elems, at, sizeof(elems));
	if ((*n & (*n - 1)) == 0) /* full at 0, 1, 2, 4, 8: the capacity needs no field */
		elems = tool_need(realloc(elems, (*n ? 2 * *n : 1) * elem_bytes));
	memset(elems + *n * elem_bytes, 0, elem_bytes);
	memcpy(at, &elems, sizeof(elems));
	return elems + (*n)++ * elem_bytes;
}

struct field_list
field_list_of(const struct field *field, const void *object)
{
	const char *at = (const char *)object + field->offset;
	LIST_OF(char) list;

	if (field->type == FIELD_ARRAY)
		return (struct field_list){ (char *)at, *(const size_t *)((const char *)object + field->n) };
	memcpy(&list, at, sizeof(list));
	return (struct field_list){ list.at, list.n };
}

static char *
text_of(const struct field *field, const void *object)
{
	char *text;

	memcpy(&text, (const char *)object + field->offset, sizeof(text));
	return text;
}

void
shape_clear(const struct shape *shape, void *object)
{
	shape_each(f, shape) {
		char *place = (char *)object + f->offset;

		if (f->type == FIELD_NUMBER && f->optional)
			memcpy(place, &(double){ NAN }, sizeof(double));
		else if (f->type == FIELD_CPU)
			*(int *)place = -1;
		else if (f->type == FIELD_OBJECT || f->type == FIELD_PART)
			shape_clear(f->shape, place);
	}
}

void
shape_free(const struct shape *shape, void *object)
{
	shape_each(f, shape) {
		if (f->type == FIELD_TEXT) {
			free(text_of(f, object));
		} else if (f->type == FIELD_OBJECT) {
			shape_free(f->shape, (char *)object + f->offset);
		} else if (f->type == FIELD_LIST) {
			struct field_list list = field_list_of(f, object);

			for (size_t i = 0; i < list.n; i++)
				shape_free(f->shape, list.at + i * f->shape->bytes);
			free(list.at);
		}
	}
}

/* Nothing was measured, or set. */
static bool
is_nothing(const struct field *field, const void *object)
{
	const void *place = (const char *)object + field->offset;

	switch (field->type) {
	case FIELD_TEXT:
		return !text_of(field, object);
	case FIELD_STRING:
		return !*(const char *)place;
	case FIELD_COUNT:
		return !*(const uint64_t *)place;
	case FIELD_INDEX:
		return !*(const unsigned *)place;
	case FIELD_CPU:
		return *(const int *)place < 0;
	case FIELD_LIST:
		return !field_list_of(field, object).n;
	case FIELD_NUMBER:
		return !isfinite(*(const double *)place);
	case FIELD_OBJECT:
	case FIELD_PART:
		shape_each(f, field->shape)
			if (!is_nothing(f, place))
				return false;
		return true;
	default:
		return false;
	}
}

bool
field_is_absent(const struct field *field, const void *object)
{
	return field->optional && is_nothing(field, object);
}

/* ---- out ------------------------------------------------------------------------- */

static json_t *
list_to_json(const struct field *field, const void *object)
{
	struct field_list list = field_list_of(field, object);
	json_t *array = json_array();

	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(array, shape_json(field->shape,
							list.at + i * field->shape->bytes));
	return array;
}

static json_t *
field_to_json(const struct field *field, const void *object)
{
	const void *place = (const char *)object + field->offset;
	char text[CPUS_TEXT];
	double number;

	switch (field->type) {
	case FIELD_COUNT:
		return json_integer((json_int_t)*(const uint64_t *)place);
	case FIELD_INDEX:
		return json_integer(*(const unsigned *)place);
	case FIELD_NUMA:
		return json_integer(*(const int64_t *)place);
	case FIELD_INT:
		return json_integer(*(const int *)place);
	case FIELD_CPU:
		return json_real(*(const int *)place);
	case FIELD_ID:
		return json_sprintf("%016llx", (unsigned long long)*(const uint64_t *)place);
	case FIELD_NUMBER:
		number = *(const double *)place;
		return json_real(isfinite(number) && number > 0 ? number : 0);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)place);
	case FIELD_FLAG:
		return json_boolean(*(const int *)place);
	case FIELD_STRING:
		return out_json(place);
	case FIELD_TEXT:
		return out_json(text_of(field, object) ? text_of(field, object) : "");
	case FIELD_CPUS:
		tcpx_cpuset_format(place, text, sizeof(text));
		return json_string(text);
	case FIELD_OBJECT:
	case FIELD_PART:
		return shape_json(field->shape, place);
	case FIELD_LIST:
	case FIELD_ARRAY:
		return list_to_json(field, object);
	}
	return NULL;
}

json_t *
shape_json(const struct shape *shape, const void *object)
{
	json_t *json = json_object();

	shape_each(f, shape)
		if (f->type == FIELD_PART)
			json_object_update_new(json, field_to_json(f, object));
		else if (!field_is_absent(f, object))
			json_object_set_new(json, f->name, field_to_json(f, object));
	return json;
}

/* ---- in -------------------------------------------------------------------------- */

/* The present place in the file, for messages: "rows[2].time_us.p50". */
struct path {
	char *why;
	bool whole; /* optional fields alone may be missing */
	size_t len;
	char text[128];
};

static bool object_from_json(struct path *path, const struct shape *shape, const json_t *json,
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

static bool
refuse(const struct path *path, const char *is, const char *allowed)
{
	snprintf(path->why, SHAPE_WHY, "%s: %s, must be %s",
		 path->len ? path->text : "the whole", is, allowed);
	return false;
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

static bool
integer_from_json(const struct path *path, const struct field *field, const json_t *json,
		  void *place)
{
	json_int_t value = json_integer_value(json);
	bool maybe = field->type == FIELD_NUMA || field->type == FIELD_INT;
	json_int_t min = maybe ? -1 : (json_int_t)field->min;
	json_int_t max = field->type == FIELD_INDEX ? UINT32_MAX
			 : field->type == FIELD_INT ? INT32_MAX : INT64_MAX;
	char is[64], allowed[64];

	snprintf(allowed, sizeof(allowed), "a whole number, at least %lld", (long long)min);
	if (!json_is_integer(json))
		return refuse(path, type_name(json), allowed);
	snprintf(is, sizeof(is), "is %lld", (long long)value);
	if (value < min)
		return refuse(path, is, allowed);
	if (value > max) {
		snprintf(allowed, sizeof(allowed), "at most %lld", (long long)max);
		return refuse(path, is, allowed);
	}
	if (field->type == FIELD_INDEX)
		*(unsigned *)place = (unsigned)value;
	else if (field->type == FIELD_INT)
		*(int *)place = (int)value;
	else
		*(int64_t *)place = value;
	return true;
}

static bool
number_from_json(const struct path *path, const json_t *json, double *number)
{
	if (!json_is_number(json))
		return refuse(path, type_name(json), "a number");
	if (json_number_value(json) < 0)
		return refuse(path, "is negative", "at least 0");
	*number = json_number_value(json);
	return true;
}

/* A bool, or with FIELD_FLAG an int. */
static bool
bool_from_json(const struct path *path, const struct field *field, const json_t *json, void *place)
{
	if (!json_is_boolean(json))
		return refuse(path, type_name(json), "true or false");
	if (field->type == FIELD_FLAG)
		*(int *)place = json_is_true(json);
	else
		*(bool *)place = json_is_true(json);
	return true;
}

/* What a text says: an id, or CPUs. */
static bool
text_means(const struct path *path, const struct field *field, const json_t *json, void *place)
{
	const char *text = json_is_string(json) ? json_string_value(json) : "?";
	char *end;

	if (field->type == FIELD_CPUS)
		return !tcpx_cpuset_parse(text, place) || refuse(path, type_name(json), "a CPU list");
	*(uint64_t *)place = strtoull(text, &end, 16);
	return (*text && !*end) || refuse(path, type_name(json), "a hex number");
}

static bool
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
	return true;
}

static bool
text_from_json(const struct path *path, const json_t *json, void *place)
{
	char *copy;

	if (!json_is_string(json))
		return refuse(path, type_name(json), "a text");
	copy = tool_need(strdup(json_string_value(json)));
	memcpy(place, &copy, sizeof(copy));
	return true;
}

/* What an array has no room for is left out. */
static bool
list_from_json(struct path *path, const struct field *field, const json_t *json, void *object)
{
	char *place = (char *)object + field->offset;
	bool fixed = field->type == FIELD_ARRAY, ok = true;
	LIST_OF(char) list = { NULL, 0 };
	size_t here = path->len, i;

	if (!json_is_array(json))
		return refuse(path, type_name(json), "a list");
	for (i = 0; ok && i < json_array_size(json) && (!fixed || i < field->room); i++) {
		void *elem = fixed ? place + i * field->shape->bytes
				   : list_grow(&list.at, &list.n, field->shape->bytes);

		path_enter(path, "[%zu]", i);
		ok = object_from_json(path, field->shape, json_array_get(json, i), elem);
		path_leave(path, here);
	}
	if (fixed)
		*(size_t *)((char *)object + field->n) = i;
	else
		memcpy(place, &list, sizeof(list)); /* on failure too: the caller frees it */
	return ok;
}

static bool
field_from_json(struct path *path, const struct field *field, const json_t *json, void *object)
{
	void *place = (char *)object + field->offset;
	double number;

	switch (field->type) {
	case FIELD_COUNT:
	case FIELD_INDEX:
	case FIELD_NUMA:
	case FIELD_INT:
		return integer_from_json(path, field, json, place);
	case FIELD_NUMBER:
		return number_from_json(path, json, place);
	case FIELD_CPU:
		if (!number_from_json(path, json, &number))
			return false;
		*(int *)place = number < INT32_MAX ? (int)number : -1;
		return true;
	case FIELD_BOOL:
	case FIELD_FLAG:
		return bool_from_json(path, field, json, place);
	case FIELD_ID:
	case FIELD_CPUS:
		return text_means(path, field, json, place);
	case FIELD_STRING:
		return string_from_json(path, field, json, place);
	case FIELD_TEXT:
		return text_from_json(path, json, place);
	case FIELD_OBJECT:
	case FIELD_PART:
		return object_from_json(path, field->shape, json, place);
	case FIELD_LIST:
	case FIELD_ARRAY:
		return list_from_json(path, field, json, object);
	}
	return true;
}

static bool
object_from_json(struct path *path, const struct shape *shape, const json_t *json, void *object)
{
	size_t here = path->len;

	if (!json_is_object(json))
		return refuse(path, type_name(json), "an object");
	shape_clear(shape, object);
	shape_each(f, shape) {
		const json_t *value = f->type == FIELD_PART ? json
							    : json_object_get(json, f->name);

		if (!value && (f->optional || !path->whole))
			continue;
		if (f->type != FIELD_PART)
			path_enter(path, here ? ".%s" : "%s", f->name);
		if (!field_from_json(path, f, value, object))
			return false;
		path_leave(path, here);
	}
	return true;
}

bool
shape_read(const struct shape *shape, const json_t *json, void *object, char why[SHAPE_WHY])
{
	return object_from_json(&(struct path){ .why = why, .whole = true }, shape, json, object);
}

bool
shape_read_some(const struct shape *shape, const json_t *json, void *object, char why[SHAPE_WHY])
{
	return object_from_json(&(struct path){ .why = why }, shape, json, object);
}
