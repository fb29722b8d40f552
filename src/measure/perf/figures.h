/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what was measured to the record: one row, and what stands above all rows.
 */
#ifndef MEASURE_PERF_FIGURES_H
#define MEASURE_PERF_FIGURES_H

#include <stdio.h>

#include "measure/perf/load_ring.h"
#include "measure/report/row.h"

/* Everything of @row but baseline and pairs. */
void perf_fill_row(struct load *l, const struct load_stats *stats, struct row *row);
/* Percentiles of a histogram of ns, times @scale. */
struct row_time perf_time_of(const struct tcpx_hist *hist, double sum_us, double square_us,
			     double scale);

/* Name of the peer, provider, NICs, settings, topology. */
void perf_fill_result(struct perf *p, struct result *r);
/* What was agreed with the server: GPUs of both sides, who copies, where threads run. */
void perf_fill_job(struct perf *p, struct result *r);
/* "# 16 channels: 4 per NIC (eth0 eth1 eth2 eth3), chunk ..., window ...,
 * threads ...". */
void perf_print_session(struct perf *p, FILE *f);
/* Says on stderr which NICs and channels are missing. False if none is. */
bool perf_warn_degraded(struct perf *p);

/* Compares with plain sockets, pair by pair, and fills the baseline's part of @row; our
 * runs are added to @stats. @iters: of one run. */
TCPX_MUST_CHECK int perf_pairs(struct load *l, uint64_t iters, struct load_stats *stats,
			       struct row *row);

/* Length of a run of a pair when -n does not say: 0.1 s. */
enum { PERF_RUN_NS = 100 * 1000 * 1000 };

#endif
