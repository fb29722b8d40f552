/* SPDX-License-Identifier: Apache-2.0 */
/* The report's page about a mesh: a headline, the matrix, the ranks. */
#include <math.h>

#include "measure/report/html_parts.h"
#include "measure/mesh/mesh_result.h"
#include "measure/mesh/mesh_sum.h"
#include "tool/out_text.h"

static void
card(FILE *f, const char *css, const char *about, double v, const char *unit, const char *under)
{
	char text[OUT_QUANTITY];

	fputs("<div>", f);
	html_el(f, "dt", NULL, "%s", about);
	fprintf(f, "<dd class=\"%s\">", css);
	out_escape(f, isfinite(v) ? out_digits(v, text) : "\u2013");
	fputc(' ', f);
	html_el(f, "small", NULL, "%s", unit);
	fputs("</dd>", f);
	html_el(f, "dd", "under", "%s", under);
	fputs("</div>\n", f);
}

static void
headline(FILE *f, const struct result_mesh *m)
{
	char text[128];
	bool good = mesh_is_good(m);

	html_el(f, "h1", NULL, "%s", mesh_headline(m, text, sizeof(text)));
	fputs("\n<p class=\"lead\">", f);
	html_el(f, "b", good ? "good" : "bad", "%s",
		good ? "Every pair was measured, and no byte was wrong."
		     : "A pair failed, is missing, or had wrong bytes.");
	fputs("</p>\n<dl class=\"cards\">\n", f);
	card(f, "", "a pair, mean", m->mean_GBps, "GB/s", "over all directions");
	snprintf(text, sizeof(text), "from %u to %u", m->worst_from, m->worst_to);
	card(f, "", "the worst pair", m->worst_GBps, "GB/s", text);
	card(f, "", "at a time, in all", m->together_GBps, "GB/s", "pairs of one step");
	card(f, "", "fairness", m->fairness, "", "Jain's index; 1: all pairs alike");
	fputs("</dl>\n", f);
}

static void
section(FILE *f, const char *title, const char *hint)
{
	fputs("<section>\n", f);
	html_el(f, "h2", NULL, "%s", title);
	html_el(f, "p", "hint", "%s", hint);
	fputs("\n<figure>\n<div class=\"scroll\"><table>\n", f);
}

static void
section_end(FILE *f)
{
	fputs("</tbody></table></div>\n</figure>\n</section>\n", f);
}

/* The less of the median, the warmer. */
static void
cell(FILE *f, const struct result_mesh *m, unsigned from, unsigned to)
{
	const struct result_mesh_pair *p = from == to ? NULL : mesh_pair(m, from, to);
	char text[OUT_QUANTITY];

	if (!p)
		html_el(f, "td", "n q", "%s", from == to ? "" : "none");
	else if (p->failed || p->wrong)
		html_el(f, "td", "n b bad", "%s", p->failed ? "failed" : "wrong");
	else
		html_el(f, "td", p->GBps < 0.8 * m->median_GBps ? "n warn" : "n", "%s",
			out_digits(p->GBps, text));
}

static void
matrix(FILE *f, const struct result_mesh *m)
{
	unsigned n = (unsigned)m->ranks.n;

	section(f, "From each to each",
		"GB/s, a row a sender, a column a receiver. Marked: less than 0.8 of the median.");
	fputs("<thead><tr>", f);
	html_el(f, "th", NULL, "%s", "from");
	for (unsigned to = 0; to < n; to++)
		html_el(f, "th", "n", "to %u", to);
	fputs("</tr></thead>\n<tbody>\n", f);
	for (unsigned from = 0; from < n; from++) {
		fputs("<tr>", f);
		html_el(f, "td", "b", "%u", from);
		for (unsigned to = 0; to < n; to++)
			cell(f, m, from, to);
		fputs("</tr>\n", f);
	}
	section_end(f);
}

static void
ranks(FILE *f, const struct result_mesh *m)
{
	section(f, "Ranks", "As the launcher counts them.");
	fputs("<thead><tr>", f);
	html_el(f, "th", NULL, "%s", "rank");
	html_el(f, "th", NULL, "%s", "host");
	html_el(f, "th", "n", "%s", "rank there");
	html_el(f, "th", NULL, "%s", "memory");
	fputs("</tr></thead>\n<tbody>\n", f);
	for (size_t i = 0; i < m->ranks.n; i++) {
		const struct result_mesh_rank *r = &m->ranks.at[i];

		fputs("<tr>", f);
		html_el(f, "td", "b", "%u", r->rank);
		html_el(f, "td", NULL, "%s", r->host);
		html_el(f, "td", "n", "%u", r->local_rank);
		html_el(f, "td", "mono", "%s", r->mem);
		fputs("</tr>\n", f);
	}
	section_end(f);
}

void
html_mesh(FILE *f, const struct result *r)
{
	const struct result_mesh *m = &r->mesh.at[0];

	headline(f, m);
	matrix(f, m);
	ranks(f, m);
}
