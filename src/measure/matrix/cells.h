/* SPDX-License-Identifier: Apache-2.0 */
/* The factors and cells of a design. */
#ifndef MEASURE_MATRIX_CELLS_H
#define MEASURE_MATRIX_CELLS_H

#include "measure/matrix/design.h"

/* Fills factors, cells and baseline of @d from d->spec. 0, -ENOMEM, TCPX_ECONFIG (logged). */
TCPX_MUST_CHECK int matrix_cells_make(struct matrix_design *d, const char *name);

#endif
