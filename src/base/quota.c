/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quota.h"

#include <stddef.h>

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

/* Adds @bytes for @part of the quota, which may hold no more than is free; the quota gives up others' bytes if
 * need be. NULL: for answers. */
static bool
take_some(struct tcpx_quota *q, uint64_t bytes, const struct tcpx_quota *part)
{
	while (!take(q, bytes, part ? tcpx_quota_used(part) : 0))
		if (!q->yield || !q->yield(q, bytes, part ? tcpx_quota_used(part) : 0))
			return false;
	return true;
}

static void
put_back(struct tcpx_quota *q, uint64_t bytes)
{
	atomic_fetch_sub_explicit(&q->used, bytes, memory_order_relaxed);
}

bool
tcpx_quota_charge(struct tcpx_quota *q, uint64_t bytes)
{
	struct tcpx_quota *at, *part = q;

	if (!take(q, bytes, q->reserve))
		return false;
	for (at = q->whole; at && take_some(at, bytes, part); at = at->whole)
		part = at;
	if (!at)
		return true;
	for (; q != at; q = q->whole)
		put_back(q, bytes);
	return false;
}

/* Charges the groups in between without a look at their limits: these are none for answers. */
bool
tcpx_quota_draw(struct tcpx_quota *q, uint64_t bytes)
{
	struct tcpx_quota *top = q;

	if (!take_some(q, bytes, NULL))
		return false;
	while (top->whole)
		top = top->whole;
	if (top != q && !take_some(top, bytes, NULL)) {
		put_back(q, bytes);
		return false;
	}
	while (q != top && (q = q->whole) != top)
		atomic_fetch_add_explicit(&q->used, bytes, memory_order_relaxed);
	return true;
}

void
tcpx_quota_give(struct tcpx_quota *q, uint64_t bytes)
{
	for (; q; q = q->whole)
		put_back(q, bytes);
}
