/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists, and the walks over shapes (base/shape.h): writing, reading and freeing.
 */
#ifndef TOOL_SHAPE_H
#define TOOL_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/shape.h"

/* A list that owns its elements: n of them at at[0..n-1]. Grow it with LIST_ADD(). */
#define LIST_OF(type) struct { type *at; size_t n; }
/* Appends a zeroed element to the list and gives its address, good until the next
 * LIST_ADD() on that list. Ends the program if memory is out, so never NULL. */
#define LIST_ADD(list) \
	((__typeof__((list)->at))list_grow(&(list)->at, &(list)->n, sizeof(*(list)->at)))
/* @at: where the list keeps its pointer. */
void *list_grow(void *at, size_t *n, size_t elem_bytes);

/* Every LIST_OF() or array in memory, without its element type. */
struct field_list {
	char *at;
	size_t n;
};
struct field_list field_list_of(const struct field *field, const void *object);
/* Is an optional field to be left out, because nothing was measured? */
bool field_is_absent(const struct field *field, const void *object);

/* Sets optional numbers to NAN and CPUs to -1, deep; everything else stays. */
void shape_clear(const struct shape *shape, void *object);
/* Frees texts and lists, deep. */
void shape_free(const struct shape *shape, void *object);

/* The object as JSON, its fields in the order of the table. */
json_t *shape_json(const struct shape *shape, const void *object);

#define SHAPE_WHY 320

/*
 * shape_read - JSON into @object, which is all zeros
 * @why: why not: field, value and what is allowed,
 *       "rows[2].op: is "x", must be "write" or "read""
 * Every field that is not optional must be there; those that the table does not have are
 * skipped. On failure, too, @object is good for shape_free().
 */
bool shape_read(const struct shape *shape, const json_t *json, void *object,
		char why[SHAPE_WHY]);
/* The same, but any field may be missing. */
bool shape_read_some(const struct shape *shape, const json_t *json, void *object,
		     char why[SHAPE_WHY]);

#endif
