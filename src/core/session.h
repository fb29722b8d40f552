/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: one conversation with one incarnation of a peer, its control stream and its
 * channels.
 */
#ifndef CORE_SESSION_H
#define CORE_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/channel.h"
#include "core/loop.h"
#include "core/xfer.h"
#include "proto/ctrl.h"

enum session_state {
	SESS_CONNECTING, /* opener: control connection not up                       */
	SESS_HELLO,      /* waiting for the peer's HELLO                            */
	SESS_AUTH,       /* waiting for AUTH                                        */
	SESS_HANDLES,    /* opener: waiting for HANDLES                             */
	SESS_WIRING,     /* channels connect                                        */
	SESS_READY,      /* waiting for the other side's READY                      */
	SESS_OPEN,
	SESS_FAILED      /* cause says why; nothing is left on it                   */
};

#define SESS_BUCKETS 64

/* One conversation. Both sides may start transfers on it; the top bit of a transfer's id
 * says which side did. */
struct session {
	struct source source; /* its control connection */
	struct work work;
	struct work speech;      /* answers of other loops' threads are to be written */
	struct grave grave;
	_Atomic int refs;
	struct tcpx_engine *engine;
	struct loop *loop;
	struct tcpx_node in_loop, in_engine, in_peer;
	struct tcpx_node unsaid; /* loop's chain; lease */
	_Atomic bool owes;       /* answers that no flush has taken along yet */
	pthread_mutex_t lock;
	/* everything below: lock */
	_Atomic int state; /* enum session_state */
	bool opener, accepted_ready, answered;
	int cause;
	char cause_text[192];
	struct tcpx_peer *peer; /* owned reference */
	uint64_t id;
	uint8_t nonce[16], peer_nonce[16], token[16];
	char auth_role;
	struct tcpx_ctrl *ctrl;
	struct tcpx_stream *stream; /* NULL: cut */
	unsigned stream_interest;
	bool stream_up, resuming, dirty;
	uint32_t epoch;
	uint32_t target_addr; /* which peer address is tried next */
	uint32_t refused;     /* attempts in a row to reach the peer that met nobody */
	struct tcpx_stream *probe; /* acceptor, while cut: does the opener listen? */
	struct tcpx_hello peer_hello;
	uint32_t channels, window, chunk_max;
	struct channel *tx[TCPX_CHANNELS_MAX], *rx[TCPX_CHANNELS_MAX];
	uint32_t tx_up, rx_up;
	uint32_t open_channels; /* made and not yet closed                            */
	struct tcpx_readiness ready; /* the peer's                                        */
	/* times */
	uint64_t start_ns, open_ns, deadline_ns, retry_ns, heard_ns, pinged_ns, cut_ns, dying_ns,
		tx_wired_ns, rx_wired_ns; /* the first channel of a direction stands    */
	uint64_t tx_progress_ns, rx_progress_ns; /* some chunk was applied               */
	/* transfers */
	struct tcpx_node table[SESS_BUCKETS];
	uint32_t live;          /* in the table                                       */
	uint64_t live_bytes;    /* their lengths together                             */
	struct tcpx_node waiting; /* posted, not yet opened                           */
	struct tcpx_node eventful; /* posted, waiting for the caller's event           */
	struct tcpx_node early;   /* notes sent before the session is open            */
	uint64_t opened_here;   /* number of the newest transfer this side opened     */
	uint64_t opened_there;  /* ... of the newest that the peer has wholly opened  */
	struct tcpx_xfer *opening; /* the peer's; its list is still arriving (reference) */
	uint64_t skipping;      /* the peer's; refused, but its list still arrives    */
	bool pumping;           /* tcpx_post_waiting() is at work                     */
	bool chunks_wait;       /* a channel found an OPEN not yet written            */
	uint32_t rr_next;       /* TCPX_DIST=rr: channel whose turn it is             */
	uint32_t next_kick;
	uint32_t kick_more;     /* channels not told of chunks yet: those that are will   */
	uint32_t credit_xfers, used_xfers;
	uint64_t credit_list, used_list;
	uint32_t unmatched;     /* the peer's sends that no receive has asked for; peer.lock */
	struct tcpx_drr drr;
	uint64_t queued_bytes, outstanding_bytes;
};

#define ID_OF_ACCEPTOR (1ull << 63)

static inline bool
id_is_ours(const struct session *s, uint64_t id)
{
	return ((id & ID_OF_ACCEPTOR) == 0) == s->opener;
}

/* Numbered by the side it says, and opened already. */
static inline bool
id_is_known(const struct session *s, uint64_t id)
{
	return (id & ~ID_OF_ACCEPTOR) <= (id_is_ours(s, id) ? s->opened_here : s->opened_there);
}

/* Some transfer is open or waits to be. lock held. */
static inline bool
session_busy(const struct session *s)
{
	return s->live > 0 || !tcpx_chain_empty(&s->waiting) || !tcpx_chain_empty(&s->eventful);
}

/* ---- session.c ---- */
int tcpx_session_new(struct tcpx_engine *e, bool opener, struct session **out);
void tcpx_session_get(struct session *s);
void tcpx_session_put(struct session *s);
/* Fails it: every transfer ends, everything is closed. lock held; the lease of its loop
 * need not be: connections are then closed by the loop. */
void tcpx_session_fail(struct session *s, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tcpx_session_timer(struct session *s, uint64_t now_ns); /* lease and lock held */
void tcpx_session_kick_loop(struct session *s); /* its control loop: look at it */
void tcpx_session_check_alive(struct session *s, uint64_t now_ns);
void tcpx_session_reap(struct session *s); /* loop lease, no lock: FAILED -> let go */
/* Both sides are READY. lock held. */
void tcpx_session_opened(struct session *s, uint64_t now_ns);
void tcpx_session_add_timer(struct session *s, uint64_t at_ns); /* lease of its loop */

/* ---- handshake.c ---- */
int tcpx_handshake_start(struct session *s); /* opener: HELLO */
/* Frames until the session is open. 0, or why it fails. */
int tcpx_handshake_frame(struct session *s, const struct tcpx_frame_head *h,
			 const uint8_t *payload, uint64_t now_ns);
/* Acceptor: the guest's HELLO. */
int tcpx_handshake_accept(struct session *s, const struct tcpx_hello *h, uint64_t now_ns);

/* ---- wiring.c ---- */
int tcpx_wiring_listen(struct session *s);  /* acceptor: HANDLES */
/* Acceptor: the opener's HANDLES have come, once. */
int tcpx_wiring_answered(struct session *s, const struct tcpx_handles *h);
int tcpx_wiring_connect(struct session *s, const struct tcpx_handles *h);
void tcpx_wiring_step(struct session *s, uint64_t now_ns);
/* For how long channels are waited for, from HANDLES to READY. */
uint64_t tcpx_wiring_patience(const struct tcpx_engine *e);

/* ---- control.c ---- */
void tcpx_control_ready(struct source *src, unsigned ready, uint64_t now_ns);
int tcpx_control_put(struct session *s, uint8_t type, const struct tcpx_buf *b);
int tcpx_control_put_bulk(struct session *s, uint8_t type, const struct tcpx_buf *b,
			  uint64_t *ticket);
int tcpx_control_put_u64(struct session *s, uint8_t type, uint64_t v);
void tcpx_control_flush(struct session *s);
/* The same in the next turn of the session's loop, whose lease is held. */
void tcpx_control_later(struct session *s);
/* The same, asked for from anywhere. */
void tcpx_control_hand(struct session *s);
void tcpx_control_speech(struct work *w, uint64_t now_ns);
int tcpx_control_put_raw(struct session *s, uint8_t type, const struct tcpx_buf *b);
void tcpx_control_cut(struct session *s, uint64_t now_ns, const char *why);
/* Acceptor, cut: looks whether the opener still lives. Lease and lock held, as for its end. */
void tcpx_control_probe(struct session *s, uint64_t now_ns);
void tcpx_control_probe_end(struct session *s);
void tcpx_control_connect(struct session *s, uint64_t now_ns);

/* ---- resume.c: lock held ---- */
int tcpx_resume_ask(struct session *s);                    /* opener, connection up */
int tcpx_resume_answered(struct session *s, struct tcpx_buf *b); /* opener: RESUMED */
/* Acceptor: the stream and its reader pass to the session. The caller holds the lease. */
int tcpx_resume_accept(struct tcpx_engine *e, const struct tcpx_resume *r,
		       struct tcpx_stream *stream, uint64_t now_ns);

#endif
