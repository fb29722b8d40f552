/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the record. */
#ifndef MEASURE_REPORT_RESULT_FIELDS_H
#define MEASURE_REPORT_RESULT_FIELDS_H

#include "tool/shape.h"

extern const struct shape result_shape, row_shape, mesh_shape, mesh_pair_shape;
/* One side's row_nic_counters, which has none of the sides' names yet. */
extern const struct shape nic_counters_shape;

#endif
