/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a lane: what it keeps, and how messages and the lane leave. session.lock held, unless noted. */
#ifndef CORE_TRANSFER_LANE_STATE_H
#define CORE_TRANSFER_LANE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/chain.h"
#include "core/transfer/transfer.h"
#include "proto/frame.h"
#include "proto/lane.h"

struct session;
struct tcpx_engine;
struct tcpx_peer;

struct tcpx_lane {
	_Atomic int refs;         /* the handle, the session's chain, the messages       */
	_Atomic int status;       /* -EAGAIN not open yet, 0, or the first cause         */
	struct tcpx_engine *engine;
	struct tcpx_peer *peer;   /* a handle of it, given back with the lane's          */
	struct session *session;  /* owned reference; NULL: listening. registry.lock, and
				   * constant once status is 0                           */
	struct tcpx_node handle;  /* in registry.lanes while the application has it      */
	uint8_t key[TCPX_LANE_KEY_BYTES];
	bool sends;
	uint64_t word;            /* 0: not opened yet                                   */
	struct lane_label *label; /* NULL: none. session.lock, or registry.lock before it has one */
	struct tcpx_tagged by_key;  /* in registry.listening until it is opened          */
	struct tcpx_tagged by_word; /* in lanes.by_word, from when it has a word         */
	struct tcpx_node in_session;
	struct tcpx_node busy;    /* in lanes.busy: messages are open                    */
	struct tcpx_node waits;   /* in lanes.waits                                      */
	struct tcpx_node soon;    /* in lanes.soon: its receives are announced at soon_ns */
	uint64_t soon_ns, told_ns;
	bool held;                /* receiver, failed: chunks that come are not acknowledged
				   * before its sender knows                             */
	union {
		struct tcpx_lane_tx tx;
		struct tcpx_lane_rx rx;
	};
	struct turn turn;         /* of a sender                                         */
	uint64_t ready;           /* bit seq % 64: that message has chunks to be taken   */
	struct tcpx_xfer *slot[TCPX_LANE_SLOTS]; /* owned references, by seq             */
	struct early *kept[TCPX_LANE_SLOTS]; /* receiver, by seq: those of rx.kept       */
	uint32_t corrupt;         /* early chunks that arrived changed, since the last that did not */
	int ends_as;              /* not 0: it has left its session, and is open for what it keeps
				   * alone; its status when that is taken                */
	char cause[192];
};

/* A message that has come before its receive, or is coming. */
struct early {
	struct tcpx_xfer *comes; /* as a channel fills it; NULL: it is whole              */
	bool by_channel;         /* which has counted its bytes                           */
	uint32_t len;
	uint8_t bytes[];
};

/* Tag by which a key is found: its first bytes. Users compare the whole key. */
static inline uint64_t
tcpx_lane_key_tag(const uint8_t key[TCPX_LANE_KEY_BYTES])
{
	uint64_t tag;

	memcpy(&tag, key, sizeof(tag));
	return tag;
}

/* A reference. Any lock may be held. */
void tcpx_lane_put(struct tcpx_lane *l);
/* Makes a lane that has no session yet, with a reference for the caller. */
void tcpx_lane_init(struct tcpx_lane *l, struct tcpx_engine *e, bool sends);
/* Gives a lane its word, by which its session finds it. */
void tcpx_lane_named(struct tcpx_lane *l, uint64_t word);
/* A lane of the session; NULL: none. */
struct tcpx_lane *tcpx_lane_find(struct session *s, uint64_t word);
/* The message of that word, for which chunks come or go; NULL: none. */
struct tcpx_xfer *tcpx_lane_message(struct session *s, uint64_t word);
struct tcpx_xfer **tcpx_lane_slot(struct tcpx_lane *l, uint64_t seq);
struct tcpx_lane_ring *tcpx_lane_ring(struct tcpx_lane *l);
/* Its other end is there. */
void tcpx_lane_stands(struct tcpx_lane *l);
/* Its status becomes @code, the first cause. */
void tcpx_lane_falls(struct tcpx_lane *l, int code);
/* A message of a lane succeeds. */
void tcpx_lane_count(const struct tcpx_xfer *x);
/* The session knows it no longer. Its reference goes. */
void tcpx_lane_leave(struct tcpx_lane *l);
/* The message has ended: it leaves the lane. The number of references that it gave up. */
int tcpx_lane_unlink(struct tcpx_xfer *x);

#endif
