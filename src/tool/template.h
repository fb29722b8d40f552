/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from a template and a JSON value. Templates are built in, and what they say is ours;
 * values may hold any text, and each is escaped on its way in.
 *
 *	{{name}}             the value; "a.b" and "a.0" lead into it, "." is the value at hand. A
 *	                     name is sought in the value at hand, then in those around it
 *	{{FORMAT name}}      as size, amount, time, digits (see out_text.h), %.3f, %.4g, or the
 *	                     count of a list; a text as code (not cut by Markdown) or as script
 *	{{FORMAT 100 name}}  a number times 100
 *	{{name|text}}        the text, where the value is false
 *	{{#name}} {{/}}      for each element of a list; once for another value that is not false
 *	{{^name}} {{/}}      once, if the value is false: missing, null, false, "", [], {}, or the
 *	                     whole number 0. A real number is a measured one, and never false
 *	{{#name=text}}       once, if the value is this text or whole number; {{^name=text}}: if not
 *	{{#@first}}          in the first element of a list
 *
 * scripts/embed_page.py builds templates in, and refuses one with an unknown or an open tag.
 */
#ifndef TOOL_TEMPLATE_H
#define TOOL_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct template {
	const char *text;
	bool markdown; /* else HTML */
};

/* Writes @t, filled from @value, to @path, "-" for stdout. 0 or -errno, logged. */
int template_write(const struct template *t, const json_t *value, const char *path);

/* Adds the members of @more, whose reference it takes. */
void template_add(json_t *object, json_t *more);

#endif
