/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables behind out.h: this tool's, and that of nccl-tests, which keeps the columns of its
 * model, byte for byte where a column is ours to fill.
 */
#ifndef MEASURE_REPORT_OUT_LAYOUT_H
#define MEASURE_REPORT_OUT_LAYOUT_H

#include <stdio.h>

#include "measure/report/out.h"
#include "measure/report/row.h"

void out_table_head(FILE *f, const struct result *r, const struct out_view *v);
void out_table_row(FILE *f, const struct result *r, const struct row *row,
		      const struct out_view *v);
void out_table_foot(FILE *f, const struct result *r, const struct out_view *v);

/* nccl-tests: a transfer has no in-place form, so both halves show the same figures. */
void out_nccl_head(FILE *f, const struct result *r, const struct out_view *v);
void out_nccl_row(FILE *f, const struct result *r, const struct row *row,
		      const struct out_view *v);
void out_nccl_foot(FILE *f, const struct result *r, const struct out_view *v);

#endif
