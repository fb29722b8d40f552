/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that one party keeps here, out of what all may keep together, perhaps of a group's share of that. A
 * party, or a group, may hold no more than is still free: so many greedy ones leave as much for the next as
 * each of them has.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tcpx_quota {
	uint64_t limit;
	struct tcpx_quota *whole; /* of the group, or all parties; NULL: this is the whole */
	uint64_t reserve;         /* of the limit, for answers                 */
	/* Gives up at least @bytes of the whole that matter less than those asked for, by a part that has @had
	 * then; 0: for answers. False: there are none. The caller of a charge may hold locks. NULL: nothing can
	 * be given up. */
	bool (*yield)(struct tcpx_quota *whole, uint64_t bytes, uint64_t had);
	_Atomic uint64_t used;
};

/* False: it may not have them, and nothing has changed. Any thread. */
bool tcpx_quota_charge(struct tcpx_quota *q, uint64_t bytes);
/* Charges @bytes for answers, which may use the reserve, whatever the group has. Returns as above. */
bool tcpx_quota_draw(struct tcpx_quota *q, uint64_t bytes);
void tcpx_quota_give(struct tcpx_quota *q, uint64_t bytes);
static inline uint64_t
tcpx_quota_used(const struct tcpx_quota *q)
{
	return atomic_load_explicit(&q->used, memory_order_relaxed);
}

#endif
