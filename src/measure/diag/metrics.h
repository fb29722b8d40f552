/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures in a command's output: the table of nccl-tests, the lines "[PERF] Avg (N iter):
 * ..." of the p2p benchmark, and the tables of tcpx perf. Pure: lines in, points out; other
 * lines are skipped.
 */
#ifndef MEASURE_DIAG_METRICS_H
#define MEASURE_DIAG_METRICS_H

#include <stddef.h>
#include <stdint.h>

#define DIAG_POINTS_MAX 10000
#define DIAG_LINE 4096 /* bytes read of a longer line */

enum diag_kind { DIAG_NOTHING, DIAG_NCCL, DIAG_P2P };

struct diag_point {
	char label[24];       /* "GPU 3", "in-place"; "" if there is only one   */
	uint64_t size;        /* bytes; 0 unknown                               */
	uint64_t iters;       /* 0 unknown                                      */
	double time_us, algbw_GBps, busbw_GBps; /* NAN unknown                  */
	double wrong;         /* values that differed; NAN not checked          */
};

struct diag_metrics {
	enum diag_kind kind;
	char operation[32];   /* "all_reduce", "p2p"; "" unknown                */
	struct diag_point *at;
	unsigned n, room;
	double avg_busbw_GBps; /* as the command printed it; NAN unknown        */
	uint64_t window;      /* messages a channel may have in flight; 0 unknown */
	/* facts from earlier lines for later ones */
	char label[24];
	uint64_t size, iters;
	double time_us;
	int table;            /* of diag_metrics.c                              */
	char head[256];       /* of our table                                 */
	char line[DIAG_LINE];
	unsigned line_len;
};

void diag_metrics_init(struct diag_metrics *m);
void diag_metrics_fini(struct diag_metrics *m);
/* Takes output in pieces; diag_metrics_end() after the last. */
void diag_metrics_feed(struct diag_metrics *m, const char *bytes, size_t len);
void diag_metrics_end(struct diag_metrics *m);
/* Takes the command's words: "all_reduce_perf" names the operation. */
void diag_metrics_command(struct diag_metrics *m, char *const *words);

/* "nccl", "p2p"; NULL for none. Static. */
const char *diag_kind_name(enum diag_kind kind);

#endif
