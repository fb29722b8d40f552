/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pictures of a report, each one <svg>. A picture of nothing is not drawn.
 */
#ifndef TOOL_SVG_PLOT_H
#define TOOL_SVG_PLOT_H

#include <stdio.h>

#include "measure/report/row.h"

#define SVG_SERIES_MAX 6 /* distinguishable colours */

/* Speed (or with --lat time) over size, one line a record, the baselines dashed; only
 * the first SVG_SERIES_MAX records. */
void svg_curve(FILE *f, const struct result *results, size_t n);
/* The ratio of every pair, their median and its interval; at most 40 pairs. */
void svg_pairs(FILE *f, const struct row *row);
/* One bar a NIC. */
void svg_shares(FILE *f, const struct row *row);
/* One bar a size, split by stage; at most 12 rows, evenly chosen. */
void svg_stages(FILE *f, const struct result *r);
/* Half round trips, with the percentiles marked. */
void svg_histogram(FILE *f, const struct row *row);

#endif
