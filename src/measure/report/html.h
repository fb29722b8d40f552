/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: one HTML file that needs nothing else, made of one or several records.
 * Every text from a record is escaped on its way in.
 */
#ifndef MEASURE_REPORT_HTML_H
#define MEASURE_REPORT_HTML_H

#include "measure/report/row.h"

/* Records of one report: as many as there are colours to distinguish. */
enum { REPORT_RECORDS_MAX = 6 };

/* The page's template: report.html in frame.html. */
extern const char report_html[];

/* Writes the report about @results (n >= 1; the first is the subject, others are
 * compared with it) to @path, "-" for stdout. 0 or -errno, logged once. */
int report_write(const struct result *results, size_t n, const char *path);

#endif
