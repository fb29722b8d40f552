/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures in what a command printed: the table of nccl-tests, the lines "[PERF] Avg (N iter):
 * ..." of the p2p benchmark, and the tables of tcpx perf. Pure: lines in, points out; lines
 * that are none of these are for people and are passed over.
 */
#ifndef TOOL_DIAG_METRICS_H
#define TOOL_DIAG_METRICS_H

#include <stddef.h>
#include <stdint.h>

#define DIAG_POINTS_MAX 10000
#define DIAG_LINE 4096 /* of a longer line only so much is read */

enum diag_kind { DIAG_NOTHING, DIAG_NCCL, DIAG_P2P };

struct diag_point {
	char label[24];       /* "GPU 3", "in-place"; "" the only one           */
	uint64_t size;        /* bytes; 0 not told                              */
	uint64_t iters;       /* 0 not told                                     */
	double time_us, algbw_GBps, busbw_GBps; /* NAN not told                 */
	double wrong;         /* values that differed; NAN not checked          */
};

struct diag_metrics {
	enum diag_kind kind;
	char operation[32];   /* "all_reduce", "p2p"; "" not told               */
	struct diag_point *at;
	unsigned n, room;
	double avg_busbw_GBps; /* as the command says it; NAN not told          */
	/* what earlier lines said of later ones */
	char label[24];
	uint64_t size, iters;
	double time_us;
	int table;            /* of diag_metrics.c                              */
	char line[DIAG_LINE];
	unsigned line_len;
};

void diag_metrics_init(struct diag_metrics *m);
void diag_metrics_fini(struct diag_metrics *m);
/* Output as it comes, in pieces; diag_metrics_end() after the last. */
void diag_metrics_feed(struct diag_metrics *m, const char *bytes, size_t len);
void diag_metrics_end(struct diag_metrics *m);
/* What the command's words say of it: "all_reduce_perf". */
void diag_metrics_command(struct diag_metrics *m, char *const *words);

/* "nccl", "p2p"; NULL for nothing. Static. */
const char *diag_kind_name(enum diag_kind kind);

#endif
