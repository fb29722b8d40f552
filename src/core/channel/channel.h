/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel: one simplex data connection on one NIC, its window and its fence. Its loop runs it;
 * core/transfer passes it the frames of the peer about it. Below, "lock" is session.lock and
 * "lease" that of the loop.
 */
#ifndef CORE_CHANNEL_CHANNEL_H
#define CORE_CHANNEL_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/loop/loop.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/memory/staging.h"
#include "core/session/session.h"
#include "net/net.h"
#include "proto/frame.h"
#include "proto/path.h"
#include "proto/sched.h"
#include "proto/window.h"

struct tcpx_channel_info;

/* The record of a message in a sending channel's window. */
struct tx_record {
	struct payload *payload; /* owned reference of its transfer */
	uint64_t id;            /* of the post it belongs to */
	uint32_t chunk, len;
	uint32_t named;         /* the chunk in the message's header */
	struct tcpx_rate_mark mark;
	uint64_t ready_ns, taken_ns, sent_ns;
	struct staging_buffer *buffer; /* staged: ours, with the payload; NULL once free   */
	uint8_t *mem;           /* staged: the payload's memory, in buffer or in a slot of the
				 * channel's own, perhaps a GPU's */
	bool staged, packed;    /* packed: no copy is in flight any more               */
	uint32_t sum;           /* packed into a GPU's slot, and summed there          */
	uint64_t open_ticket;   /* of an OPEN that must be written first; 0: it has been */
	bool lent;              /* the kernel may read the buffer until RECEIVED       */
	bool empty;             /* its transfer ended before it was packed: the
				 * message names none */
};

/* The destination of a received message's payload. */
struct rx_record {
	struct payload *payload; /* owned reference of its transfer; NULL: sink */
	uint64_t id;            /* of the post it belongs to   */
	uint32_t chunk, len;    /* of a lane: in units of 4 KiB */
	bool last;              /* of a lane's message         */
	bool early;             /* ... which was sent on credit */
	uint64_t landed_ns;
	struct staging_buffer *buffer; /* staged: ours, with the payload */
	uint32_t sum;           /* sent with it                */
	bool unpacked;          /* not yet reported to its transfer */
	bool unsettled;         /* reported, not yet to be acknowledged */
};

enum chunk_place { CHUNK_FOUND, CHUNK_SINK, CHUNK_PARK };
/* What a message that has no place yet waits for: its OPEN, or the answer of an ended lane's sender. */
enum chunk_park { PARK_NOT, PARK_OPEN, PARK_LANE };

/* Calls of a channel to core/transfer. Lease held, session.lock not, unless noted. */
struct channel_calls {
	/* Picks the next chunk if this channel may: its record, in the
	 * window's newest slot. */
	struct tx_record *(*pick)(struct channel *c, uint64_t now_ns);
	/* Finds the destination of a message with this header. 0 (and *how),
	 * or TCPX_EFRAME. */
	int (*place)(struct channel *c, const struct tcpx_head *h, struct rx_record *r,
		     enum chunk_place *how);
	/* May a message now be acknowledged whose transfer had ended when it was there? */
	bool (*settled)(struct channel *c, const struct rx_record *r);
	/* A received chunk is in place. 0; 1: not to be acknowledged before it is settled; TCPX_EFRAME. */
	int (*applied)(struct channel *c, const struct rx_record *r, uint64_t now_ns);
	/* What was placed has not come whole. @passed: it is acknowledged all the same (its sender has
	 * abandoned it, or its memory could not be written); else the channel has ended. */
	void (*missed)(struct channel *c, const struct rx_record *r, bool passed);
	/* A received chunk is not what was sent (log; perhaps the transfer ends): the channel
	 * goes down, so the chunk goes again. @sum: of what came. */
	void (*corrupt)(struct channel *c, const struct rx_record *r, const struct tcpx_head *h,
			uint32_t sum, uint64_t now_ns);
	/* A sent chunk is in place at the peer, or goes to another channel. The record's
	 * reference is given up. lock held. */
	void (*acked)(struct channel *c, struct tx_record *r, uint64_t now_ns);
	void (*given_back)(struct channel *c, struct tx_record *r);
	/* The transfer's memory could not be copied from or to; what: "cannot be read". Ends
	 * it, and its memory is no longer touched. */
	void (*broken)(struct channel *c, struct payload *p, uint64_t id, int code,
		       const char *what);
	void (*put)(struct payload *p); /* drops a reference */
};

enum channel_state { CHAN_WIRING, CHAN_UP, CHAN_FENCING, CHAN_DOWN };

/* What a channel needs until it is connected. */
struct chan_wiring {
	struct tcpx_chan_listener *listener;
	void *connect_state;
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_id id;
	bool usable;
	/* on an open session */
	bool asked;             /* connecting: CHANNEL_ASK of this generation is out    */
	bool used;              /* connecting: the peer has listened for this generation, or was asked to */
	uint64_t try_ns;        /* since when it is tried                               */
	/* connecting, in the handshake */
	unsigned tries;         /* of its pair, by this generation                      */
};

/* What is known of the end of a channel. session.lock */
struct fence {
	bool asked;             /* receiving: CHANNEL_DOWN has come                   */
	bool broke;             /* in the handshake, after both had said READY        */
	bool silent;            /* sending: given up, as others move and it does not  */
	bool beside;            /* ... as another between the same NICs is silent     */
	bool cut_off;           /* its NIC here is down, and another is not           */
	uint32_t swallowed;     /* packets of so many bytes do not pass; 0: none is known */
	bool done;              /* sending: FENCED has come                           */
	uint64_t last;          /* with done: last message the peer took over         */
	uint64_t down_ns;
};

struct sender {
	/* lease holder */
	struct tx_record *record; /* window.size of them                              */
	struct tcpx_tx_msg msg;
	bool msg_open;          /* msg is partly sent                                 */
	uint32_t sum;           /* of its payload so far, where it is not staged      */
	uint64_t send_seq;      /* the message being sent, or to be sent next         */
	struct tcpx_ack acked;  /* newest acknowledgement handled                     */
	/* session.lock */
	uint64_t outstanding_bytes;
	uint32_t outstanding;
	bool called;            /* woken for a chunk, and has not looked for it yet   */
	uint64_t since_ns;      /* the newest acknowledgement, or the first pick after it */
	uint64_t moved_ns;      /* the newest acknowledgement                         */
	uint64_t oldest_ns;     /* the oldest message in flight was picked            */
	uint64_t clear_ns;      /* newest look that found no byte under way, or end of a pause */
	struct tcpx_rate rate;
	struct tcpx_ack reported; /* from CHANNEL_ACK, not yet handled                */
	bool reported_new;
};

/* A receiver's acknowledgements. Lease holder. */
struct rx_acks {
	struct tcpx_ack due;    /* what has arrived                                   */
	struct tcpx_ack sent;   /* the part of it that has been acknowledged          */
	bool sender_waits;      /* a sender may keep a large buffer until acknowledged */
	uint32_t unsent_bytes;
};

/* Headers that came by the control stream, not yet given to the provider. session.lock */
struct rx_heads {
	struct tcpx_head *at;   /* window.size of them, by seq; NULL: headers are in band */
	uint64_t first, next;   /* those of [first, next) have come                   */
};

struct receiver {
	/* lease holder */
	struct rx_record *landing; /* window.size: messages not yet applied           */
	struct tcpx_head head;  /* stream: the open message                           */
	struct rx_record open;  /* where its payload goes                             */
	uint32_t got;           /* payload bytes of it                                */
	uint32_t sum;           /* of these                                           */
	bool head_open;
	bool placed;            /* its payload has a place                            */
	bool held;              /* waits for an OPEN or a buffer: nothing is read       */
	uint32_t unsettled;     /* stream: messages of that kind; nothing is read      */
	_Atomic uint8_t parked; /* enum chunk_park                                    */
	struct tcpx_landed landed; /* comm: it waits in its slot                      */
	struct tcpx_frag *frag; /* of a landed one: its fragments, frag_cap of them, and their */
	uint64_t *frag_start;   /* sums; grown when a message has more than any before */
	uint32_t frag_cap;
	struct rx_acks acks;
	struct rx_heads heads;
};

/* Lease holder or session.lock alone. */
struct chan_figures {
	uint64_t bytes, chunks, in_flight_sum;
	uint64_t moved_ns;      /* receiving: when a chunk was last applied           */
	_Atomic uint64_t stalls;
	uint32_t in_flight_max;
};

/* One simplex data connection of a session. */
struct channel {
	struct source source;
	struct work work;
	struct deferred deferred;
	struct session *session; /* the session outlives it */
	struct loop *loop;
	struct copy_client client; /* the same loop and work */
	uint16_t index, generation;
	bool sending, backward;
	bool spare;             /* not the first of its pair of NICs, where channels may rest */
	bool rested;            /* it rests, or did until its next connection: not lost; session.lock */
	int near_nic, far_nic;  /* indices in the engine's and in the peer's          */
	uint16_t packet;        /* the largest for its path; 0: as the MTU allows; session.lock */
	struct tcpx_pair planned; /* the pair of the plan, near that of this side     */
	_Atomic int state;      /* enum channel_state; written under session.lock     */
	bool connected;         /* on its present NICs, once                          */
	bool closed;            /* connection and records are gone; session.lock      */
	const struct channel_kind *kind;
	struct tcpx_chan *chan;
	unsigned interest;
	struct tcpx_window window;
	struct chan_wiring *wiring; /* owned; NULL while it stands; session.lock       */
	struct tcpx_heal heal;  /* of a lost one; session.lock                        */
	uint16_t wanted;        /* listening: the generation of CHANNEL_ASK, 0: none; session.lock */
	uint64_t wanted_pair;   /* the pair of NICs it asks for, as it names it; 0: as before */
	struct fence fence;
	struct sender tx;       /* if sending, else                                   */
	struct receiver rx;
	struct chan_figures figures;
};

static inline const struct channel_calls *
above(const struct channel *c)
{
	return c->session->engine->up.channel;
}

/* Is it not wanted at present? lock held. */
static inline bool
channel_rests(const struct channel *c)
{
	return c->spare && !(c->sending ? c->session->chan.tx_wide : c->session->chan.rx_wide);
}

static inline struct tx_record *
tcpx_tx_record(struct channel *c, uint64_t seq)
{
	return &c->tx.record[seq & (c->window.size - 1)];
}

/* The NICs that it is bound to, here and there. */
static inline const struct tcpx_nic *
tcpx_near_nic(const struct channel *c)
{
	return &c->session->engine->nics.at[c->near_nic];
}

static inline const struct tcpx_netmap_offer *
tcpx_far_nic(const struct channel *c)
{
	return &c->session->chan.peer_nic[c->far_nic].offer;
}

/* The device for copies between a list's memory and a channel's: a GPU if either is one's. */
static inline int
tcpx_copy_place(const struct channel *c, const struct tcpx_list *l)
{
	return l->place != TCPX_ON_HOST ? l->place : tcpx_near_nic(c)->gpu;
}

/* The kind of the engine's channels. */
const struct channel_kind *tcpx_channel_kind(const struct tcpx_engine *e);
/* Makes a channel that is not connected yet, with its window. -ENOMEM, or the window's code. */
int tcpx_channel_new(struct session *s, uint16_t index, bool sending, bool backward,
		     struct channel **out);
/* lock held: a fence frame or an acknowledgement of the channel has come. */
void tcpx_channel_event(struct session *s, uint8_t type, const struct tcpx_chan_event *ev);
/* lock held: the header of the channel's next message has come. 0; TCPX_EPROTO: its headers are
 * in band. */
int tcpx_channel_message(struct session *s, const struct tcpx_message *m);
/* Copies out the channel's state. lock held. */
void tcpx_channel_describe(const struct channel *c, struct tcpx_channel_info *o);

#endif
