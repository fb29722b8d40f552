/* SPDX-License-Identifier: Apache-2.0 */
/* The decision report. */
#ifndef MEASURE_MATRIX_REPORT_H
#define MEASURE_MATRIX_REPORT_H

#include "measure/matrix/data.h"

/* Templates of the report, both of page.md. */
extern const char matrix_html[], matrix_md[];

/* Writes the report to @path ("-": stdout), as HTML or Markdown. 0 or -errno, logged. */
TCPX_MUST_CHECK int matrix_report_write(const struct matrix_data *m, const char *path, bool html);
/* The effects and the verdict for a terminal. */
void matrix_report_print(const struct matrix_data *m, FILE *f);
/* The study's result in one sentence. */
void matrix_report_verdict(const struct matrix_data *m, char *buf, size_t cap);

#endif
