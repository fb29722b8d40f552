/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: one conversation with one incarnation of a peer, its control stream and its
 * channels.
 */
#ifndef CORE_SESSION_SESSION_H
#define CORE_SESSION_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/quota.h"
#include "base/tags.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/line.h"
#include "proto/ctrl.h"
#include "proto/eager.h"
#include "proto/health.h"
#include "proto/load.h"
#include "proto/sched.h"
#include "proto/toll.h"

struct channel;
struct probe;
struct tcpx_pair_search;
struct tcpx_slab;

enum session_state {
	SESS_CONNECTING, /* opener: control connection not up                       */
	SESS_PROOF,      /* opener, with a secret: each side proves that it has it  */
	SESS_HELLO,      /* waiting for the peer's HELLO                            */
	SESS_HANDLES,    /* opener: waiting for HANDLES                             */
	SESS_WIRING,     /* channels connect                                        */
	SESS_READY,      /* waiting for the other side's READY                      */
	SESS_OPEN,
	SESS_FAILED      /* cause has the reason; nothing is left on it             */
};

#define SESS_BUCKETS 64 /* a power of 2 */
#define SESS_CHAINS  (SESS_BUCKETS + 1)

/* What only the handshake needs; freed when the session is open. */
struct handshake {
	uint8_t seed[16];            /* of channels' tokens, without a secret          */
	bool handles_came;           /* acceptor: the opener's                         */
	bool ready_came;
	struct tcpx_readiness ready; /* the peer's                                     */
	struct tcpx_readiness said;  /* ours                                           */
	struct tcpx_node half_open;  /* acceptor: listeners.half_open; lease           */
	struct session *session;     /* ... whose handshake this is                    */
	uint64_t deadline_ns;
	uint64_t connect_until_ns;   /* opener: a close without an answer is no end    */
	uint64_t retry_pause_ns;     /* before the next of these                       */
	uint64_t wait_ns;            /* the wait that the peer's refusal names; 0: none */
	uint64_t wiring_ns, look_ns; /* when channels began to connect; the next look   */
	uint64_t tx_wired_ns, rx_wired_ns; /* when the first channel of a direction came up */
	uint64_t hopeless_ns;        /* when a direction had none left to try          */
	uint64_t answer_ns;          /* opener: how long HELLO waited for its answer   */
};

/* What a resumed control connection stands on. */
struct resumption {
	uint8_t token[16];
	struct tcpx_seal_psk key;   /* with a secret: of this session alone            */
};

/* The control stream, and the connection that it rides on. */
struct control {
	struct tcpx_ctrl *ctrl;
	struct line line;           /* no stream: cut                                  */
	unsigned interest;
	_Atomic bool up;            /* the connection stands                           */
	bool resuming;
	bool proving;               /* opener: its first frame waits for the proof     */
	bool asking;                /* opener: is the session still known there?       */
	uint32_t epoch;
	uint32_t target_addr;       /* index of the peer address to try next           */
	struct tcpx_refusals refusals; /* of its addresses, since it was cut           */
	bool closed;                /* the last connection was closed there, not reset */
	int lost;                   /* why a send failed; the cut waits until all that came is read */
	int silent_nic;             /* ours on which it fell silent, plus 1, until it is resumed; 0: none */
	bool cut_here;              /* acceptor: by this side, which the opener cannot notice */
	struct probe *probe;        /* acceptor, while cut: NULL or owned              */
	uint64_t retry_ns, cut_ns;
	uint32_t spent;             /* of this turn: see TURN_BUDGET                    */
	bool more;                  /* what has come waits for the next turn           */
	bool pays;                  /* ... and is not read before toll.paid_ns         */
	struct tcpx_toll toll;      /* for what was refused                            */
	struct work read_work;          /* which takes them */
	struct work flush_work;         /* flushes frames of other loops' threads */
	struct tcpx_node to_flush;    /* engine's chain; lease                           */
	_Atomic bool flush_owed;          /* frames that no flush has written yet            */
	bool chunks_wait;           /* a channel waits for an OPEN to be written       */
	bool lanes_wait;            /* messages wait until the stream flows. (Those for which there is no
				     * memory go with their receives, or by channels) */
	bool short_of_room;         /* transfers wait until there is memory for their frames */
};

/* The session's channels, and what both sides agreed on for them. */
struct channel_set {
	uint32_t count;             /* each way                                        */
	uint32_t window, chunk_max;
	struct channel *tx[TCPX_CHANNELS_MAX], *rx[TCPX_CHANNELS_MAX];
	uint32_t tx_up, rx_up;
	uint32_t open;              /* made and not yet closed                         */
	bool narrows;               /* either way may be narrow: see core/channel/width.h */
	uint32_t spares;            /* each way: those that rest while it is narrow    */
	bool tx_wide, rx_wide;
	bool loaded;                /* this side's shall be wide                       */
	struct tcpx_load load;      /* ... what it is given to send                    */
	bool silent;                /* idle ones do not report that the peer has died   */
	uint64_t closed_ns;         /* when the peer's kernel last closed one that stood; 0: never */
	struct tcpx_hello_nic *peer_nic; /* owned; the opener's also say where it listens */
	uint32_t peer_nic_count;
	struct tcpx_pair_search *search; /* owned; NULL: no channel has failed to connect  */
};

/* A send may wait for its receive as long as it likes, and keeps nobody else waiting. */
enum credit_kind { CREDIT_ONE_SIDED, CREDIT_SENDS, CREDIT_KINDS };

/* Transfers of both sides. */
struct transfer_table {
	struct tcpx_node bucket[SESS_CHAINS]; /* by number; the last one: messages of lanes */
	uint32_t live;              /* in the table                                    */
	uint64_t live_bytes;        /* their lengths together                          */
	struct tcpx_node waiting[CREDIT_KINDS]; /* posted, not yet opened              */
	struct tcpx_node after_event;  /* posted, waiting for the caller's event          */
	struct tcpx_node noting;    /* all bytes are in place, and their note may not go yet */
	uint64_t opened_here;       /* number of the newest transfer this side opened  */
	uint64_t opened_there;      /* ... of the newest completely opened by the peer */
	struct tcpx_xfer *opening;  /* the peer's; its list is still arriving (reference) */
	bool half_read;             /* ... and of its last frame a part is not read yet */
	uint64_t skipping;          /* the peer's; refused, but its list still arrives */
	bool launching;               /* tcpx_launch_waiting() is running                  */
};

/* What lanes of both sides have done; failed: also closed with messages open. */
struct lane_count {
	uint32_t open;
	uint64_t failed;
	uint64_t messages_tx, messages_rx, bytes_tx, bytes_rx; /* of messages that succeeded */
};

/* Lanes of both sides, in the order of their opening; core/transfer has them. */
struct lane_table {
	struct tcpx_node all;
	struct tcpx_tags by_word;   /* those that have a word                          */
	struct tcpx_node busy;      /* those with messages that have not ended         */
	struct tcpx_node waits;     /* senders whose next message waits for credit, or for room
				     * in the control stream; the newest try is the last */
	uint32_t opened_here, opened_there; /* numbers of the newest                    */
	uint32_t live;              /* messages that have not ended                    */
	struct tcpx_node soon;      /* those whose receives are announced later, by time */
	bool soon_set;              /* the session's timer is set for them             */
	struct lane_count count;
	struct tcpx_eager_tx credit; /* for messages without a known receive, there    */
	struct tcpx_eager_rx kept;  /* ... and here                                    */
	uint64_t came_ns;           /* when a frame last brought a message above TCPX_EAGER_FRAME */
	uint64_t long_ns;           /* when the newest was posted that might go in a long frame */
	uint64_t crowd_ns;          /* ... one that came faster than a thread copies them */
	struct tcpx_quota pool;     /* the window of these: a part of engine.eager     */
};

/* What the peer grants us, and what of it open transfers use. */
struct credit {
	uint32_t xfers, used_xfers[CREDIT_KINDS]; /* of each kind                      */
	uint64_t list, used_list;
	uint64_t their_list;        /* what its open transfers use of ours             */
	uint32_t unmatched;         /* the peer's sends without a receive; peer.lock */
	struct tcpx_slab *slab;     /* for the payload of the next ones                */
};

/* Chunks that channels may take, and which of these have been woken for them. */
struct schedule {
	struct tcpx_drr drr;
	uint64_t queued_bytes, outstanding_bytes;
	uint32_t rr_next;           /* TCPX_DIST=rr: the channel at its turn           */
	uint32_t next_wake;
	uint32_t wake_more;         /* channels still to wake; each woken
				     * channel wakes two more */
};

/* When it was made, open, heard of; when it last made progress. */
struct health {
	uint64_t start_ns, open_ns, heard_ns;
	uint64_t looked_ns;         /* when the control connection was last looked at */
	uint64_t pinged_ns, asked_ns; /* the last PING; the first since something was heard */
	uint64_t stopped_ns;          /* its process stands still: the last word before; 0: not */
	uint64_t answers;             /* PONGs                                          */
	bool doubted;                 /* a rival's HELLO has waited                     */
	bool resting;                 /* idle: nothing is looked at until it is used, or a PING is due */
	uint64_t warned_ns;         /* the newest warning that a channel is lost      */
	uint64_t corrupt_ns;        /* ... that bytes arrived changed                 */
	uint64_t dying_ns;          /* a direction has no channel: it fails then       */
	uint64_t tx_progress_ns, rx_progress_ns; /* when a chunk was last applied      */
};

/* Notes on their way; see note_flow.h. */
struct note_flow {
	uint32_t out;               /* sent, and not yet taken over by the peer        */
	uint32_t taken;             /* taken over from the peer, not yet reported     */
	struct tcpx_node waiting;   /* to be sent                                      */
	uint64_t waiting_bytes;
	struct tcpx_node held;      /* the peer's, for which there is no room here     */
	uint32_t held_count;
};

/* One conversation. Both sides may start transfers on it; the top bit of a transfer's id
 * names the side. */
struct session {
	struct source source; /* its control connection */
	struct source dials;  /* the channels that it connects: one may go on */
	struct work work, arrival; /* the second: a channel that it listens for has come, or that */
	struct deferred deferred;
	_Atomic int refs;
	struct tcpx_engine *engine;
	struct loop *loop;
	struct tcpx_node in_loop, in_engine, in_peer;
	struct tcpx_heap_node timer; /* registry.timers; lease                           */
	pthread_mutex_t lock;
	/* everything below: lock */
	_Atomic int state;      /* enum session_state */
	bool opener;
	bool sums;              /* payload and frames are summed: either side wants it */
	bool same_host;         /* the peer is in our network namespace                */
	bool moved;             /* what was posted with it has gone to its twin        */
	_Atomic bool spare;     /* the peer's, and one of ours is there, too           */
	int cause;
	char cause_text[512]; /* it may list pairs of NICs */
	struct tcpx_peer *peer; /* owned reference */
	struct tcpx_addr from;  /* acceptor: where it came from                        */
	uint64_t id;
	struct resumption resume;
	struct handshake *hs;   /* NULL once it is open */
	struct control control;
	struct channel_set chan;
	struct transfer_table xfers;
	struct lane_table lanes;
	struct note_flow notes;
	struct credit credit;
	struct schedule sched;
	struct health health;
};

/* Calls of a session to the rooms above. lock held; wiring and checks may fail the session. */
struct session_calls {
	/* channels: listen and send HANDLES; connect with the peer's; look again */
	int (*listen)(struct session *s);
	int (*handles)(struct session *s, const struct tcpx_handles *h);
	void (*wire)(struct session *s, uint64_t now_ns);
	/* too few stand within that time: the session fails, and says which pairs of NICs
	 * were tried */
	void (*overdue)(struct session *s, uint64_t patience_ns);
	/* closes those of an attempt that is given up: their loops free them */
	void (*unwire)(struct session *s);
	void (*room)(struct session *s, uint64_t now_ns); /* for frames that waited: perhaps */
	void (*writable)(struct session *s); /* the frames that chunks waited for are written */
	void (*lanes)(struct session *s); /* the control stream has room for messages     */
	void (*check_channels)(struct session *s, uint64_t now_ns);
	/* transfers */
	int (*frame)(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload);
	int (*frame_rest)(struct session *s); /* of the one that xfers.half_read is about */
	void (*check_transfers)(struct session *s, uint64_t now_ns); /* also of a peer that stands still */
	/* both: deadlines move, as this process stood still */
	void (*late)(struct session *s, const struct pause *p);
	/* both */
	void (*opened)(struct session *s, uint64_t now_ns);
	void (*failed)(struct session *s);
	/* an open session ends: the frames that precede its BYE */
	void (*leaving)(struct session *s);
	/* no lock held; met: the peer is the one of peer.found. over: the peer is gone, or has no other */
	void (*met)(struct tcpx_peer *p);
	void (*lost)(struct session *s, struct tcpx_peer *p, bool over);
	/* who has most in sends without a receive, and more than @more, loses some. False: nobody has */
	bool (*evict)(struct tcpx_engine *e, uint64_t more);
	/* informs the sessions whose sends were evicted. Loop 0, no lock held */
	void (*evicted)(struct tcpx_engine *e);
	/* what was posted with @s goes on with @to, which is open. Both locks held */
	void (*move)(struct session *s, struct session *to);
};

#define ID_OF_ACCEPTOR (1ull << 63)

static inline bool
id_is_ours(const struct session *s, uint64_t id)
{
	return ((id & ID_OF_ACCEPTOR) == 0) == s->opener;
}

/* Has the side in the id opened that number already? */
static inline bool
id_is_known(const struct session *s, uint64_t id)
{
	return (id & ~ID_OF_ACCEPTOR) <= (id_is_ours(s, id) ? s->xfers.opened_here :
							      s->xfers.opened_there);
}

/* Is a transfer posted and not yet opened, for want of the session or of credit? lock held. */
static inline bool
session_waits(const struct session *s)
{
	return !tcpx_chain_empty(&s->xfers.waiting[CREDIT_ONE_SIDED]) ||
	       !tcpx_chain_empty(&s->xfers.waiting[CREDIT_SENDS]);
}

/* Channels of a direction that are not wanted until there is load. lock held. */
static inline uint32_t
session_resting(const struct session *s, bool sending)
{
	return (sending ? s->chan.tx_wide : s->chan.rx_wide) ? 0 : s->chan.spares;
}

/* Is a transfer open, or waiting to be? lock held. */
static inline bool
session_busy(const struct session *s)
{
	return s->xfers.live > 0 || s->lanes.live > 0 || session_waits(s) || !tcpx_chain_empty(&s->xfers.after_event);
}

/* With two references: the caller's, and the engine's. */
int tcpx_session_new(struct tcpx_engine *e, bool opener, struct session **out);
/* Takes the session from the engine's list; the list's reference is the caller's from now on. */
void tcpx_session_unlist(struct session *s);
void tcpx_session_get(struct session *s);
void tcpx_session_put(struct session *s);
void tcpx_session_wake_loop(struct session *s); /* queues the session's work on its loop */
/* A transfer begins: its deadlines are looked at from now on. lock held. Any thread. */
void tcpx_session_used(struct session *s);
/* Its deadlines are judged at @at_ns, or earlier. Any thread. */
void tcpx_session_add_timer(struct session *s, uint64_t at_ns);
/* Fails it: every transfer ends, everything is closed. lock held. Without the lease of its
 * loop the loop closes the connections. */
void tcpx_session_fail(struct session *s, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A failed session's cause, for a caller: with its text, logged already. lock held. */
int tcpx_session_cause(const struct session *s);
/* If a direction has no channel left, and none can be opened again within the stall deadline, the
 * session fails. While the control stream is cut, its deadline decides. lock held. */
void tcpx_session_check_alive(struct session *s, uint64_t now_ns);
/* Iterator over sessions: NULL starts. Consumes the reference passed in; returns a
 * referenced session or NULL. It needs no memory. If a session goes away meanwhile, the
 * walk may start again, so callers may see a session twice. */
struct session *tcpx_session_after(struct tcpx_engine *e, struct session *s);

#endif
