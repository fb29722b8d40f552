/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transfer: this side's half of one, whether the application or the peer began it.
 */
#ifndef CORE_XFER_H
#define CORE_XFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/list.h"
#include "core/loop.h"
#include "proto/chunk.h"
#include "proto/frame.h"
#include "proto/sched.h"

struct session;

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
	struct tcpx_node handle; /* in engine.xfers while the application holds it    */
	bool user;              /* a handle of the application exists                 */
	_Atomic bool observed;  /* the application has seen its end                   */
	bool sends;             /* payload leaves from here                           */
	struct tcpx_list *list; /* local memory, owned reference                      */
	struct tcpx_list *remote; /* initiator's, owned reference                     */
	uint8_t *note;
	uint32_t note_len, note_cap;
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
	void *event;            /* the caller's: its post waits for it                */
	_Atomic int32_t word;   /* index + 1 of its completion word; gpus.lock        */
	uint64_t post_ns, ready_ns, done_ns, progress_ns;
	char cause[192];
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

/* ---- xfer.c: session->lock is held unless said ---- */
int tcpx_xfer_new(struct tcpx_engine *e, struct tcpx_xfer **out);
void tcpx_xfer_get(struct tcpx_xfer *x);
void tcpx_xfer_put(struct tcpx_xfer *x);
/* Ends it, once: no byte of its memory is touched afterwards. First cause wins. */
void tcpx_xfer_end(struct tcpx_xfer *x, int code, const char *text);
/* live := false, then waits until no gate and no batch holds it. Any lock may be held. */
void tcpx_xfer_quiesce(struct tcpx_xfer *x);
struct tcpx_xfer *tcpx_xfer_find(struct session *s, uint64_t id);
/* Into the table, which takes over a reference. */
void tcpx_xfer_insert(struct session *s, struct tcpx_xfer *x, uint64_t now_ns);
void tcpx_xfer_shape(struct tcpx_xfer *x, uint64_t total, uint32_t chunk);
int tcpx_xfer_map(struct tcpx_xfer *x); /* allocates the chunk map */

/* ---- post.c: the initiator's side ---- */
int tcpx_post_xfer(struct tcpx_xfer *x, const void *note, size_t note_len);
/* Opens waiting transfers while credit lasts. */
void tcpx_post_waiting(struct session *s, uint64_t now_ns);
/* Lets those go on whose event has happened. */
void tcpx_post_events(struct session *s);
/* ---- take.c ---- */
#define POST_FEW_CHANNELS 8 /* enough for a staged transfer of middle size */
/* One of many small messages of staged memory. */
bool tcpx_xfer_gathers(const struct tcpx_xfer *x);
/* Chunks of x may go: into the ring, channels kicked. */
void tcpx_post_ready(struct session *s, struct tcpx_xfer *x);

/* ---- serve.c: what the peer's frames do ---- */
int tcpx_serve_frame(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload);
void tcpx_serve_done(struct session *s, uint64_t id, int code, uint64_t bytes, const char *text,
		     const void *payload, uint16_t payload_len);
/* A device could not copy from or to its memory ("cannot be read"): ends it on both sides. No
 * lock held. */
void tcpx_serve_broken(struct session *s, struct tcpx_xfer *x, uint64_t id, int code,
		       const char *what);
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

#endif
