/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can go wrong, explained: the five classes of failure that programs over GPUDirect-TCPX
 * have met, and the codes of this library. Const tables; docs/errors.md is what
 * explain_all() prints, and a test compares them.
 */
#ifndef TOOL_EXPLAIN_H
#define TOOL_EXPLAIN_H

#include <stddef.h>
#include <stdio.h>

#define EXPLAIN_SAYS 4 /* most pieces of messages by which a failure is known, and a NULL */

struct explained {
	const char *name;  /* first: tool_nearest() reads it; "rx-no-cmsg", "TCPX_ESTALLED" */
	const char *title; /* NULL: tcpx_err_text() of the code */
	const char *says[EXPLAIN_SAYS + 1];
	/* Paragraphs end with \n; a line that begins with four blanks is a command. */
	const char *symptom, *cause, *check, *fix;
	int code;          /* of tcpx/err.h; 0: a class */
};

extern const struct explained explain_classes[];
extern const size_t explain_class_count;
extern const struct explained explain_codes[];
extern const size_t explain_code_count;

/* Of both tables, in order; NULL behind the last. */
const struct explained *explain_at(size_t i);
/* By name in any case, by a code's number, its name without TCPX_, or a log line that has a
 * name or a piece of a known message in it; NULL: none. */
const struct explained *explain_find(const char *text);

/* Markdown that reads well as it is, 90 columns. */
void explain_one(FILE *f, const struct explained *e);
void explain_all(FILE *f);

#endif
