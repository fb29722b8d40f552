/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel: one simplex data connection on one NIC, its window and its fence.
 */
#ifndef CORE_CHANNEL_H
#define CORE_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/loop.h"
#include "core/xfer.h"
#include "proto/window.h"

struct session;

#define CORE_IOV      256          /* pieces a socket call                          */
#define CORE_CALL_MAX (1u << 20)   /* bytes a socket call: bounds the gate          */

/* What is remembered about a message in a channel's window. */
struct tx_record {
	struct tcpx_xfer *xfer; /* owned reference */
	uint64_t id;            /* of the post it belongs to */
	uint32_t chunk, len;
	struct tcpx_rate_mark mark;
	uint64_t ready_ns, taken_ns, sent_ns;
	struct slot *slot;      /* staged: ours, packed into; NULL once free           */
	uint8_t *mem;           /* staged: where the payload is, in slot or in one of the
	                         * channel's own (OWN_SLOTS), perhaps a GPU's           */
	bool staged, packed;    /* packed: nothing is being copied any more            */
	uint64_t open_ticket;   /* of an OPEN that must go before it; 0: it has        */
	bool lent;              /* the kernel may read the slot until RECEIVED         */
	bool empty;             /* its transfer ended before it was packed: names none */
};

/* Where a received message's payload goes. */
struct rx_record {
	struct tcpx_xfer *xfer; /* owned reference; NULL: sink */
	uint64_t id;            /* of the post it belongs to   */
	uint32_t chunk, len;
	uint64_t landed_ns;
	struct slot *slot;      /* staged: ours, where the payload lies */
};

enum channel_state { CHAN_WIRING, CHAN_UP, CHAN_FENCING, CHAN_DOWN };

/* One simplex data connection of a session. */
struct channel {
	struct source source;
	struct work work;
	struct grave grave;
	struct session *session; /* the session outlives it */
	struct loop *loop;
	uint16_t index, generation;
	bool sending, backward;
	int near_nic;
	int gpu;                /* that owns its slots; -1: host memory              */
	char near_name[32], far_name[32];
	_Atomic int state;      /* enum channel_state; written under session.lock     */
	bool closed;            /* connection and records are gone; session.lock      */
	struct tcpx_chan *chan;
	struct tcpx_chan_listener *listener;
	void *connect_state;
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_id id;
	bool usable;
	unsigned interest;
	struct tcpx_window window;
	/* sending, lease holder */
	struct tx_record *tx;   /* window.size of them                                */
	struct tcpx_tx_msg msg;
	bool msg_open;          /* msg is partly sent                                 */
	uint64_t send_seq;      /* the message being sent, or to be sent next         */
	struct tcpx_node starving; /* in a pool's chain: waits for a slot             */
	struct tcpx_ack acked;  /* as told by the peer                                */
	/* sending, session.lock */
	uint64_t outstanding_bytes;
	uint32_t outstanding;
	struct tcpx_rate rate;
	uint64_t fenced_last;   /* with fenced: last message the peer took over       */
	bool fenced;            /* sending: FENCED has come                           */
	bool down_asked;        /* receiving: CHANNEL_DOWN has come                   */
	struct tcpx_ack told;   /* CHANNEL_ACK, not yet looked at                     */
	bool told_new;
	uint64_t down_ns;
	/* receiving, lease holder */
	struct tcpx_head head;  /* with DIRECT_RX: the open message                   */
	struct rx_record rx;    /* where its payload goes                             */
	struct rx_record *landing; /* window.size: messages not yet applied           */
	struct tcpx_landed landed; /* without: parked in its slot                     */
	struct tcpx_frag *frag; /* without: its fragments, frag_cap of them, and their */
	uint64_t *frag_start;   /* sums; made when one has more than the last          */
	uint32_t frag_cap;
	bool head_open;
	_Atomic bool parked;    /* waits for an OPEN                                  */
	bool placed;            /* the open message's payload has a place             */
	bool held;              /* waits for an OPEN or a slot: nothing is read       */
	uint32_t got;           /* payload bytes of the open message                  */
	struct tcpx_ack ack;    /* to be told                                         */
	struct tcpx_ack told_ack; /* newest that was told                             */
	bool slot_waits;         /* a sender may keep a large slot until it is told     */
	uint32_t untold_bytes;
	/* receiving, session.lock: with CTRL_HEAD, headers not yet given to the provider */
	struct tcpx_head *heads; /* window.size of them, by seq                       */
	uint64_t head_first, head_next; /* those of [first, next) are there           */
	/* counters, session.lock or lease holder alone */
	uint64_t bytes, chunks, in_flight_sum;
	_Atomic uint64_t stalls;
	uint32_t in_flight_max;
};

/* ---- channel.c ---- */
int tcpx_channel_new(struct session *s, uint16_t index, bool sending, bool backward,
		     struct channel **out);
int tcpx_channel_up(struct channel *c, struct tcpx_chan *chan); /* lock held */
void tcpx_channel_watch(struct channel *c, unsigned interest);
/* Lease held, lock not: the connection is of no more use. */
void tcpx_channel_down(struct channel *c, int code, const char *why);
/* lock held: a fence frame or an acknowledgement about it has come. */
void tcpx_channel_event(struct session *s, uint8_t type, const struct tcpx_chan_event *ev);
/* lock held: the peer says what the next message of a channel is. */
void tcpx_channel_message(struct session *s, const struct tcpx_message *m);
/* What is going on, copied out. lock held. */
void tcpx_channel_describe(const struct channel *c, struct tcpx_channel_info *o);
/* Lease of its loop held, lock not: closes and forgets everything. Once. */
void tcpx_channel_close(struct channel *c);

static inline struct tx_record *
tcpx_tx_record(struct channel *c, uint64_t seq)
{
	return &c->tx[seq & (c->window.size - 1)];
}

/* ---- take.c ---- */
/* Takes the next chunk if this channel may: its record, in the window's newest slot. NULL.
 * lease held, lock not. */
struct tx_record *tcpx_tx_take(struct channel *c, uint64_t now_ns);
void tcpx_tx_kick_all(struct session *s); /* lock held */
/* There are chunks for so many channels. lock held. */
void tcpx_tx_kick(struct session *s, uint32_t want);
/* Payload of x that no channel has taken. lock held. */
uint64_t tcpx_tx_queued(const struct tcpx_xfer *x);

/* ---- tx.c: lease held, lock not ---- */
void tcpx_tx_step(struct channel *c, bool readable, uint64_t now_ns);
int tcpx_tx_acked(struct channel *c, const struct tcpx_ack *ack, uint64_t now_ns);
/* The connection is closed; what the peer did not take over goes to other channels. */
void tcpx_tx_give_back(struct channel *c);

/* ---- rx.c: lease held, lock not ---- */
void tcpx_rx_step(struct channel *c, uint64_t now_ns);
int tcpx_rx_applied(struct channel *c, const struct rx_record *r, uint64_t now_ns);
void tcpx_rx_tell(struct channel *c, bool force);
void tcpx_rx_drop(struct channel *c); /* the message it is in the middle of */


/* Which device copies between a list's memory and a channel's: a GPU where either is one's. */
static inline int
tcpx_copy_place(const struct channel *c, const struct tcpx_list *l)
{
	return l->place != TCPX_ON_HOST ? l->place : c->gpu;
}

/* ---- pack.c: lease held, lock not ---- */
/* The payload of message seq is copied into its slot. */
void tcpx_pack_start(struct channel *c, uint64_t seq, struct tx_record *r);
/* The batch that packed message seq is over. */
void tcpx_pack_done(struct channel *c, uint64_t seq, int error);
/* The connection is closed and no batch is in flight. fenced: the peer's side is closed, too,
 * so that nobody reads the slots any more; else pages that were lent may still be read. */
void tcpx_tx_drop_slots(struct channel *c, bool fenced);

/* ---- unpack.c: lease held, lock not ---- */
/* A message has landed: its payload goes to its place. Takes over *r. */
int tcpx_unpack_add(struct channel *c, const struct tcpx_landed *msg, struct rx_record *r);
/* A message is in place already; told to the sender in its turn. Takes over *r. */
int tcpx_unpack_none(struct channel *c, uint64_t seq, struct rx_record *r);
void tcpx_unpack_done(struct channel *c, uint64_t seq, int error, uint64_t now_ns);
/* The connection is closed and no batch is in flight: whatever message seq still holds. */
void tcpx_unpack_forget(struct channel *c, uint64_t seq);

#endif
