/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures, explained: the five classes that programs over GPUDirect-TCPX have met, the
 * codes of this library, and other lines of programs. Const tables; docs/errors.md is the
 * output of explain_all(), and a test compares them.
 */
#ifndef TOOL_EXPLAIN_H
#define TOOL_EXPLAIN_H

#include <stddef.h>
#include <stdio.h>

#define EXPLAIN_SAYS 8 /* most pieces of messages that identify a failure */

struct explained {
	const char *name;  /* first member: tool_nearest() reads it; "rx-no-cmsg",
			    * "TCPX_ESTALLED" */
	const char *title; /* NULL: tcpx_err_text() of the code */
	const char *says[EXPLAIN_SAYS + 1]; /* ends with NULL */
	/* Paragraphs end with \n; a line that begins with four blanks is a command. */
	const char *symptom, *cause, *check, *fix;
	int code;          /* of tcpx/err.h; 0: a class */
};

extern const struct explained explain_classes[];
extern const size_t explain_class_count;
extern const struct explained explain_codes[];
extern const size_t explain_code_count;
extern const struct explained explain_others[];
extern const size_t explain_other_count;

/* Of all tables, in order; NULL behind the last. */
const struct explained *explain_at(size_t i);
/* Finds by name in any case, by a code's number, by its name without TCPX_, by a log line
 * that contains a name or a piece of a known message, or by a system error's name or
 * words. NULL: none. */
const struct explained *explain_find(const char *text);

/* Prints plain text in 80 columns, with bold headings where @f is a terminal. */
void explain_one(FILE *f, const struct explained *e);
/* Prints all: likewise on a terminal, else the Markdown of docs/errors.md, 90 columns. */
void explain_all(FILE *f);

#endif
