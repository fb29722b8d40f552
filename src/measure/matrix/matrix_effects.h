/* SPDX-License-Identifier: Apache-2.0 */
/* The effects of a design: as the spec declares them, or what its cells allow. */
#ifndef TOOL_MATRIX_EFFECTS_H
#define TOOL_MATRIX_EFFECTS_H

#include "measure/matrix/matrix_design.h"

/* Fills d->effects once cells and baseline stand. 0 or TCPX_ECONFIG (logged). */
TCPX_MUST_CHECK int matrix_effects_make(struct matrix_design *d, const char *name);

#endif
