/* SPDX-License-Identifier: Apache-2.0 */
/* Finding an explanation, and setting it. */
#include "tool/doctor/explain.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

#define COLUMNS 90

const struct explained *
explain_at(size_t i)
{
	if (i < explain_class_count)
		return &explain_classes[i];
	i -= explain_class_count;
	return i < explain_code_count ? &explain_codes[i] : NULL;
}

static const struct explained *
find_number(const char *text)
{
	char *end;
	long code = strtol(text, &end, 10);

	if (end == text || *end || code == 0)
		return NULL;
	if (code > 0)
		code = -code;
	for (size_t i = 0; i < explain_code_count; i++)
		if (explain_codes[i].code == code)
			return &explain_codes[i];
	return NULL;
}

static const struct explained *
find_name(const char *text)
{
	const struct explained *e;

	for (size_t i = 0; (e = explain_at(i)) != NULL; i++)
		if (!strcasecmp(text, e->name) ||
		    (e->code && !strcasecmp(text, e->name + strlen("TCPX_"))))
			return e;
	return NULL;
}

/* A name in a line must stand alone: TCPX_ESTALE is not in TCPX_ESTALED. */
static int
has_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = line; (at = strstr(at, word)) != NULL; at++)
		if (!isalnum((unsigned char)at[len]) && at[len] != '_')
			return 1;
	return 0;
}

static const struct explained *
find_line(const char *text)
{
	const struct explained *e;

	for (size_t i = 0; (e = explain_at(i)) != NULL; i++) {
		for (const char *const *said = e->says; *said; said++)
			if (strcasestr(text, *said))
				return e;
		if (e->code && has_word(text, e->name))
			return e;
	}
	return NULL;
}

const struct explained *
explain_find(const char *text)
{
	const struct explained *e = find_number(text);

	if (!e)
		e = find_name(text);
	return e ? e : find_line(text);
}

/* One paragraph from @at to @end; the first line has @column behind it already. */
static void
set_paragraph(FILE *f, const char *at, const char *end, size_t column)
{
	while (at < end) {
		size_t len = strcspn(at, " \n");

		if (column && column + 1 + len > COLUMNS) {
			fputc('\n', f);
			column = 0;
		}
		if (column) {
			fputc(' ', f);
			column++;
		}
		fwrite(at, 1, len, f);
		column += len;
		at += len;
		while (at < end && *at == ' ')
			at++;
	}
	fputc('\n', f);
}

static void
set_part(FILE *f, const char *label, const char *text)
{
	bool command = false;
	size_t column = (size_t)fprintf(f, "\n**%s.**", label);

	column -= 1; /* the line end before it */
	while (*text) {
		const char *end = strchrnul(text, '\n');

		if (!strncmp(text, "    ", 4)) {
			fprintf(f, "%s%.*s\n", command ? "" : "\n", (int)(end - text), text);
			command = true;
		} else {
			if (!column)
				fputc('\n', f);
			set_paragraph(f, text, end, column);
			command = false;
		}
		column = 0;
		text = *end ? end + 1 : end;
	}
}

void
explain_one(FILE *f, const struct explained *e)
{
	if (e->code)
		fprintf(f, "## %s (%d): %s\n", e->name, e->code,
			tcpx_err_text(e->code));
	else
		fprintf(f, "## %s: %s\n", e->name, e->title);
	if (e->says[0]) {
		fprintf(f, "\n**Says.**");
		for (const char *const *said = e->says; *said; said++)
			fprintf(f, "%s \"%s\"", said == e->says ? "" : ",", *said);
		fputc('\n', f);
	}
	set_part(f, "Symptom", e->symptom);
	set_part(f, "Cause", e->cause);
	set_part(f, "Check", e->check);
	set_part(f, "Fix", e->fix);
}

void
explain_all(FILE *f)
{
	fputs("# What can go wrong\n\n"
	      "`tcpx doctor --explain NAME` prints a section of this page; NAME is that of the\n"
	      "section, a code's number, or a whole line of a log. `tcpx doctor` looks whether this\n"
	      "machine invites any of it.\n\n"
	      "The first five are the failures that programs over GPUDirect-TCPX have met; the\n"
	      "emulator shows four of them to a client that does wrong (`tests/emu`), a GPU driver\n"
	      "in software the fifth. The others are the codes of this library, grouped by what is\n"
	      "lost: the call, one transfer, one channel, the session.\n", f);
	for (size_t i = 0; explain_at(i); i++) {
		fputc('\n', f);
		explain_one(f, explain_at(i));
	}
}
