/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of our table: those that are filled, as many as the terminal has room for. */
#ifndef MEASURE_REPORT_OUT_COLUMNS_H
#define MEASURE_REPORT_OUT_COLUMNS_H

#include <stdio.h>

#include "measure/report/out.h"
#include "measure/report/row.h"

/* The heading, chosen by the first row of @r, which it is for. */
void out_columns_head(FILE *f, const struct result *r, const struct out_view *v);
void out_columns_row(FILE *f, const struct result *r, const struct row *row,
		     const struct out_view *v);

#endif
