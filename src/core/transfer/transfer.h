/* SPDX-License-Identifier: Apache-2.0 */
/* A transfer: this side's half of one, begun by the application or by the peer. */
#ifndef CORE_TRANSFER_TRANSFER_H
#define CORE_TRANSFER_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/tags.h"
#include "core/context/context.h"
#include "core/loop/queue.h"
#include "core/memory/builder.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/session/session.h"
#include "proto/chunk.h"
#include "proto/frame.h"
#include "proto/sched.h"

struct session;
struct tcpx_lane;

/* Where a transfer that has not ended, or has failed, is stuck. */
struct stuck {
	uint64_t chunk;         /* the first that is not in place    */
	int channel;            /* that took it last; -1: none known */
	char nic[32];
	const char *stage;      /* static; NULL: not looked at       */
};

struct xfer_failure {
	char cause[192];
	struct stuck stuck;     /* as its end found it, or its channel's loss         */
};

/* What the initiator asks of the peer. */
struct xfer_post {
	struct tcpx_list *remote; /* owned reference                                  */
	uint64_t list_bytes;    /* credit it holds                                    */
	uint64_t tag;
	void *event;            /* the caller's: the post waits for it                */
	uint64_t ticket;        /* bulk frames that must be written before chunks     */
	bool inlined;           /* no chunks travel                                   */
};

/* Delivered when the transfer is done. */
struct xfer_note {
	uint8_t *bytes;
	uint32_t len, cap;
	bool there;
};

/* In the ring of those whose chunks channels take. session.lock */
struct turn {
	struct tcpx_drr_node drr;
	struct tcpx_xfer *next; /* whose chunk is next: itself; of a lane, a message  */
};

/* Chunks that leave from here. session.lock */
struct xfer_sending {
	struct turn turn;       /* a lane's message has the lane's                    */
	uint32_t next_chunk;    /* first chunk never taken                            */
	uint32_t *again;        /* chunks given back by fences                        */
	uint32_t again_count, again_cap;
	uint32_t applied;       /* chunks acknowledged                                */
	uint32_t in_flight;     /* chunks in a window                                 */
	bool early;             /* a lane's, on credit                                */
};

/* Chunks that arrive here. session.lock */
struct xfer_receiving {
	struct tcpx_chunkmap map;
	struct list_builder *builder; /* target: its list is still arriving           */
	bool more;              /* ... in further frames                              */
	uint32_t corrupt;       /* messages that arrived changed, since the last chunk in place */
};

/* Who waits for the end, and whether anybody has seen it. */
struct xfer_waiters {
	_Atomic int sleepers;
	_Atomic(struct loop *) loop; /* a waiter sleeps in it                         */
	_Atomic uint32_t tests; /* fruitless, since the post                          */
	_Atomic bool observed;  /* the application has seen its end                   */
	_Atomic bool by_others; /* threads of other loops move it                      */
};

/* The engine's queue reports its ends. */
struct xfer_watch {
	_Atomic bool on;
	_Atomic bool due;       /* posted, and its end not yet in the queue           */
	struct queued entry;    /* events.lock                                        */
};

struct xfer_times {
	uint64_t post_ns, ready_ns, done_ns, progress_ns;
};

/* A transfer's half on this side. */
struct tcpx_xfer {
	_Atomic int refs;
	_Atomic int status;     /* -EAGAIN in progress; futex of waiters              */
	struct xfer_waiters waiters;
	struct xfer_watch watch;
	struct payload payload;
	struct tcpx_engine *engine;
	struct tcpx_peer *peer; /* owned reference; NULL at the target                */
	struct tcpx_lane *lane; /* owned reference, if it is a lane's message         */
	struct session *session; /* owned reference: that of the last post; NULL: none yet */
	enum tcpx_op op;        /* RECV also for a target of SEND                     */
	bool target;            /* made by the peer's OPEN                            */
	bool sends;             /* payload leaves from here                           */
	bool user;              /* a handle of the application exists                 */
	struct tcpx_node handle; /* in registry.xfers while the application holds it  */
	struct xfer_post post;
	struct xfer_note note;
	/* guarded by session->lock from here */
	struct tcpx_node table; /* session's live transfers                           */
	struct tcpx_node queue; /* waits for credit or an event; or, under peer.lock, for a send */
	struct tcpx_tagged tagged; /* waits for a send; peer.lock                     */
	uint64_t id, total;
	uint32_t chunks;
	struct xfer_sending tx;
	struct xfer_receiving rx;
	_Atomic uint64_t bytes_done;
	_Atomic int32_t word;   /* index + 1 of its completion word; gpus.word_lock   */
	struct xfer_times times;
	struct xfer_failure failure;
	uint64_t kept;          /* target: charged to its peer                        */
};

static inline enum credit_kind
xfer_kind(const struct tcpx_xfer *x)
{
	return x->op == TCPX_OP_SEND ? CREDIT_SENDS : CREDIT_ONE_SIDED;
}

static inline struct tcpx_xfer *
xfer_of(struct payload *p)
{
	return p ? tcpx_container(p, struct tcpx_xfer, payload) : NULL;
}

int tcpx_xfer_new(struct tcpx_engine *e, struct tcpx_xfer **out);
void tcpx_xfer_get(struct tcpx_xfer *x);
void tcpx_xfer_put(struct tcpx_xfer *x);
/* Gives the handle to the application: closing the engine frees what it keeps. */
void tcpx_xfer_hand_out(struct tcpx_xfer *x);
void tcpx_xfer_shape(struct tcpx_xfer *x, uint64_t total, uint32_t chunk);
int tcpx_xfer_map(struct tcpx_xfer *x); /* allocates the chunk map */
/* No reference; NULL: none. session.lock held. */
struct tcpx_xfer *tcpx_xfer_find(struct session *s, uint64_t id);
/* Enters a transfer into the table of its session, which finds it then. session.lock held. */
void tcpx_xfer_enter(struct session *s, struct tcpx_xfer *x);
/* Enters a transfer that has begun; the table takes over a reference. session.lock held. */
void tcpx_xfer_insert(struct session *s, struct tcpx_xfer *x, uint64_t now_ns);

#endif
