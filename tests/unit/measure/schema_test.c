/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the record, docs/result.schema.json and docs/result-schema.md say the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/report/result_fields.h"

struct docs {
	json_t *schema;
	char *text;
};

static char *
read_doc(const char *name)
{
	const char *root = getenv("TCPX_SOURCE_ROOT");
	char path[512], *text = NULL;
	size_t room = 0;
	FILE *f;

	if (!root) {
		print_message("# skipped: not run by meson\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/docs/%s", root, name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(getdelim(&text, &room, '\0', f) > 0);
	fclose(f);
	return text;
}

static const json_t *
resolve(const struct docs *d, const json_t *schema)
{
	const char *ref = json_string_value(json_object_get(schema, "$ref"));

	return ref ? json_object_get(json_object_get(d->schema, "definitions"),
				     ref + strlen("#/definitions/")) : schema;
}

static const char *
type_of(const struct field *f)
{
	switch (f->type) {
	case FIELD_NUMBER:
	case FIELD_CPU:
		return "number";
	case FIELD_BOOL:
		return "boolean";
	case FIELD_STRING:
	case FIELD_TEXT:
		return "string";
	case FIELD_OBJECT:
		return "object";
	case FIELD_LIST:
		return "array";
	default:
		return "integer";
	}
}

static bool
names(const json_t *array, const char *word)
{
	json_t *v;
	size_t i;

	json_array_foreach(array, i, v)
		if (json_is_string(v) && !strcmp(json_string_value(v), word))
			return true;
	return false;
}

/* `name`, `machine.name`, `name[]` */
static bool
is_told(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at += len)
		if (at > text && strchr("`.", at[-1]) && strchr("`[.", at[len]))
			return true;
	return false;
}

static void
check_string(const struct field *f, const json_t *schema)
{
	const json_t *words = json_object_get(schema, "enum");
	size_t n = 0;

	if (!f->words) {
		assert_int_equal(json_integer_value(json_object_get(schema, "maxLength")),
				 f->room - 1);
		return;
	}
	for (; f->words[n]; n++)
		if (!names(words, f->words[n]))
			fail_msg("%s: \"%s\" is not in the schema", f->name, f->words[n]);
	assert_int_equal(json_array_size(words), n);
}

static void check_members(const struct docs *d, const struct shape *shape, const json_t *schema,
			  void **member);

static void
check_field(const struct docs *d, const struct field *f, const json_t *schema)
{
	const json_t *type = json_object_get(schema, "type");
	void *member;

	if (!json_is_string(type) || strcmp(json_string_value(type), type_of(f)))
		fail_msg("%s is not a %s in the schema", f->name, type_of(f));
	if (!is_told(d->text, f->name))
		fail_msg("%s is not in result-schema.md", f->name);
	if (f->type == FIELD_STRING)
		check_string(f, schema);
	if (f->type == FIELD_LIST)
		schema = resolve(d, json_object_get(schema, "items"));
	if (f->type != FIELD_LIST && f->type != FIELD_OBJECT)
		return;
	member = json_object_iter(json_object_get(schema, "properties"));
	check_members(d, f->shape, schema, &member);
	if (member)
		fail_msg("%s has no %s", f->name, json_object_iter_key(member));
}

/* Each in turn: the order is the same. */
static void
check_members(const struct docs *d, const struct shape *shape, const json_t *schema, void **member)
{
	json_t *members = json_object_get(schema, "properties");

	shape_each(f, shape) {
		if (f->type == FIELD_PART) {
			check_members(d, f->shape, schema, member);
			continue;
		}
		if (!*member || strcmp(json_object_iter_key(*member), f->name))
			fail_msg("%s is not next in the schema", f->name);
		if (names(json_object_get(schema, "required"), f->name) == f->optional)
			fail_msg("%s: required and optional", f->name);
		check_field(d, f, resolve(d, json_object_iter_value(*member)));
		*member = json_object_iter_next(members, *member);
	}
}

static void
documents_are_those_of_the_tables(void **state)
{
	char *schema = read_doc("result.schema.json");
	struct docs d = { json_loads(schema, 0, NULL), read_doc("result-schema.md") };
	void *member = json_object_iter(json_object_get(d.schema, "properties"));

	check_members(&d, &result_shape, d.schema, &member);
	assert_null(member);
	json_decref(d.schema);
	free(schema);
	free(d.text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(documents_are_those_of_the_tables) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
