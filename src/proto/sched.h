/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which channel sends the next chunk, and of which transfer. A session keeps chunks ready and
 * channels pull them. The rule keeps a slow NIC from hoarding chunks that faster ones could
 * finish sooner. Rates come from acknowledgements, never from what send() accepted.
 */
#ifndef PROTO_SCHED_H
#define PROTO_SCHED_H

#include <stdbool.h>
#include <stdint.h>

/* Smoothed delivery rate of one channel. All zero: unknown. */
struct tcpx_rate {
	uint64_t delivered; /* bytes acknowledged since the start                      */
	uint64_t Bps;       /* 0: unknown                                              */
	uint64_t last_ns;   /* of the newest sample                                    */
};

/* The state of the rate when a chunk is picked, kept with the chunk for tcpx_rate_ack(). */
struct tcpx_rate_mark {
	uint64_t delivered, ns;
};

struct tcpx_rate_mark tcpx_rate_now(const struct tcpx_rate *r, uint64_t now_ns);
/* A chunk of len bytes, picked at mark, has been acknowledged. One sample is the bytes
 * delivered since the mark over the time since it (at least 1 us). The rate moves by a quarter of
 * the difference to each sample; the first sample is taken whole. */
void tcpx_rate_ack(struct tcpx_rate *r, const struct tcpx_rate_mark *mark, uint32_t len,
		   uint64_t now_ns);

struct tcpx_pull_channel {
	uint64_t outstanding_bytes; /* picked, not yet acknowledged  */
	uint32_t outstanding;       /* messages                      */
	uint32_t window;            /* limit of messages             */
	uint64_t Bps;               /* 0: unknown                    */
};
struct tcpx_pull_session {
	uint64_t queued_bytes;      /* ready, not yet picked by a channel */
	uint64_t outstanding_bytes; /* over all channels             */
	uint64_t Bps;               /* sum of known rates            */
};

#define TCPX_PULL_SLACK_NS 20000000ull /* 20 ms: docs/decisions/001-pull-rule.md */
#define TCPX_PULL_DRAIN_NS 80000000ull /* 80 ms                               */

/*
 * tcpx_pull_allowed - may this channel pick one chunk of len bytes now?
 * Never above its window. With nothing outstanding anywhere: yes. Rate unknown: up to two.
 * Else when (its outstanding + len) / its rate <= (queued + all outstanding) / total rate
 * + 20 ms, and its own outstanding drains within 80 ms. So an idle slow channel leaves the
 * last chunks to faster ones, which ask again at their next acknowledgement.
 */
bool tcpx_pull_allowed(const struct tcpx_pull_channel *c, const struct tcpx_pull_session *s,
		       uint32_t len);

/* Deficit round robin over the transfers of a session, quantum one chunk. Nodes are
 * embedded in their owner. Not thread-safe. */
struct tcpx_drr_node {
	struct tcpx_drr_node *prev, *next; /* NULL: not in the ring */
	int64_t deficit;
	uint32_t weight;                   /* quanta a turn; 0: one */
};
struct tcpx_drr {
	struct tcpx_drr_node *turn; /* NULL: empty */
	uint32_t quantum;           /* bytes: the session's largest chunk */
};
void tcpx_drr_add(struct tcpx_drr *d, struct tcpx_drr_node *n);    /* no-op if in the ring */
void tcpx_drr_remove(struct tcpx_drr *d, struct tcpx_drr_node *n); /* no-op if not */
/* The node at its turn: its deficit pays for its next chunk, of next_len() bytes. NULL: the ring is
 * empty. */
struct tcpx_drr_node *tcpx_drr_peek(struct tcpx_drr *d, uint32_t (*next_len)(struct tcpx_drr_node *));
/* The node has spent len bytes. */
void tcpx_drr_charge(struct tcpx_drr *d, struct tcpx_drr_node *n, uint32_t len);

#endif
