/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that an engine takes for its peers: the pot, TCPX_PEERS_MEMORY. Each peer has some of its own
 * beside it, which nobody else can use up: for short lists, for a few notes, and in proto/byteq for the
 * queues of its control stream. Peers of one address share half of the pot at most. When it is full, who has
 * the most in sends without a receive loses the newest of these.
 */
#ifndef CORE_SESSION_KEPT_H
#define CORE_SESSION_KEPT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/chain.h"
#include "base/heap.h"
#include "base/quota.h"
#include "base/tags.h"
#include "core/loop/loop.h"

struct tcpx_engine;
struct tcpx_peer;

#define KEPT_OWN_LISTS (64u << 10) /* TCPX_CREDIT_XFERS of one entry, and more            */
#define KEPT_OWN_NOTES (16u << 10) /* one of any length; each session holds NOTES_AHEAD, too */

/* The queues of control streams are the rest. */
enum kept_kind { KEPT_LISTS, KEPT_NOTES, KEPT_SENDS, KEPT_LANES, KEPT_KINDS };

/* Contents of the pot, whose sum is in tcpx_engine.kept. */
struct pot {
	struct tcpx_engine *engine;
	pthread_mutex_t lock;     /* hosts, sends, evicted */
	struct tcpx_tags hosts;   /* by address            */
	struct tcpx_heap sends;   /* peers that have sends without a receive; the largest first */
	struct tcpx_node evicted; /* such sends that are lost: their sessions do not know yet   */
	struct work tell;         /* of loop 0 */
	_Atomic uint64_t of[KEPT_KINDS];
	_Atomic uint64_t own;     /* beside the pot: what peers keep of their own */
	_Atomic bool told;        /* that some were evicted */
};

/* Peers that have called from one address. */
struct kept_host {
	struct tcpx_tagged by_addr; /* in pot.hosts */
	struct tcpx_addr addr;
	uint32_t peers;
	struct tcpx_quota kept;
};

void tcpx_kept_open(struct tcpx_engine *e);
void tcpx_kept_close(struct tcpx_engine *e);
/* The share of @p, which has called from @from; NULL: the application has named it. 0, -ENOMEM (logged). */
int tcpx_kept_enter(struct tcpx_peer *p, const struct tcpx_addr *from);
void tcpx_kept_leave(struct tcpx_peer *p);
/* False: there is no room, and nothing has changed. No lock but session.lock may be held. */
bool tcpx_kept_charge(struct tcpx_peer *p, enum kept_kind kind, uint64_t bytes);
/* Gives @bytes back. No leaf lock may be held if they are of sends. */
void tcpx_kept_give(struct tcpx_peer *p, enum kept_kind kind, uint64_t bytes);
/* Why there is no room for @bytes more of @p: the pot, what is in it, the setting. @whose: "target's". */
void tcpx_kept_why(const struct tcpx_peer *p, uint64_t bytes, const char *whose, char *text, size_t cap);
/* The peer with the most in sends without a receive, if that is more than @had; a reference. NULL: none. */
struct tcpx_peer *tcpx_kept_largest(struct tcpx_engine *e, uint64_t had);

#endif
