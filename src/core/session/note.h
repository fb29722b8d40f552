/* SPDX-License-Identifier: Apache-2.0 */
/* Notes that wait: received ones for the application to take, others for their session to open. */
#ifndef CORE_SESSION_NOTE_H
#define CORE_SESSION_NOTE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/chain.h"
#include "core/loop/loop.h"
#include "proto/frame.h"

struct kept_host;
struct tcpx_slab;
struct session;
struct tcpx_engine;
struct tcpx_peer;

struct tcpx_note {
	struct tcpx_node node;
	char sender[TCPX_NAME_MAX];
	uint64_t peer; /* its number; 0: a note to send */
	size_t len;
	uint8_t data[];
};

/* Received notes of a peer. While it has some it is alive, and in the engine's chain. */
struct note_queue {
	struct tcpx_node notes, turn, left;
	struct tcpx_slab *slab; /* where the next ones go */
	uint32_t count;
	bool absent; /* has had a session, and has none */
};

static inline void
note_queue_init(struct note_queue *q)
{
	tcpx_node_init(&q->notes);
	tcpx_node_init(&q->turn);
	tcpx_node_init(&q->left);
	q->slab = NULL;
	q->count = 0;
	q->absent = false;
}

/* The peers with received notes of an engine: each in turn gives one. */
struct notes {
	pthread_mutex_t lock;
	struct tcpx_node turn;
	struct tcpx_node left;  /* those of them that have no session, in the order of leaving */
	struct tcpx_node spent; /* peers whose last note was given up: a reference of each     */
	bool told;              /* that some were given up                                     */
	_Atomic int sleepers;
	_Atomic uint32_t looks; /* calls of tcpx_note_get() in a row that found none */
	_Atomic uint32_t held;  /* in all sessions: come, and found no room yet      */
	struct work retry;      /* for these                                         */
	struct tcpx_engine *engine;
};

/* Copies a note into a chain that the caller locks: a note to send once its session is open.
 * -ENOMEM. */
int tcpx_note_keep(struct tcpx_node *chain, const void *data, size_t len);
/* Copies a received note into its peer's queue and wakes the threads that wait for one. Above
 * TCPX_NOTE_LIMIT or the peer's share of memory (TCPX_ELIMIT), or without memory, it is not. */
int tcpx_note_push(struct tcpx_peer *from, const void *data, size_t len);
/* Why a note of @len bytes was not taken, for @code. */
void tcpx_note_why(const struct tcpx_peer *from, size_t len, int code, char *text, size_t cap);
/* The peer has no session any more, or has one again. p->lock may be held. */
void tcpx_notes_absent(struct tcpx_peer *p, bool absent);
/* Drops notes of peers without a session, of @host if that is not NULL, of who left first, its oldest first:
 * at least @bytes of them. False: there are none. Any lock of a session may be held. */
bool tcpx_notes_yield(struct tcpx_engine *e, const struct kept_host *host, uint64_t bytes);
/* Gives back the peers whose last note was given up. Their lock may not be held. */
void tcpx_notes_spent(struct notes *all);
/* The engine's notes, before its first peer. */
void tcpx_notes_open(struct tcpx_engine *e);
/* Frees notes that nobody took. No other thread is left. */
void tcpx_notes_close(struct notes *all);
/* The session's last reference has gone. No lock. */
void tcpx_notes_drop(struct session *s);

#endif
