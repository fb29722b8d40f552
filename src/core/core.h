/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's structs, private to core/. Locks, in the order they may nest:
 *
 *	loop.lease > session.lock > { engine.lock, peer.lock, regions.lock, notes.lock,
 *	loop.work_lock }
 *
 * The leaves are never held together. A channel's connection and its receive and send
 * state belong to whoever holds its loop's lease; everything else of a session is
 * guarded by session.lock, its control connection included.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cfg.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/chain.h"
#include "device/device.h"
#include "net/net.h"
#include "proto/blob.h"
#include "proto/chunk.h"
#include "proto/ctrl.h"
#include "proto/frag.h"
#include "proto/runs.h"
#include "proto/sched.h"
#include "proto/window.h"
#include "tcpx/tcpx.h"

#define CORE_IOV      256          /* pieces a socket call                          */
#define CORE_CALL_MAX (1u << 20)   /* bytes a socket call: bounds the gate          */
#define CORE_EVENTS   64           /* poller events a step                          */
#define LEASE_NS      (TCPX_MS / 4) /* a borrowed loop goes back after this idle    */
#define CHUNK_AUTO    (1u << 20)   /* largest chunk unless TCPX_CHUNK says another  */
#define FRUITLESS     64           /* tests before test() does the I/O itself       */

struct session;
struct channel;

/* Something a poller reports on. on_ready runs with the loop's lease held. */
struct source {
	void (*on_ready)(struct source *src, unsigned ready, uint64_t now_ns);
};

/* Something to be run once by a loop, asked for from any thread. */
struct work {
	struct tcpx_node node;
	bool queued; /* guarded by loop.work_lock */
	void (*run)(struct work *w, uint64_t now_ns);
};

/* Something to be let go after the events of the running step: they may still name it. */
struct grave {
	struct tcpx_node node;
	void (*bury)(struct grave *g);
};

enum lease_holder { LEASE_NONE, LEASE_IO, LEASE_APP };

/* An I/O loop: a poller and what it watches. Owned by lease, see lease.c. */
struct loop {
	struct tcpx_engine *engine;
	uint32_t index;
	struct tcpx_poller *poller;
	pthread_mutex_t lease;        /* held while stepping                          */
	_Atomic int holder;           /* enum lease_holder                            */
	_Atomic(pthread_t) stepper;   /* thread that holds the lease                  */
	_Atomic bool stepping;        /* stepper is meaningful                        */
	_Atomic int borrowers;        /* application threads that want or hold it     */
	_Atomic uint64_t lent_ns;     /* last moment a borrower held it               */
	_Atomic uint32_t park;        /* the I/O thread's futex                       */
	_Atomic(struct tcpx_xfer *) gate; /* transfer whose memory is in use right now */
	pthread_mutex_t work_lock;    /* work list                                    */
	struct tcpx_node work;
	/* lease holder only */
	struct tcpx_node sessions;    /* whose control stream this loop serves        */
	struct tcpx_node guests;      /* accepted, not yet introduced                 */
	struct tcpx_node graves;      /* sources closed in this step                  */
	struct tcpx_node unsaid;      /* sessions with answers not yet written        */
	struct tcpx_node batches;     /* device batches in flight, oldest first       */
	struct unpack_batch *filling; /* messages landed in this step                 */
	uint32_t guest_count;
	uint64_t timer_ns;            /* earliest deadline of anything here           */
	/* thread */
	pthread_t thread;
	bool threaded;
	_Atomic bool stop;
	_Atomic int tid;
	char granted[64];
};

/* A registered range, or an imported name of a peer's. */
struct region {
	uint64_t id;           /* 0: free slot                                        */
	uint32_t generation;   /* of the slot's present or last user                  */
	uint8_t *addr;
	uint64_t peer_addr, len;
	unsigned access;
	bool imported;
	struct tcpx_region_ref ref;
};

/* Chunks of paged slots: entries never move. */
struct regions {
	pthread_mutex_t lock;
	struct region **page;
	uint32_t pages, used;
	uint32_t live;
};

/* A checked descriptor list, refcounted; shared by the transfers that use it. */
struct tcpx_list {
	_Atomic int refs;
	struct tcpx_engine *engine;
	bool imported;
	uint64_t total;
	uint64_t *region_id; /* distinct, as named by the user          */
	uint32_t region_count;
	/* local */
	struct tcpx_frag *frag;
	uint64_t *start;
	size_t frag_count;
	/* imported: as it travels */
	struct tcpx_region_ref *ref;
	struct tcpx_run_entry *entry;
	size_t entry_count;
};

struct tcpx_note {
	struct tcpx_node node;
	char sender[TCPX_NAME_MAX];
	size_t len;
	uint8_t data[];
};

struct notes {
	pthread_mutex_t lock;
	struct tcpx_node queue;
	_Atomic uint32_t count; /* futex of waiters that could not borrow */
	_Atomic int sleepers;
	uint32_t limit;
};

/* Sticky state of a transfer's half on this side. */
struct tcpx_xfer {
	_Atomic int refs;
	_Atomic int status;     /* -EAGAIN in progress; futex of waiters              */
	_Atomic int sleepers;
	_Atomic(struct loop *) wait_loop; /* loop a waiter sleeps in                  */
	_Atomic uint64_t live;  /* id while its memory may be touched, else 0: re-checked
				 * in the gate                                         */
	_Atomic uint32_t batched; /* device copies in flight that touch its memory    */
	_Atomic uint32_t tests; /* fruitless, since the post                          */
	struct tcpx_engine *engine;
	struct tcpx_peer *peer; /* owned reference; NULL at the target                */
	struct session *session; /* owned reference while in progress                 */
	enum tcpx_op op;        /* RECV also for a target of SEND                     */
	bool target;            /* made by the peer's OPEN                            */
	bool user;              /* a handle of the application exists                 */
	_Atomic bool observed;  /* the application has seen its end                   */
	bool sends;             /* payload leaves from here                           */
	struct tcpx_list *list; /* local memory, owned reference                      */
	struct tcpx_list *remote; /* initiator's, owned reference                     */
	uint8_t *note;
	uint32_t note_len;
	bool has_note;
	uint64_t tag;
	/* guarded by session->lock from here */
	struct tcpx_node table; /* session's live transfers                           */
	struct tcpx_node queue; /* waiting for credit, or posted receives of a peer   */
	uint64_t id, total;
	uint32_t chunk, chunks;
	uint64_t open_ticket;   /* bulk frames that must be written before chunks     */
	bool inlined;           /* no chunks travel                                   */
	struct tcpx_drr_node drr;
	uint32_t next_chunk;    /* sending: first chunk never taken                   */
	uint32_t *again;        /* sending: chunks given back by fences               */
	uint32_t again_count, again_cap;
	uint32_t applied;       /* sending: chunks acknowledged                       */
	uint32_t in_flight;     /* sending: chunks in a window                        */
	struct tcpx_chunkmap map; /* receiving                                        */
	struct list_builder *builder; /* target: its list is still arriving           */
	_Atomic uint64_t bytes_done;
	uint64_t list_bytes;    /* credit it holds                                    */
	uint64_t post_ns, ready_ns, done_ns, progress_ns;
	char cause[192];
};

/* What is remembered about a message in a channel's window. */
struct tx_record {
	struct tcpx_xfer *xfer; /* owned reference */
	uint64_t id;            /* of the post it belongs to */
	uint32_t chunk, len;
	struct tcpx_rate_mark mark;
	uint64_t ready_ns, taken_ns, sent_ns;
	uint64_t ticket;        /* packing, without DIRECT_TX */
};
struct rx_record {
	struct tcpx_xfer *xfer; /* owned reference; NULL: sink */
	uint64_t id;            /* of the post it belongs to   */
	uint32_t chunk, len;
	uint64_t landed_ns;
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
	uint64_t msg_seq;
	uint8_t *pack;          /* without DIRECT_TX: window.size slots of chunk_max  */
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
	struct tcpx_landed landed; /* without: parked in its slot                     */
	bool head_open;
	_Atomic bool parked;    /* waits for an OPEN                                  */
	uint32_t got;           /* payload bytes of the open message                  */
	struct tcpx_ack ack;    /* to be told                                         */
	uint64_t told_applied;
	uint32_t untold_bytes;
	/* counters, session.lock or lease holder alone */
	uint64_t bytes, chunks, stalls, in_flight_sum;
	uint32_t in_flight_max;
};

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
	struct grave grave;
	_Atomic int refs;
	struct tcpx_engine *engine;
	struct loop *loop;
	struct tcpx_node in_loop, in_engine, in_peer;
	struct tcpx_node unsaid; /* loop's chain; lease */
	pthread_mutex_t lock;
	/* everything below: lock */
	_Atomic int state; /* enum session_state */
	bool opener, accepted_ready;
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
	struct tcpx_hello peer_hello;
	uint32_t channels, window, chunk_max;
	struct channel *tx[TCPX_CHANNELS_MAX], *rx[TCPX_CHANNELS_MAX];
	uint32_t tx_up, rx_up;
	uint32_t open_channels; /* made and not yet closed                            */
	struct tcpx_readiness ready; /* the peer's                                        */
	/* times */
	uint64_t start_ns, open_ns, deadline_ns, retry_ns, heard_ns, pinged_ns, cut_ns, dying_ns,
		wired_ns, progress_ns;
	/* transfers */
	struct tcpx_node table[SESS_BUCKETS];
	uint32_t live;          /* in the table                                       */
	struct tcpx_node waiting; /* posted, not yet opened                           */
	struct tcpx_node early;   /* notes sent before the session is open            */
	uint64_t opened_here;   /* number of the newest transfer this side opened     */
	uint64_t opened_there;  /* ... of the newest that the peer has wholly opened  */
	struct tcpx_xfer *opening; /* the peer's; its list is still arriving (reference) */
	uint64_t skipping;      /* the peer's; refused, but its list still arrives    */
	bool pumping;           /* tcpx_post_waiting() is at work                     */
	bool chunks_wait;       /* a channel found an OPEN not yet written            */
	uint32_t rr_next;       /* TCPX_DIST=rr: channel whose turn it is             */
	uint32_t next_kick;
	uint32_t credit_xfers, used_xfers;
	uint64_t credit_list, used_list;
	struct tcpx_drr drr;
	uint64_t queued_bytes, outstanding_bytes;
};

/* A SEND that no receive has asked for yet. */
struct unexpected {
	struct tcpx_node node;
	struct session *session; /* owned reference */
	uint64_t id, total, tag;
	uint32_t chunk;
	bool inlined;
	uint8_t payload[];
};

/* One incarnation of another engine. */
struct tcpx_peer {
	_Atomic int refs;     /* handles, sessions, transfers                       */
	_Atomic int handles;  /* of the application                                 */
	struct tcpx_engine *engine;
	struct tcpx_node in_engine;
	pthread_mutex_t lock; /* everything below */
	char name[TCPX_NAME_MAX];
	uint64_t incarnation; /* 0: not known yet */
	struct session *out;  /* owned reference; the session we opened */
	struct tcpx_node inbound; /* sessions it opened */
	struct tcpx_addr addr[TCPX_NICS_MAX];
	uint32_t addr_count;
	struct tcpx_node recvs;      /* posted receives, tcpx_xfer.queue             */
	struct tcpx_node unexpected;
	uint64_t dropped_ns;         /* 0: in use                                    */
	int gone;                    /* why it is gone for ever, 0 if it is not      */
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

struct counters {
	_Atomic uint64_t bytes_tx, bytes_rx, chunks_tx, chunks_rx, xfers_posted, xfers_done,
		xfers_failed, notes_tx, notes_rx, notes_dropped, ctrl_frames_tx, ctrl_frames_rx,
		ctrl_resumes, channels_lost, chunks_resent, stalls, refused, queue_ns, wire_ns,
		ack_ns, unpack_ns, lease_borrows;
};

/* Values of settings that the data path needs. */
struct limits {
	uint32_t channels, window, inline_bytes, credit_xfers;
	uint32_t chunk;     /* as set; 0: by the size of each transfer               */
	uint32_t chunk_max; /* offered to peers                                      */
	uint64_t credit_list;
	uint64_t connect_ns, handshake_ns, stall_ns, keepalive_ns, linger_ns;
	bool strict_nics, round_robin;
	uint64_t spin_ns;
};

/* What engine_open is given beyond the public options; see sim.h. */
struct engine_env {
	struct tcpx_clock clock;
	const struct tcpx_net_ops *net;
	void *fabric;
	const struct tcpx_device_ops *device;
	void *device_arg;
	bool manual; /* no threads: tcpx_engine_step() drives */
	const struct tcpx_nic *nics;
	uint32_t nic_count;
};

struct listening {
	struct source source;
	struct tcpx_engine *engine;
	struct tcpx_listener *listener;
	struct tcpx_addr bound;
};

struct auth;

struct tcpx_engine {
	struct tcpx_cfg *cfg;
	struct tcpx_clock clock;
	const struct tcpx_net_ops *ops;
	struct tcpx_net *net;
	const struct tcpx_device_ops *dev_ops;
	struct tcpx_device *dev;
	struct auth *auth; /* NULL: no secret */
	struct limits limit;
	char name[TCPX_NAME_MAX];
	uint64_t incarnation;
	struct tcpx_nic nic[TCPX_NET_NICS];
	uint32_t nic_count;
	struct listening listening[TCPX_NET_NICS];
	uint32_t listening_count;
	struct loop *loop;
	uint32_t loop_count;
	bool manual;
	_Atomic bool closing;
	pthread_mutex_t lock; /* peers, sessions */
	struct tcpx_node peers, sessions;
	uint32_t session_count;
	struct regions regions;
	struct notes notes;
	struct counters count;
	_Atomic uint32_t bell;    /* futex: some session changed state */
	_Atomic int bell_sleepers;
	pthread_mutex_t event_lock; /* event_fd, unobserved */
	int event_fd;             /* -1 until asked for */
	uint64_t unobserved;
};

static inline void
count_add(_Atomic uint64_t *c, uint64_t v)
{
	atomic_fetch_add_explicit(c, v, memory_order_relaxed);
}

static inline uint64_t
engine_now(const struct tcpx_engine *e)
{
	return tcpx_clock_now(&e->clock);
}

/* ---- loop.c ---- */
int tcpx_loop_init(struct loop *l, struct tcpx_engine *e, uint32_t index);
void tcpx_loop_fini(struct loop *l);
int tcpx_loop_start(struct loop *l);
void tcpx_loop_stop(struct loop *l); /* joins the thread */
/* One turn: work, events, timers. The lease must be held. timeout_ns < 0: until needed. */
void tcpx_loop_step(struct loop *l, int64_t timeout_ns);
/* Asks the loop to run w; any thread. A no-op while w is queued. */
void tcpx_loop_post(struct loop *l, struct work *w);
void tcpx_loop_cancel(struct loop *l, struct work *w); /* lease held */
void tcpx_loop_wake(struct loop *l);
bool tcpx_loop_is_mine(const struct loop *l); /* this thread holds its lease */
void tcpx_loop_timer(struct loop *l, uint64_t at_ns); /* lease held, or under work */
void tcpx_loop_bury(struct loop *l, struct grave *g, void (*bury)(struct grave *g));

/* ---- lease.c ---- */
bool tcpx_lease_borrow(struct loop *l);
void tcpx_lease_return(struct loop *l);
/* Waits until done(arg), doing the loop's I/O on this thread where it can; word/value: a
 * futex to sleep on where it cannot. 0 or -EAGAIN after timeout_ms. */
int tcpx_lease_wait(struct loop *l, bool (*done)(void *), void *arg, _Atomic uint32_t *word,
		    uint32_t value, _Atomic int *sleepers, int timeout_ms);
void tcpx_futex_wake(void *word, int count);
int tcpx_futex_wait(void *word, uint32_t value, int64_t timeout_ns);

/* ---- region.c ---- */
int tcpx_regions_init(struct regions *r);
void tcpx_regions_fini(struct regions *r);
/* Copies the live entry; TCPX_ESTALE. */
int tcpx_region_get(struct regions *r, uint64_t id, struct region *out);

/* ---- list.c ---- */
int tcpx_list_new(struct tcpx_engine *e, const struct tcpx_desc *desc, size_t count,
		  bool imported, struct tcpx_list **out);
void tcpx_list_put(struct tcpx_list *l);
bool tcpx_list_names(const struct tcpx_list *l, uint64_t region_id);
/* 0, or TCPX_ESTALE when one of its regions is gone. */
int tcpx_list_check(const struct tcpx_list *l);
static inline struct tcpx_fraglist
list_frags(const struct tcpx_list *l)
{
	return (struct tcpx_fraglist){ l->frag, l->start, l->frag_count };
}
void tcpx_list_copy_in(const struct tcpx_list *l, const uint8_t *src, uint64_t len);
void tcpx_list_copy_out(const struct tcpx_list *l, uint8_t *dst, uint64_t len);
/* A target's list, checked as it arrives; need: enum tcpx_mem_access. */
int tcpx_builder_new(struct tcpx_engine *e, unsigned need, uint32_t entries, uint64_t total,
		     struct list_builder **out);
int tcpx_builder_feed(struct list_builder *b, const uint8_t *ops, size_t len);
int tcpx_builder_finish(struct list_builder *b, struct tcpx_list **out);
void tcpx_builder_free(struct list_builder *b);

/* ---- xfer.c: session->lock is held unless said ---- */
int tcpx_xfer_new(struct tcpx_engine *e, struct tcpx_xfer **out);
void tcpx_xfer_get(struct tcpx_xfer *x);
void tcpx_xfer_put(struct tcpx_xfer *x);
/* Ends it, once: no byte of its memory is touched afterwards. First cause wins. */
void tcpx_xfer_end(struct tcpx_xfer *x, int code, const char *text);
/* live := false, then waits until no gate and no batch holds it. Any lock may be held. */
void tcpx_xfer_quiesce(struct tcpx_xfer *x);
struct tcpx_xfer *tcpx_xfer_find(struct session *s, uint64_t id);
void tcpx_xfer_insert(struct session *s, struct tcpx_xfer *x);
void tcpx_xfer_shape(struct tcpx_xfer *x, uint64_t total, uint32_t chunk);
int tcpx_xfer_map(struct tcpx_xfer *x); /* allocates the chunk map */

/* ---- post.c: the initiator's side ---- */
int tcpx_post_xfer(struct tcpx_xfer *x, const void *note, size_t note_len);
/* Opens waiting transfers while credit lasts. */
void tcpx_post_waiting(struct session *s);
/* Chunks of x may go: into the ring, channels kicked. */
void tcpx_post_ready(struct session *s, struct tcpx_xfer *x);

/* ---- serve.c: what the peer's frames do ---- */
int tcpx_serve_frame(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload);
void tcpx_serve_done(struct session *s, uint64_t id, int code, uint64_t bytes, const char *text,
		     const void *payload, uint16_t payload_len);
/* SEND: x (a receive, not in any chain, x->session set) takes the message. */
int tcpx_serve_bind(struct session *s, struct tcpx_xfer *x, uint64_t id, uint64_t total,
		    uint32_t chunk, const uint8_t *payload);
/* All chunks of a receiving transfer are in place. */
void tcpx_serve_filled(struct session *s, struct tcpx_xfer *x);

/* ---- match.c ---- */
int tcpx_match_send(struct session *s, const struct tcpx_open *o);
int tcpx_match_recv(struct tcpx_peer *p, struct tcpx_xfer *x);
void tcpx_match_forget(struct tcpx_peer *p, struct session *s, uint64_t id); /* id 0: all */
void tcpx_match_fail(struct tcpx_peer *p, int code, const char *text);
/* Ends receives that wait for their send and name the region. No lock held. */
void tcpx_match_region_gone(struct tcpx_engine *e, uint64_t region_id);

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
int tcpx_wiring_connect(struct session *s, const struct tcpx_handles *h);
void tcpx_wiring_step(struct session *s, uint64_t now_ns);

/* ---- control.c ---- */
void tcpx_control_ready(struct source *src, unsigned ready, uint64_t now_ns);
int tcpx_control_put(struct session *s, uint8_t type, const struct tcpx_buf *b);
int tcpx_control_put_bulk(struct session *s, uint8_t type, const struct tcpx_buf *b,
			  uint64_t *ticket);
int tcpx_control_put_u64(struct session *s, uint8_t type, uint64_t v);
void tcpx_control_flush(struct session *s);
int tcpx_control_put_raw(struct session *s, uint8_t type, const struct tcpx_buf *b);
void tcpx_control_cut(struct session *s, uint64_t now_ns, const char *why);
void tcpx_control_connect(struct session *s, uint64_t now_ns);

/* ---- resume.c: lock held ---- */
int tcpx_resume_ask(struct session *s);                    /* opener, connection up */
int tcpx_resume_answered(struct session *s, struct tcpx_buf *b); /* opener: RESUMED */
/* Acceptor: the stream and its reader pass to the session. The caller holds the lease. */
int tcpx_resume_accept(struct tcpx_engine *e, const struct tcpx_resume *r,
		       struct tcpx_stream *stream, uint64_t now_ns);

/* ---- guest.c ---- */
int tcpx_guest_listen(struct tcpx_engine *e, const char *listen_text);
void tcpx_guest_timer(struct loop *l, uint64_t now_ns);
void tcpx_guest_close_all(struct loop *l);

/* ---- channel.c ---- */
int tcpx_channel_new(struct session *s, uint16_t index, bool sending, bool backward,
		     struct channel **out);
int tcpx_channel_up(struct channel *c, struct tcpx_chan *chan); /* lock held */
void tcpx_channel_watch(struct channel *c, unsigned interest);
/* Lease held, lock not: the connection is of no more use. */
void tcpx_channel_down(struct channel *c, int code, const char *why);
/* lock held: a fence frame or an acknowledgement about it has come. */
void tcpx_channel_event(struct session *s, uint8_t type, const struct tcpx_chan_event *ev);
/* Lease of its loop held, lock not: closes and forgets everything. Once. */
void tcpx_channel_close(struct channel *c);

/* ---- tx.c: lease held, lock not ---- */
void tcpx_tx_step(struct channel *c, bool readable, uint64_t now_ns);
int tcpx_tx_acked(struct channel *c, const struct tcpx_ack *ack, uint64_t now_ns);
/* The connection is closed; what the peer did not take over goes to other channels. */
void tcpx_tx_give_back(struct channel *c);
void tcpx_tx_kick_all(struct session *s); /* lock held */
/* Payload of x that no channel has taken. */
uint64_t tcpx_tx_queued(const struct tcpx_xfer *x);

/* ---- rx.c: lease held, lock not ---- */
void tcpx_rx_step(struct channel *c, uint64_t now_ns);
int tcpx_rx_applied(struct channel *c, const struct rx_record *r, uint64_t now_ns);
void tcpx_rx_tell(struct channel *c, bool force);

/* ---- unpack.c: lease held, lock not ---- */
int tcpx_unpack_add(struct channel *c, const struct tcpx_landed *msg, struct rx_record *r);
void tcpx_unpack_launch(struct loop *l);
void tcpx_unpack_poll(struct loop *l, uint64_t now_ns);
/* All batches are done on the device; bookkeeping is left to poll. Any lock may be held. */
void tcpx_unpack_finish(struct loop *l);
void tcpx_unpack_fini(struct loop *l);

/* ---- peer.c ---- */
/* The session that carries our operations, opened if need be; a reference. */
int tcpx_peer_session(struct tcpx_peer *p, struct session **out);
int tcpx_peer_new(struct tcpx_engine *e, const char *name, uint64_t incarnation,
		  struct tcpx_peer **out);
void tcpx_peer_get(struct tcpx_peer *p);
void tcpx_peer_put(struct tcpx_peer *p);
/* The peer of a HELLO, made if need be; a reference. */
int tcpx_peer_meet(struct tcpx_engine *e, const char *name, uint64_t incarnation,
		   struct tcpx_peer **out);
void tcpx_peer_session_lost(struct tcpx_peer *p, struct session *s, int code, const char *text);
void tcpx_peer_linger(struct tcpx_engine *e, uint64_t now_ns);

/* ---- note.c ---- */
/* Adds a note to a chain; the caller guards it. */
int tcpx_note_keep(struct tcpx_node *chain, const char *sender, const void *data, size_t len);
void tcpx_note_push(struct tcpx_engine *e, const char *sender, const void *data, size_t len);

/* ---- event.c ---- */
void tcpx_event_add(struct tcpx_engine *e);
void tcpx_event_drop(struct tcpx_engine *e);

/* ---- auth.c ---- */
int tcpx_auth_open(const char *secret_file, struct auth **out);
void tcpx_auth_close(struct auth *a);
void tcpx_auth_mac(const struct auth *a, const void *data, size_t len, uint8_t mac[32]);
bool tcpx_bytes_equal(const void *a, const void *b, size_t len); /* constant time */

/* ---- engine.c ---- */
int tcpx_engine_open(const struct tcpx_engine_opts *opts, const struct engine_env *env,
		     struct tcpx_engine **out);
void tcpx_engine_bell(struct tcpx_engine *e);
/* A snapshot of the sessions, each with a reference; free() the array. NULL when there
 * are none (or no memory). */
struct session **tcpx_engine_sessions(struct tcpx_engine *e, uint32_t *count);

#endif
