/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quota.h"

/* Adds @bytes unless then fewer than @spare would be left. */
static bool
take(struct tcpx_quota *q, uint64_t bytes, uint64_t spare)
{
	uint64_t used = tcpx_quota_used(q);

	do {
		if (used > q->limit || bytes > q->limit - used || q->limit - used - bytes < spare)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&q->used, &used, used + bytes,
							memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

static bool
take_both(struct tcpx_quota *q, uint64_t bytes, uint64_t spare, bool share)
{
	if (!take(q, bytes, spare))
		return false;
	do {
		if (!q->whole || take(q->whole, bytes, share ? tcpx_quota_used(q) : 0))
			return true;
	} while (q->whole->yield && q->whole->yield(q->whole, bytes));
	atomic_fetch_sub_explicit(&q->used, bytes, memory_order_relaxed);
	return false;
}

bool
tcpx_quota_charge(struct tcpx_quota *q, uint64_t bytes)
{
	return take_both(q, bytes, q->reserve, true);
}

bool
tcpx_quota_draw(struct tcpx_quota *q, uint64_t bytes)
{
	return take_both(q, bytes, 0, false);
}

void
tcpx_quota_give(struct tcpx_quota *q, uint64_t bytes)
{
	atomic_fetch_sub_explicit(&q->used, bytes, memory_order_relaxed);
	if (q->whole)
		atomic_fetch_sub_explicit(&q->whole->used, bytes, memory_order_relaxed);
}
