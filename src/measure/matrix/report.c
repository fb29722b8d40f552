/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a study for a terminal. */
#include "measure/matrix/report.h"

#include <math.h>
#include <string.h>

#include "tool/out_text.h"

enum { VERDICT_AT = 62 }; /* the column where the last one begins */

void
matrix_report_verdict(const struct matrix_data *m, char *buf, size_t cap)
{
	const struct matrix_analysis *a = &m->analysis;
	const struct matrix_estimate *e;

	if (a->decisive < 0) {
		snprintf(buf, cap, "inconclusive: no primary effect could be measured");
		return;
	}
	e = &a->effects[a->decisive];
	if (e->n < 2)
		snprintf(buf, cap, "inconclusive: %s was measured in %zu blocks; at least %zu are "
			 "needed", m->design.effects[a->decisive].name, e->n, a->least);
	else if (a->verdict == MATRIX_INCONCLUSIVE)
		snprintf(buf, cap, "inconclusive: %s is %.3f (%.3f to %.3f); about %zu blocks are "
			 "needed in all, %zu were measured", m->design.effects[a->decisive].name,
			 e->ratio, e->ci.lo, e->ci.hi, a->needed, e->n);
	else
		snprintf(buf, cap, "%s: %s is %.3f (%.3f to %.3f), margin %.3g %%",
			 matrix_verdict_text(a->verdict), m->design.effects[a->decisive].name,
			 e->ratio, e->ci.lo, e->ci.hi, 100 * m->spec.margin);
}

void
matrix_report_print(const struct matrix_data *m, FILE *f)
{
	char text[512];

	fprintf(f, "%-16s %6s %6s  %-14s %7s %5s  verdict\n", "effect", "blocks", "ratio",
		"interval", "p, Holm", "needs");
	for (size_t i = 0; i < m->design.effect_count; i++) {
		const struct matrix_estimate *v = &m->analysis.effects[i];
		const char *name = m->design.effects[i].name; /* a long one has a line */

		fprintf(f, "%-16s%s", name, strlen(name) > 16 ? "\n                " : "");
		fprintf(f, " %6zu", v->n);
		if (v->n < 2) {
			fprintf(f, " %6s  %-14s %7s %5s  ", "-", "-", "-", "-");
			out_wrapf(f, VERDICT_AT, "%s", v->terms ? "too few blocks" :
				  "left out");
			continue;
		}
		snprintf(text, sizeof(text), "%.3f .. %.3f", v->ci.lo, v->ci.hi);
		fprintf(f, " %6.3f  %-14s %7.2g %5zu  ", v->ratio, text,
			isfinite(v->p_holm) ? v->p_holm : v->p, v->needed);
		out_wrapf(f, VERDICT_AT, "%s", matrix_verdict_text(v->verdict));
	}
	matrix_report_verdict(m, text, sizeof(text));
	fputc('\n', f);
	out_wrapf(f, 0, "%s", text);
	out_wrapf(f, 0, "%s", matrix_letter_text(m->analysis.letter));
}
