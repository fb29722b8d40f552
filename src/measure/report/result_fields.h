/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record described once, as tables: name in the JSON, type, place in the struct,
 * allowed values. Writing, reading, CSV and freeing all walk these tables.
 */
#ifndef TOOL_RESULT_FIELDS_H
#define TOOL_RESULT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

enum field_type {
	FIELD_COUNT,  /* uint64_t, at least .min                                      */
	FIELD_INDEX,  /* unsigned                                                     */
	FIELD_NUMA,   /* int64_t, at least -1                                         */
	FIELD_NUMBER, /* double, finite and not negative                              */
	FIELD_BOOL,   /* bool                                                         */
	FIELD_STRING, /* char[.room]; one of .words, if there are any                 */
	FIELD_TEXT,   /* char *, owned                                                */
	FIELD_OBJECT, /* a struct in place, of .shape                                 */
	FIELD_LIST    /* LIST_OF(struct of .shape)                                    */
};

struct shape;

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	size_t room;
	unsigned min;
	bool optional; /* left out when NAN, NULL, "", 0, or an object or list with nothing
	                * in it                                                       */
	const char *const *words;
	const struct shape *shape;
};

struct shape {
	size_t bytes;
	const struct field *fields;
	size_t count;
};

extern const struct shape result_shape, row_shape, mesh_shape;

/* Every LIST_OF() in memory, without its element type. */
struct field_list {
	char *at;
	size_t n;
};
struct field_list field_list_of(const struct field *field, const void *object);

/* Sets optional numbers to NAN, deep; everything else stays. */
void result_fields_clear(const struct shape *shape, void *object);
/* Frees texts and lists, deep. */
void result_fields_free(const struct shape *shape, void *object);
/* Is an optional field to be left out, because nothing was measured? */
bool result_field_is_absent(const struct field *field, const void *object);

#endif
