/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a section of docs/errors.md, and printing it. */
#include "tune/doctor/explain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "tool/out_text.h"
#include "tool/tool.h"

#define ERRNOS 134 /* Linux has 133 */

bool
explain_next(struct explained *e)
{
	const char *at = strstr(e->text ? e->end : explain_page, "\n## "), *end;

	if (!at)
		return false;
	*e = (struct explained){ .text = at + strlen("\n## ") };
	sscanf(e->text, "%31[^: ] (%d)", e->name, &e->code);
	end = strstr(e->text, "\n\n## ");
	e->end = end ? end + 1 : e->text + strlen(e->text);
	return true;
}

static bool
find_number(const char *text, struct explained *e)
{
	char *end;
	long code = strtol(text, &end, 10);

	if (end == text || *end || code == 0)
		return false;
	while (explain_next(e))
		if (e->code && e->code == (code > 0 ? -code : code))
			return true;
	return false;
}

static bool
find_name(const char *text, struct explained *e)
{
	while (explain_next(e))
		if (!strcasecmp(text, e->name) ||
		    (e->code && !strcasecmp(text, e->name + strlen("TCPX_"))))
			return true;
	return false;
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

/* A piece that the section quotes is in @text. */
static bool
says(const struct explained *e, const char *text)
{
	const char *at = strstr(e->text, "**Says.**"), *stop, *end;
	char piece[64];

	if (!at || at > e->end)
		return false;
	stop = strstr(at, "\n\n");
	for (; (at = strchr(at, '"')) != NULL && at < stop; at = end + 1) {
		end = strchr(at + 1, '"');
		snprintf(piece, sizeof(piece), "%.*s", (int)(end - at - 1), at + 1);
		if (has_piece(text, piece))
			return true;
	}
	return false;
}

static bool
find_said(const char *text, struct explained *e)
{
	while (explain_next(e))
		if (says(e, text) || (e->code && (has_word(text, e->name) ||
						  strcasestr(text, tcpx_err_text(e->code)))))
			return true;
	return false;
}

/* Looks by @find from the first section on. False: no section fits. */
static bool
find_by(bool (*find)(const char *text, struct explained *e), const char *text, struct explained *e)
{
	*e = (struct explained){ .text = NULL };
	return find(text, e);
}

/* Lines contain the system's errors by name or in words; those without a section get
 * system-error's. */
static bool
find_system_error(const char *text, struct explained *e)
{
	for (int code = -1; code > -ERRNOS; code--) {
		const char *name = tcpx_err_name(code);

		if (name[0] == 'E' &&
		    (has_word(text, name) || strcasestr(text, tcpx_err_text(code)) ||
		     strcasestr(text, strerror(-code))))
			return find_by(find_said, name, e) || find_by(find_name, "system-error", e);
	}
	return false;
}

bool
explain_find(const char *text, struct explained *e)
{
	return find_by(find_number, text, e) || find_by(find_name, text, e) ||
	       find_by(find_said, text, e) || find_by(find_system_error, text, e);
}

void
explain_nearest(const char *text, char near[EXPLAIN_NAME])
{
	struct explained e = { .text = NULL };

	near[0] = '\0';
	while (explain_next(&e)) {
		const char *names[] = { near, e.name };

		if (tool_nearest(text, names, 2, sizeof(names[0])) == e.name)
			memcpy(near, e.name, sizeof(e.name));
	}
}

/* The page's lines fit a terminal: only the heading is broken, and the marks become bold. */
void
explain_one(FILE *f, const struct explained *e)
{
	const char *bold = tool_paint(f, TOOL_BOLD), *plain = tool_paint(f, TOOL_PLAIN);
	const char *at = strchr(e->text, '\n');
	char title[256];
	bool label = false;

	snprintf(title, sizeof(title), "%.*s", (int)(at - e->text), e->text);
	fputs(bold, f);
	out_wrapped(f, title, 0);
	fputs(plain, f);
	while (++at < e->end) {
		if (strncmp(at, "**", 2)) {
			fputc(*at, f);
			continue;
		}
		label = !label;
		fputs(label ? bold : plain, f);
		at++;
	}
}

void
explain_all(FILE *f)
{
	struct explained e = { .text = NULL };

	if (!isatty(fileno(f))) {
		fputs(explain_page, f);
		return;
	}
	for (const char *gap = ""; explain_next(&e); gap = "\n") {
		fputs(gap, f);
		explain_one(f, &e);
	}
}
