/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-linear histogram. The leading 8 bits of a value of e + 1 bits place it in row e - 7;
 * row 0 also holds everything below 128. bucket_of() and bucket_low() are inverses.
 */
#include "base/hist.h"

#include <string.h>

#define SUB (1u << TCPX_HIST_SUB_BITS)

static unsigned
bucket_of(uint64_t v)
{
	unsigned shift;

	if (v < SUB)
		return (unsigned)v;
	shift = 63 - (unsigned)__builtin_clzll(v) - TCPX_HIST_SUB_BITS;
	return (shift << TCPX_HIST_SUB_BITS) + (unsigned)(v >> shift);
}

static uint64_t
bucket_low(unsigned bucket)
{
	unsigned row = bucket >> TCPX_HIST_SUB_BITS;

	if (row == 0)
		return bucket;
	return (uint64_t)(SUB + bucket % SUB) << (row - 1);
}

void
tcpx_hist_init(struct tcpx_hist *h)
{
	memset(h, 0, sizeof(*h));
}

void
tcpx_hist_add(struct tcpx_hist *h, uint64_t v)
{
	if (v > TCPX_HIST_MAX)
		v = TCPX_HIST_MAX;
	if (!h->count || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->count++;
	h->sum += v;
	h->buckets[bucket_of(v)]++;
}

void
tcpx_hist_merge(struct tcpx_hist *h, const struct tcpx_hist *other)
{
	if (!other->count)
		return;
	if (!h->count || other->min < h->min)
		h->min = other->min;
	if (other->max > h->max)
		h->max = other->max;
	h->count += other->count;
	h->sum += other->sum;
	for (unsigned i = 0; i < TCPX_HIST_BUCKETS; i++)
		h->buckets[i] += other->buckets[i];
}

/* Whole numbers only: as doubles, 99.9 % of 1000 is a little above 999. */
uint64_t
tcpx_rank(double percent, uint64_t count)
{
	const uint64_t all = 100 * 1000 * 1000;
	uint64_t share = percent >= 100 ? all : percent > 0 ? (uint64_t)(percent * 1e6 + 0.5) : 0;
	uint64_t rank = count / all * share + (count % all * share + all - 1) / all;

	return rank ? rank : count > 0;
}

uint64_t
tcpx_hist_percentile(const struct tcpx_hist *h, double percent)
{
	uint64_t rank = tcpx_rank(percent, h->count), seen = 0, middle;
	struct tcpx_hist_bucket b = { 0 };

	if (percent <= 0)
		return h->min;
	if (percent >= 100)
		return h->max;
	for (unsigned at = 0; seen < rank && tcpx_hist_next(h, &at, &b);)
		seen += b.count;
	middle = b.low + (b.high - b.low) / 2;
	return middle < h->min ? h->min : middle > h->max ? h->max : middle;
}

double
tcpx_hist_mean(const struct tcpx_hist *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

bool
tcpx_hist_next(const struct tcpx_hist *h, unsigned *at, struct tcpx_hist_bucket *bucket)
{
	for (; *at < TCPX_HIST_BUCKETS; ++*at) {
		if (!h->buckets[*at])
			continue;
		bucket->low = bucket_low(*at);
		bucket->high = bucket_low(*at + 1) - 1;
		bucket->count = h->buckets[*at];
		++*at;
		return true;
	}
	return false;
}
