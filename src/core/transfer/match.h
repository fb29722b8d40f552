/* SPDX-License-Identifier: Apache-2.0 */
/* Two-sided matching. */
#ifndef CORE_TRANSFER_MATCH_H
#define CORE_TRANSFER_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tags.h"
#include "core/session/peer.h"
#include "core/transfer/transfer.h"

/* A SEND without a receive. */
struct unexpected {
	struct tcpx_node node;
	struct tcpx_tagged tagged;
	struct session *session; /* owned reference */
	uint64_t id, total;
	uint32_t chunk;
	uint8_t *payload;        /* in a slab, owned; NULL: it comes by channels */
};

/* The peer's SEND goes to the first receive of its tag, or waits for one. session.lock held. 0, or
 * the code that the session fails with. */
int tcpx_match_send(struct session *s, const struct tcpx_open *o);
/* Posts a receive, which takes a SEND that waits, or waits for one. No lock held. */
int tcpx_match_recv(struct tcpx_peer *p, struct tcpx_xfer *x);
/* Takes a receive that waits out of its queue, which @home has. home->lock held. */
void tcpx_match_remove(struct tcpx_peer *home, struct tcpx_xfer *x);
/* Drops the session's SENDs that wait: that of @id, or all (0). peer.lock not held. */
void tcpx_match_forget(struct tcpx_peer *p, struct session *s, uint64_t id);
/* Evicts the newest SENDs that wait of the peer that has the most, if that is more than @more bytes. False: no
 * peer has. No lock but session.lock may be held. */
bool tcpx_match_evict(struct tcpx_engine *e, uint64_t more);
/* Answers the SENDs that were evicted. Loop 0, no lock held. */
void tcpx_match_evicted(struct tcpx_engine *e);
/* Has it a receive that waits? registry.lock may be held. */
bool tcpx_match_waits(struct tcpx_peer *p);
/* Two of one incarnation, @p and p->found, have the queues of the second from here on. No lock held. */
void tcpx_match_merge(struct tcpx_peer *p);
/* Ends all receives of @p that wait. No lock held. */
void tcpx_match_fail(struct tcpx_peer *p, int code, const char *text);
/* Ends receives that wait for their send and name the region. No lock held. */
void tcpx_match_region_gone(struct tcpx_engine *e, uint64_t region_id);

#endif
