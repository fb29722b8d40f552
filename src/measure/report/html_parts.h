/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of the report's page. html_el() is the only way a text gets in, and escapes
 * it; tags and classes are our own constants.
 */
#ifndef TOOL_HTML_PARTS_H
#define TOOL_HTML_PARTS_H

#include <stdio.h>

#include "measure/report/row.h"

/* The head of a page, around its title and a style of its own: page.html, page.css, page.js. */
extern const char *const html_page[3];

/* The page's head, up to the first text of its body. @more: further style, "" for none. */
void html_open(FILE *f, const char *title, const char *more);

/* <tag class="css">text</tag>; css NULL: no class. */
void html_el(FILE *f, const char *tag, const char *css, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The letter of a record in its colour, @index below SVG_SERIES_MAX. */
void html_key(FILE *f, size_t index);
/* The measured rows, one line each. */
void html_rows(FILE *f, const struct result *r);
void html_channels(FILE *f, const struct row *row);
void html_threads(FILE *f, const struct row *row);
/* Machine, NICs, topology, settings, environment. */
void html_machine(FILE *f, const struct result *r);
/* Headline, matrix and ranks of a mesh. */
void html_mesh(FILE *f, const struct result *r);
/* Letter, version, host, figures of each record compared. */
void html_legend(FILE *f, const struct result *results, size_t n);

#endif
