/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct described once, as a table: name, type, place in the struct, allowed values. A
 * shape is the table, or the part of it that has one use. The words in which tables are
 * written: base/shape_table.h.
 */
#ifndef BASE_SHAPE_H
#define BASE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

enum field_type {
	FIELD_COUNT,  /* uint64_t, at least .min                                      */
	FIELD_INDEX,  /* unsigned, at least .min                                      */
	FIELD_NUMA,   /* int64_t, at least -1                                         */
	FIELD_INT,    /* int, at least -1, which is "unknown" or "none"               */
	FIELD_ID,     /* uint64_t, written as 16 hex digits                           */
	FIELD_NUMBER, /* double, finite and not negative                              */
	FIELD_CPU,    /* int, -1: none; a real number in JSON                         */
	FIELD_BOOL,   /* bool                                                         */
	FIELD_FLAG,   /* int, 0 or 1: written as FIELD_BOOL                           */
	FIELD_STRING, /* char[.room]; one of .words, if there are any                 */
	FIELD_TEXT,   /* char *, owned                                                */
	FIELD_OBJECT, /* a struct in place, of .shape                                 */
	FIELD_PART,   /* the same, its fields as if they stood here                   */
	FIELD_LIST,   /* LIST_OF(struct of .shape)                                    */
	FIELD_ARRAY,  /* at most .room structs of .shape; the size_t at .n counts them */
	FIELD_CPUS    /* struct tcpx_cpuset, written as a CPU list                    */
};

struct shape;

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	size_t room;   /* bytes, or structs of an ARRAY                               */
	size_t n;      /* offset of an ARRAY's count                                  */
	unsigned min;
	unsigned use;  /* bits of base/figures.h; 0: no figure                        */
	bool optional; /* left out when NAN, NULL, "", 0, or an object or list with nothing
	                * in it                                                       */
	const char *const *words;
	const struct shape *shape;
	/* of figures that are a metric of `tcpx top --prometheus`: its name, one label
	 * or NULL, a line of help (NULL: of the figure before), and its unit (0: 1) */
	const char *metric, *label, *help;
	double unit;
};

struct shape {
	size_t bytes;
	const struct field *fields;
	size_t count;
	unsigned use; /* the fields with all these bits belong to it, no others       */
};

/* The fields @f of shape @s. */
#define shape_each(f, s)                                                                   \
	for (const struct field *f = (s)->fields; f < (s)->fields + (s)->count; f++)       \
		if ((f->use & (s)->use) != (s)->use) {                                     \
		} else

#endif
