/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables behind out.h: ours, and two that people know from other tools. Those two
 * keep the columns of their models, byte for byte where a column is ours to fill.
 */
#ifndef TOOL_OUT_LAYOUT_H
#define TOOL_OUT_LAYOUT_H

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

/* perftest (ib_write_bw, ib_write_lat), whose MB are 2^20 bytes. */
void out_perftest_head(FILE *f, const struct result *r, const struct out_view *v);
void out_perftest_row(FILE *f, const struct result *r, const struct row *row,
		      const struct out_view *v);
void out_perftest_foot(FILE *f, const struct result *r, const struct out_view *v);

/* iperf3 -J: a document of the only size. */
void out_iperf3_foot(FILE *f, const struct result *r, const struct out_view *v);

#endif
