/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram of nanoseconds (or any counts). Exact up to 127; above that 128 buckets for
 * each power of two, so a value read back is within 1 % of one that was put in. A plain
 * value of 34 KiB; one thread at a time.
 */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define TCPX_HIST_SUB_BITS 7
#define TCPX_HIST_BITS     40 /* 2^40 ns is 18 minutes */
#define TCPX_HIST_MAX      ((1ull << TCPX_HIST_BITS) - 1)
#define TCPX_HIST_BUCKETS  ((TCPX_HIST_BITS - TCPX_HIST_SUB_BITS + 1) << TCPX_HIST_SUB_BITS)

struct tcpx_hist {
	uint64_t count;
	uint64_t sum;
	uint64_t min; /* 0 while empty */
	uint64_t max;
	uint64_t buckets[TCPX_HIST_BUCKETS];
};

struct tcpx_hist_bucket {
	uint64_t low, high; /* values in the bucket, both included */
	uint64_t count;
};

void tcpx_hist_init(struct tcpx_hist *h);
/* Values above TCPX_HIST_MAX count as it. */
void tcpx_hist_add(struct tcpx_hist *h, uint64_t v);
void tcpx_hist_merge(struct tcpx_hist *h, const struct tcpx_hist *other);
/* Nearest rank: the place, 1 to @count, of the smallest of @count rising values that at least
 * @percent of them (0 to 100, in millionths) do not exceed; 0 for no values. */
uint64_t tcpx_rank(double percent, uint64_t count);
/* The value at that rank; 0 while empty. 0 gives the minimum and 100 the maximum, both exactly. */
uint64_t tcpx_hist_percentile(const struct tcpx_hist *h, double percent);
double tcpx_hist_mean(const struct tcpx_hist *h);
/* Walks the buckets that are not empty, rising. *at starts at 0. False at the end. */
bool tcpx_hist_next(const struct tcpx_hist *h, unsigned *at, struct tcpx_hist_bucket *bucket);

#endif
