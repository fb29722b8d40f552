/* SPDX-License-Identifier: Apache-2.0 */
/* The words for tables of fields. The file that holds a table defines S, its struct. */
#ifndef BASE_SHAPE_TABLE_H
#define BASE_SHAPE_TABLE_H

#include "base/shape.h"

#define AT(member) .name = #member, .offset = offsetof(S, member)
#define COUNT(member)  { AT(member), .type = FIELD_COUNT }
#define COUNT1(member) { AT(member), .type = FIELD_COUNT, .min = 1 }
#define INDEX(member)  { AT(member), .type = FIELD_INDEX }
#define NUMA(member)   { AT(member), .type = FIELD_NUMA }
#define NUMBER(member) { AT(member), .type = FIELD_NUMBER }
#define MAYBE(member)  { AT(member), .type = FIELD_NUMBER, .optional = true }
#define BOOL(member)   { AT(member), .type = FIELD_BOOL }
#define STRING(member) { AT(member), .type = FIELD_STRING, .room = sizeof(((S *)0)->member) }
#define ONE_OF(member, list) \
	{ AT(member), .type = FIELD_STRING, .room = sizeof(((S *)0)->member), .words = list }
#define MAYBE_STRING(member) \
	{ AT(member), .type = FIELD_STRING, .room = sizeof(((S *)0)->member), .optional = true }
#define TEXT(member)   { AT(member), .type = FIELD_TEXT }
#define NOTE(member)   { AT(member), .type = FIELD_TEXT, .optional = true }
#define OBJECT(member, s)       { AT(member), .type = FIELD_OBJECT, .shape = &s }
#define MAYBE_OBJECT(member, s) { AT(member), .type = FIELD_OBJECT, .shape = &s, .optional = true }
#define LIST(member, s)         { AT(member), .type = FIELD_LIST, .shape = &s }
#define MAYBE_LIST(member, s)   { AT(member), .type = FIELD_LIST, .shape = &s, .optional = true }
#define PART(member, s)         { AT(member), .type = FIELD_PART, .shape = &s }
#define SHAPE(table) SHAPE_OF(S, table, 0)
#define SHAPE_OF(type, table, use_) \
	{ .bytes = sizeof(type), .fields = table, .count = sizeof(table) / sizeof(table[0]), .use = use_ }

#endif
