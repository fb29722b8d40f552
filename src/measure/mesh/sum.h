/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and averages over the pairs of a mesh. */
#ifndef MEASURE_MESH_SUM_H
#define MEASURE_MESH_SUM_H

#include "measure/report/row.h"

/* Fills the figures of @m from its pairs; those that failed count as 0 GB/s. */
void mesh_sum(struct result_mesh *m);
/* Jain's index: 1 if all are equal, 1/n if one has all; NAN for none or all 0. */
double mesh_fairness(const double *v, size_t n);

#endif
