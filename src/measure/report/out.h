/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record, many prints. Tables grow as the run goes: head once, one row when it is
 * measured, foot at the end. CSV is the same. JSON is whole only at the end, so its
 * head and rows print nothing. Never mixes units: GB is 1e9 bytes everywhere.
 */
#ifndef MEASURE_REPORT_OUT_H
#define MEASURE_REPORT_OUT_H

#include <stdio.h>

#include "measure/report/row.h"

enum out_format { OUT_TABLE, OUT_NCCL, OUT_CSV, OUT_JSON };

/* By enum out_format; NULL-terminated. */
extern const char *const out_format_names[];

struct out_view {
	bool lat;       /* columns of --lat                                        */
	bool verbose;   /* all that there is to say above and below the rows       */
	unsigned width; /* of the terminal                                         */
};
#define OUT_WIDE 1000 /* the width for all columns */

/* @r: everything but the rows must be filled in. */
void out_head(FILE *f, enum out_format format, const struct result *r, const struct out_view *v);
/* A row of @r. */
void out_row(FILE *f, enum out_format format, const struct result *r, const struct row *row,
	     const struct out_view *v);
/* Averages, totals; the whole text for JSON. */
void out_foot(FILE *f, enum out_format format, const struct result *r, const struct out_view *v);
/* As wide as the terminal that @f is, or OUT_COLUMNS. */
unsigned out_width(FILE *f);
/* head, all rows, foot; v->lat is as the rows have it. */
void out_all(FILE *f, enum out_format format, const struct result *r, const struct out_view *v);

#endif
