/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pictures of a report, each one <svg> of that width. A picture of nothing is not drawn.
 */
#ifndef TOOL_SVG_PLOT_H
#define TOOL_SVG_PLOT_H

#include <stdio.h>

#include "measure/report/row.h"
#include "measure/report/svg_chart.h"

/* Speed (or with --lat time) over size, one line a record, the baselines dashed; only
 * the first SVG_SERIES_MAX records. */
void svg_curve(FILE *f, double width, const struct result *results, size_t n);
/* Speed over time of each record's subject that has a series. */
void svg_rate(FILE *f, double width, const struct result *results, size_t n);
/* CPU seconds of a GB over size: of each end and of both, and of raw sockets. */
void svg_cpu(FILE *f, double width, const struct result *r);
/* The ratio of every pair, their median and its interval; at most 40 pairs. */
void svg_pairs(FILE *f, double width, const struct row *row);
/* One bar a NIC. */
void svg_shares(FILE *f, double width, const struct row *row);
/* One bar a size, split by stage after a channel took the chunk; at most 12 rows, evenly
 * chosen. */
void svg_stages(FILE *f, double width, const struct result *r);
/* Times of transfers, with --lat half round trips, with the percentiles marked. */
void svg_histogram(FILE *f, double width, const struct row *row);

#endif
