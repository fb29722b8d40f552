/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two output formats of one document. Markdown texts lose characters that would be markup.
 */
#include "measure/matrix/matrix_doc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "measure/report/html_parts.h"
#include "tool/out_text.h"

static const char own_style[] =
"h2 { margin-top: 44px; } p, li { max-width: 56em; } .scroll { margin: 12px 0 20px; }\n"
"svg .h { fill: var(--c0); } svg .h0 { fill-opacity: .06; } svg .h1 { fill-opacity: .18; }\n"
"svg .h2 { fill-opacity: .30; } svg .h3 { fill-opacity: .42; } svg .h4 { fill-opacity: .54; }\n"
"svg .h5 { fill-opacity: .66; } svg .h6 { fill-opacity: .78; } svg .h7 { fill-opacity: .92; }\n"
"svg .void { fill: none; stroke: var(--line); stroke-dasharray: 2 3; }\n"
"svg .over { fill: var(--in); } svg .f6 { fill: var(--base); }\n"
"svg .margin { fill: var(--base); opacity: .14; } svg .whisker { stroke: var(--ink); stroke-width: 2; }\n";

static void
markdown(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '\n' || *s == '\r' || *s == '\t')
			fputc(' ', f);
		else if (*s == '<')
			fputs("&lt;", f);
		else if ((unsigned char)*s < ' ' || *s == 0x7f)
			fputc('?', f);
		else {
			if (strchr("|*`\\[]", *s))
				fputc('\\', f);
			fputc(*s, f);
		}
	}
}

static void __attribute__((format(printf, 2, 0)))
text_put(struct matrix_doc *d, const char *fmt, va_list ap)
{
	char *text, *clean;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	clean = out_utf8_clean(text);
	if (clean && d->html)
		out_escape(d->f, clean);
	else if (clean)
		markdown(d->f, clean);
	free(clean);
	free(text);
}

void
matrix_doc_open(struct matrix_doc *d, FILE *f, bool html, const char *title, const char *above)
{
	*d = (struct matrix_doc){ .f = f, .html = html };
	if (html) {
		html_open(f, title, own_style);
		html_el(f, "p", "eyebrow", "%s", above);
		html_el(f, "h1", NULL, "%s", title);
		return;
	}
	fputs("# ", f);
	markdown(f, title);
	fputs("\n\n", f);
	markdown(f, above);
	fputs("\n", f);
}

void
matrix_doc_close(struct matrix_doc *d, const char *foot)
{
	if (d->html) {
		html_el(d->f, "footer", NULL, "%s", foot);
		fputs("\n</main>\n</body>\n</html>\n", d->f);
		return;
	}
	fputs("\n---\n\n", d->f);
	markdown(d->f, foot);
	fputs("\n", d->f);
}

void
matrix_doc_section(struct matrix_doc *d, const char *title)
{
	if (d->html) {
		html_el(d->f, "h2", NULL, "%s", title);
		fputc('\n', d->f);
	} else {
		fputs("\n## ", d->f);
		markdown(d->f, title);
		fputc('\n', d->f);
	}
}

void
matrix_doc_text(struct matrix_doc *d, const char *fmt, ...)
{
	va_list ap;

	fputs(d->html ? "<p>" : "\n", d->f);
	va_start(ap, fmt);
	text_put(d, fmt, ap);
	va_end(ap);
	fputs(d->html ? "</p>\n" : "\n", d->f);
}

void
matrix_doc_bold(struct matrix_doc *d, const char *fmt, ...)
{
	va_list ap;

	fputs(d->html ? "<p><b>" : "\n**", d->f);
	va_start(ap, fmt);
	text_put(d, fmt, ap);
	va_end(ap);
	fputs(d->html ? "</b></p>\n" : "**\n", d->f);
}

void
matrix_doc_item(struct matrix_doc *d, const char *fmt, ...)
{
	va_list ap;

	fputs(d->html ? "<li>" : "\n- ", d->f);
	va_start(ap, fmt);
	text_put(d, fmt, ap);
	va_end(ap);
	fputs(d->html ? "</li>\n" : "\n", d->f);
}

void
matrix_doc_code(struct matrix_doc *d, const char *text)
{
	if (d->html) {
		html_el(d->f, "pre", NULL, "%s", text);
		fputc('\n', d->f);
		return;
	}
	fputs("\n    ", d->f);
	for (; *text; text++) {
		fputc(*text, d->f);
		if (*text == '\n' && text[1])
			fputs("    ", d->f);
	}
	fputc('\n', d->f);
}

void
matrix_doc_table(struct matrix_doc *d, const char *const *head)
{
	d->columns = d->at = 0;
	while (head[d->columns])
		d->columns++;
	fputs(d->html ? "<div class=\"scroll\"><table><thead><tr>" : "\n|", d->f);
	for (size_t i = 0; i < d->columns; i++) {
		if (d->html) {
			html_el(d->f, "th", NULL, "%s", head[i]);
		} else {
			fputc(' ', d->f);
			markdown(d->f, head[i]);
			fputs(" |", d->f);
		}
	}
	fputs(d->html ? "</tr></thead><tbody>\n" : "\n|", d->f);
	for (size_t i = 0; !d->html && i < d->columns; i++)
		fputs(" --- |", d->f);
	fputs(d->html ? "" : "\n", d->f);
}

void
matrix_doc_cell(struct matrix_doc *d, const char *fmt, ...)
{
	va_list ap;

	if (!d->at)
		fputs(d->html ? "<tr>" : "|", d->f);
	fputs(d->html ? "<td>" : " ", d->f);
	va_start(ap, fmt);
	text_put(d, fmt, ap);
	va_end(ap);
	fputs(d->html ? "</td>" : " |", d->f);
	if (++d->at < d->columns)
		return;
	d->at = 0;
	fputs(d->html ? "</tr>\n" : "\n", d->f);
}

void
matrix_doc_table_end(struct matrix_doc *d)
{
	fputs(d->html ? "</tbody></table></div>\n" : "", d->f);
}

bool
matrix_doc_figure(struct matrix_doc *d, const char *caption)
{
	if (!d->html)
		return false;
	html_el(d->f, "p", "hint", "%s", caption);
	fputs("<figure>\n", d->f);
	return true;
}

void
matrix_doc_figure_end(struct matrix_doc *d)
{
	fputs("</figure>\n", d->f);
}
