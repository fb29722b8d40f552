/* SPDX-License-Identifier: Apache-2.0 */
/* Specs of experiments: refused, or cells and effects that hold together. */
#include "fuzz.h"
#include "measure/matrix/design.h"

#include <string.h>

FUZZ_QUIETLY

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	unsigned char order[MATRIX_CELLS_MAX];
	struct matrix_design d;
	struct matrix_spec s;

	if (matrix_spec_parse((const char *)data, len, "fuzz", &s))
		return 0;
	promise(s.n >= 1 && s.margin > 0 && s.margin <= 1 && s.blocks >= 1 && s.timeout_ms > 0);
	for (size_t i = 0; i < s.n; i++)
		for (size_t k = 0; k < s.sections[i].n; k++)
			promise(*s.sections[i].lines[k].value);
	if (!matrix_design_init(&d, &s, "fuzz")) {
		promise(d.n >= 2 && d.n <= MATRIX_CELLS_MAX && d.baseline < d.n);
		for (size_t i = 0; i < d.effect_count; i++) {
			const struct matrix_effect *e = &d.effects[i];

			promise(e->n >= 1 && e->n <= MATRIX_TERMS_MAX && e->name[0]);
			for (size_t k = 0; k < e->n; k++)
				promise(e->terms[k].above < d.n && e->terms[k].below < d.n &&
					e->terms[k].above != e->terms[k].below);
		}
		for (size_t i = 0; i < d.n; i++)
			promise(d.cells[i].name[0] && d.cells[i].same < (int)i);
		matrix_order(d.n, s.seed, 0, order);
		matrix_design_fini(&d);
	}
	matrix_spec_fini(&s);
	return 0;
}
