/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document that is written once, as Markdown or as one HTML file. Every text is escaped
 * on its way in. Pictures are only in HTML.
 */
#ifndef TOOL_MATRIX_DOC_H
#define TOOL_MATRIX_DOC_H

#include <stdbool.h>
#include <stdio.h>

struct matrix_doc {
	FILE *f;
	bool html;
	size_t columns, at; /* of the table that is open */
};

void matrix_doc_open(struct matrix_doc *d, FILE *f, bool html, const char *title,
		     const char *above);
void matrix_doc_close(struct matrix_doc *d, const char *foot);
void matrix_doc_section(struct matrix_doc *d, const char *title);
/* A paragraph; bold: must not be overlooked. */
void matrix_doc_text(struct matrix_doc *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void matrix_doc_bold(struct matrix_doc *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void matrix_doc_item(struct matrix_doc *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void matrix_doc_code(struct matrix_doc *d, const char *text);
/* @head: names of the columns, NULL-terminated. Then a call for each field, row by row. */
void matrix_doc_table(struct matrix_doc *d, const char *const *head);
void matrix_doc_cell(struct matrix_doc *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void matrix_doc_table_end(struct matrix_doc *d);
/* True: draw one <svg> into d->f now, then call matrix_doc_figure_end(). */
bool matrix_doc_figure(struct matrix_doc *d, const char *caption);
void matrix_doc_figure_end(struct matrix_doc *d);

#endif
