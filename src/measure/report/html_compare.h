/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several records in one report: what the others do beside the first, with an interval where
 * there are enough runs, and in what they differ.
 */
#ifndef MEASURE_REPORT_HTML_COMPARE_H
#define MEASURE_REPORT_HTML_COMPARE_H

#include <jansson.h>

#include "measure/report/row.h"

/* How far @b lies from @a, 0.1: a tenth more; of speeds, with --lat of times. */
struct change {
	double mean;
	double lo, hi;       /* the interval at 95 %; NAN where a record has fewer than 6 pairs */
};
/* Of rows of the same size and kind: with 6 pairs in each by their blocks, else by the figures
 * alone. */
struct change compare_rows(const struct row *a, const struct row *b);

/* Adds the title, "compared" to each of @page's records, and "differs". */
void compare_add(json_t *page, const struct result *results, size_t n);

#endif
