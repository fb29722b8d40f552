/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures, explained. docs/errors.md, which is part of the program, has a section for each:
 * "## NAME: title" or, of a code, "## NAME (-1): its text"; then paragraphs and commands.
 * Pieces of messages that identify the failure are quoted behind "**Says.**".
 */
#ifndef TUNE_DOCTOR_EXPLAIN_H
#define TUNE_DOCTOR_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

enum { EXPLAIN_NAME = 32 };

extern const char explain_page[]; /* docs/errors.md */

/* A section of the page. */
struct explained {
	char name[EXPLAIN_NAME];
	int code;               /* of tcpx/err.h; 0: none                          */
	const char *text, *end; /* from the name on, without the last empty line   */
};

/* The next section, of a zeroed *e the first. False: *e was the last. */
bool explain_next(struct explained *e);
/* Finds by name in any case, by a code's number, by its name without TCPX_, by a log line
 * that contains a name or a piece of a known message, or by a system error's name or
 * words. */
bool explain_find(const char *text, struct explained *e);
/* Copies the name that is most like @text to @near; "" if none is. */
void explain_nearest(const char *text, char near[EXPLAIN_NAME]);

/* Prints plain text in 80 columns, with bold headings where @f is a terminal. */
void explain_one(FILE *f, const struct explained *e);
/* Prints all sections: likewise on a terminal, else the page as it is. */
void explain_all(FILE *f);

#endif
