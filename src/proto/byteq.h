/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte queue. Bytes are named by their offset since the beginning, so a cursor
 * stays right when memory moves. Private to proto/ctrl.
 */
#ifndef PROTO_BYTEQ_H
#define PROTO_BYTEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quota.h"

#define TCPX_BYTEQ_OWN (32u << 10) /* memory of a queue that no quota is charged for */

struct tcpx_byteq {
	uint8_t *data;       /* data[0] has offset origin    */
	size_t cap;
	uint64_t origin;
	uint64_t begin, end; /* live: [begin, end)           */
};

/* Memory lent to a writer: it is neither moved nor freed before the loan ends. */
struct tcpx_loan {
	const uint8_t *data; /* the lent queue's memory; NULL: nothing is lent      */
	uint8_t *retired;    /* that memory, if the queue has left it meanwhile     */
	size_t retired_cap;
	struct tcpx_quota *quota; /* is charged for memory; NULL: nothing is        */
};

static inline size_t
tcpx_byteq_len(const struct tcpx_byteq *s)
{
	return (size_t)(s->end - s->begin);
}

static inline uint8_t *
tcpx_byteq_at(const struct tcpx_byteq *s, uint64_t off)
{
	return s->data + (off - s->origin);
}

/* Makes room for len bytes behind the end. @can_wait: leaves answers a quarter of the queue's
 * memory and the quota's reserve. The quota is charged for memory above TCPX_BYTEQ_OWN. 0,
 * -ENOMEM, or TCPX_ELIMIT: the quota refuses (not logged). */
int tcpx_byteq_reserve(struct tcpx_byteq *s, size_t len, struct tcpx_loan *loan, bool can_wait);
/* Counts the bytes of @cap that no quota is charged for. */
size_t tcpx_byteq_free(size_t cap, const struct tcpx_loan *loan);
/* Makes room as above with @can_wait, for at most @most bytes in all. -EAGAIN: not now;
 * TCPX_ELIMIT: never. */
int tcpx_byteq_try(struct tcpx_byteq *s, size_t len, size_t most, struct tcpx_loan *loan);
/* Drops everything before off. */
void tcpx_byteq_drop(struct tcpx_byteq *s, uint64_t off, const struct tcpx_loan *loan);
void tcpx_byteq_fini(struct tcpx_byteq *s, const struct tcpx_loan *loan);
void tcpx_loan_end(struct tcpx_loan *loan);

#endif
