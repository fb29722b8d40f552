/* SPDX-License-Identifier: Apache-2.0 */
/* The mesh on a terminal: a row for each sender, a column for each receiver. */
#include <math.h>

#include "base/text.h"
#include "measure/mesh/result.h"
#include "measure/report/out_verdict.h"
#include "tool/out_text.h"
#include "tool/tool.h"

enum { COLUMNS_MAX = 16 }; /* of a readable matrix; the file has all */

static void
print_cell(FILE *f, const struct result_mesh *m, unsigned from, unsigned to)
{
	const struct result_mesh_pair *p = from == to ? NULL : mesh_pair(m, from, to);
	char text[OUT_QUANTITY];

	if (!p)
		fprintf(f, " %7s", from == to ? "-" : "none");
	else if (p->failed || p->wrong)
		fprintf(f, " %s%7s%s", tool_paint(f, TOOL_RED), p->failed ? "failed" : "wrong",
			tool_paint(f, TOOL_PLAIN));
	else
		fprintf(f, " %7s", out_digits(p->GBps, text));
}

static void
print_matrix(FILE *f, const struct result_mesh *m)
{
	unsigned n = (unsigned)m->ranks.n;

	if (n > COLUMNS_MAX)
		return;
	fprintf(f, "%6s", "GB/s");
	for (unsigned to = 0; to < n; to++)
		fprintf(f, " %4sto %-2u", "", to);
	fprintf(f, "\n");
	for (unsigned from = 0; from < n; from++) {
		fprintf(f, "%6u", from);
		for (unsigned to = 0; to < n; to++)
			print_cell(f, m, from, to);
		fprintf(f, "  ");
		out_plain(f, m->ranks.at[from].host);
		fputc(' ', f);
		out_plain(f, m->ranks.at[from].mem);
		fputc('\n', f);
	}
}

/* How many pairs were compared, had wrong bytes, failed. */
static void
print_checks(FILE *f, const struct result_mesh *m)
{
	size_t failed = 0, wrong = 0, checked = 0, in_part = 0;
	double least = 1;

	for (size_t i = 0; i < m->pairs.n; i++) {
		failed += m->pairs.at[i].failed;
		wrong += m->pairs.at[i].wrong != 0;
		checked += m->pairs.at[i].checked;
		if (m->pairs.at[i].checked || !(m->pairs.at[i].compared > 0))
			continue;
		in_part++;
		least = m->pairs.at[i].compared < least ? m->pairs.at[i].compared : least;
	}
	fprintf(f, "# %zu pairs: %zu compared byte by byte, ", m->pairs.n, checked);
	if (in_part)
		fprintf(f, "%zu in part (%.2g %% at least), ", in_part, 100 * least);
	fprintf(f, "%zu with wrong bytes, %zu failed\n", wrong, failed);
}

void
mesh_print(FILE *f, const struct result *r)
{
	const struct result_mesh *m = &r->mesh.at[0];
	char size[OUT_QUANTITY], stop[512];

	fprintf(f, "# mesh of %zu ranks (%s), %s of %s, %s, %s\n", m->ranks.n, m->launcher, m->op,
		out_size(m->size, size), m->dir, m->plan);
	if (m->pairs.n)
		print_matrix(f, m);
	out_verdict_stop(r, stop, sizeof(stop));
	tcpx_text_show(stop, sizeof(stop), stop);
	if (stop[0])
		fprintf(f, "# %s%s%s\n", tool_paint(f, TOOL_RED), stop, tool_paint(f, TOOL_PLAIN));
	if (!m->pairs.n)
		return;
	fprintf(f, "# a pair: mean %.2f, median %.2f, best %.2f GB/s, worst %.2f from %u to %u\n",
		m->mean_GBps, m->median_GBps, m->best_GBps, m->worst_GBps, m->worst_from, m->worst_to);
	fprintf(f, "# at a time: %.2f GB/s in all; fairness %.3f (1: all pairs alike)\n",
		m->together_GBps, isfinite(m->fairness) ? m->fairness : 0);
	print_checks(f, m);
}
