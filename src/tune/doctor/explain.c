/* SPDX-License-Identifier: Apache-2.0 */
/* Finding an explanation, and formatting it. */
#include "tune/doctor/explain.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "tool/out_text.h"
#include "tool/tool.h"

#define ERRNOS 134 /* Linux has 133 */

const struct explained *
explain_at(size_t i)
{
	if (i < explain_class_count)
		return &explain_classes[i];
	i -= explain_class_count;
	if (i < explain_code_count)
		return &explain_codes[i];
	i -= explain_code_count;
	return i < explain_other_count ? &explain_others[i] : NULL;
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
		if (!isalnum((unsigned char)at[len]) && at[len] != '_' &&
		    (at == line || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')))
			return 1;
	return 0;
}

/* A piece is words in any case, or the name of a system error. */
static int
has_piece(const char *line, const char *piece)
{
	bool name = isupper((unsigned char)piece[0]) && isupper((unsigned char)piece[1]);

	return name ? has_word(line, piece) : strcasestr(line, piece) != NULL;
}

static const struct explained *
find_said(const char *text)
{
	const struct explained *e;

	for (size_t i = 0; (e = explain_at(i)) != NULL; i++) {
		for (const char *const *said = e->says; *said; said++)
			if (has_piece(text, *said))
				return e;
		if (e->code && (has_word(text, e->name) || strcasestr(text, tcpx_err_text(e->code))))
			return e;
	}
	return NULL;
}

/* Lines contain the system's errors by name or in words; those without an entry
 * get the last one. */
static const struct explained *
find_system_error(const char *text)
{
	for (int code = -1; code > -ERRNOS; code--) {
		const char *name = tcpx_err_name(code);
		const struct explained *e;

		if (name[0] != 'E' ||
		    (!has_word(text, name) && !strcasestr(text, tcpx_err_text(code)) &&
		     !strcasestr(text, strerror(-code))))
			continue;
		e = find_said(name);
		return e ? e : &explain_others[explain_other_count - 1];
	}
	return NULL;
}

static const struct explained *
find_line(const char *text)
{
	const struct explained *e = find_said(text);

	return e ? e : find_system_error(text);
}

const struct explained *
explain_find(const char *text)
{
	const struct explained *e = find_number(text);

	if (!e)
		e = find_name(text);
	return e ? e : find_line(text);
}

/* How headings look, and where lines end. */
struct style {
	const char *head, *head_end, *label, *label_end;
	size_t columns;
};

static const struct style markdown = { "## ", "", "**", "**", 90 };

static struct style
plain_style(FILE *f)
{
	const char *bold = tool_paint(f, TOOL_BOLD), *end = tool_paint(f, TOOL_PLAIN);

	return (struct style){ bold, end, bold, end, OUT_COLUMNS };
}

/* Formats one paragraph from @at to @end; the first line begins behind @column. */
static void
set_paragraph(FILE *f, const struct style *s, const char *at, const char *end, size_t column)
{
	while (at < end) {
		size_t len = strcspn(at, " \n");

		if (column && column + 1 + len > s->columns) {
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

/* The columns that it takes on a page; a terminal shows no paint. */
static size_t
set_label(FILE *f, const struct style *s, const char *label)
{
	fprintf(f, "\n%s%s.%s", s->label, label, s->label_end);
	return strlen(label) + strlen(".") + (s == &markdown ? strlen("****") : 0);
}

static void
set_part(FILE *f, const struct style *s, const char *label, const char *text)
{
	bool command = false;
	size_t column = set_label(f, s, label);

	while (*text) {
		const char *end = strchrnul(text, '\n');

		if (!strncmp(text, "    ", 4)) {
			fprintf(f, "%s%.*s\n", command ? "" : "\n", (int)(end - text), text);
			command = true;
		} else {
			if (!column)
				fputc('\n', f);
			set_paragraph(f, s, text, end, column);
			command = false;
		}
		column = 0;
		text = *end ? end + 1 : end;
	}
}

static void
set_says(FILE *f, const struct style *s, const struct explained *e)
{
	size_t column = set_label(f, s, "Says");

	for (const char *const *said = e->says; *said; said++) {
		size_t len = strlen(*said) + strlen(" \"\",");

		fprintf(f, "%s%c\"%s\"", said == e->says ? "" : ",",
			column + len > s->columns ? '\n' : ' ', *said);
		column = column + len > s->columns ? len : column + len;
	}
	fputc('\n', f);
}

static void
set_one(FILE *f, const struct style *s, const struct explained *e)
{
	char title[256];

	if (e->code)
		snprintf(title, sizeof(title), "%s (%d): %s", e->name, e->code,
			 tcpx_err_text(e->code));
	else
		snprintf(title, sizeof(title), "%s: %s", e->name, e->title);
	fputs(s->head, f);
	if (s == &markdown) /* a heading is one line */
		fprintf(f, "%s\n", title);
	else
		out_wrapped(f, title, 0);
	fputs(s->head_end, f);
	if (e->says[0])
		set_says(f, s, e);
	set_part(f, s, "Symptom", e->symptom);
	set_part(f, s, "Cause", e->cause);
	set_part(f, s, "Check", e->check);
	set_part(f, s, "Fix", e->fix);
}

void
explain_one(FILE *f, const struct explained *e)
{
	struct style s = plain_style(f);

	set_one(f, &s, e);
}

void
explain_all(FILE *f)
{
	struct style s = plain_style(f);
	const struct style *use = isatty(fileno(f)) ? &s : &markdown;

	if (use == &markdown)
		fputs("# What can go wrong\n\n"
		      "`tcpx doctor --explain NAME` prints a section of this page; NAME is that of the\n"
		      "section, a code's number, or a whole line of a log. `tcpx doctor` looks whether this\n"
		      "machine invites any of it.\n\n"
		      "The first five are the failures that programs over GPUDirect-TCPX have met; the\n"
		      "emulator shows four of them to a client that does wrong (`tests/emu`), a GPU driver\n"
		      "in software the fifth. Then come the codes of this library, grouped by what is lost:\n"
		      "the call, one transfer, one channel, the session. Last are lines of programs without\n"
		      "a code, and what the system refuses.\n", f);
	for (size_t i = 0; explain_at(i); i++) {
		if (i || use == &markdown)
			fputc('\n', f);
		set_one(f, use, explain_at(i));
	}
}
