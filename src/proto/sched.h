/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sends the next chunk. A session keeps chunks ready, channels pull; the rule keeps a
 * slow NIC from hoarding what faster ones could finish sooner. Rates come from
 * acknowledgements, never from what send() accepted.
 */
#ifndef PROTO_SCHED_H
#define PROTO_SCHED_H

#include <stdbool.h>
#include <stdint.h>

/* Smoothed delivery rate of one channel. Zero-initialised is "unknown". */
struct tcpx_rate {
	uint64_t delivered; /* bytes acknowledged since the start                      */
	uint64_t Bps;       /* 0: unknown                                              */
	uint64_t last_ns;   /* of the newest sample                                    */
};

/* What must be remembered about a chunk when it is taken. */
struct tcpx_rate_mark {
	uint64_t delivered, ns;
};

struct tcpx_rate_mark tcpx_rate_take(const struct tcpx_rate *r, uint64_t now_ns);
/* A chunk of len bytes, taken at mark, has been acknowledged: one sample is bytes
 * delivered since the mark over the time since it (at least 1 us); smoothed by 1/4, the
 * first taken whole. */
void tcpx_rate_ack(struct tcpx_rate *r, const struct tcpx_rate_mark *mark, uint32_t len,
		   uint64_t now_ns);

struct tcpx_pull_channel {
	uint64_t outstanding_bytes; /* taken, not yet acknowledged   */
	uint32_t outstanding;       /* messages                      */
	uint32_t window;            /* most messages                 */
	uint64_t Bps;               /* 0: unknown                    */
};
struct tcpx_pull_session {
	uint64_t queued_bytes;      /* ready, not taken by a channel */
	uint64_t outstanding_bytes; /* over all channels             */
	uint64_t Bps;               /* sum of known rates            */
};

#define TCPX_PULL_SLACK_NS 20000000ull /* 20 ms: measured, see docs/design.md */
#define TCPX_PULL_DRAIN_NS 80000000ull /* 80 ms                               */

/*
 * tcpx_pull_allowed - may this channel take one chunk of len bytes now?
 * Never above its window. With nothing outstanding anywhere: yes. Rate unknown: up to two.
 * Else when (its outstanding + len) / its rate <= (queued + all outstanding) / total rate
 * + 20 ms, and its own outstanding drains within 80 ms. So an idle slow channel leaves
 * the last chunks to faster ones that will be done sooner; these ask again at their next
 * acknowledgement.
 */
bool tcpx_pull_allowed(const struct tcpx_pull_channel *c, const struct tcpx_pull_session *s,
		       uint32_t len);

/* Deficit round robin over the transfers of a session, quantum one chunk. Nodes are
 * embedded in their owner; the ring is not thread-safe. */
struct tcpx_drr_node {
	struct tcpx_drr_node *prev, *next; /* NULL: not in the ring */
	int64_t deficit;
};
struct tcpx_drr {
	struct tcpx_drr_node *turn; /* NULL: empty */
	uint32_t quantum;           /* bytes: the session's largest chunk */
};
void tcpx_drr_add(struct tcpx_drr *d, struct tcpx_drr_node *n);    /* no-op if in */
void tcpx_drr_remove(struct tcpx_drr *d, struct tcpx_drr_node *n); /* no-op if out */
/* The node whose turn it is; NULL if empty. */
struct tcpx_drr_node *tcpx_drr_peek(struct tcpx_drr *d, uint32_t (*next_len)(struct tcpx_drr_node *));
/* It has spent len bytes. */
void tcpx_drr_charge(struct tcpx_drr *d, struct tcpx_drr_node *n, uint32_t len);

#endif
