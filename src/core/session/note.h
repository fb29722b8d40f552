/* SPDX-License-Identifier: Apache-2.0 */
/* Notes that wait: received ones for the application to take, others for their session to open. */
#ifndef CORE_SESSION_NOTE_H
#define CORE_SESSION_NOTE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/chain.h"
#include "core/loop/loop.h"
#include "proto/frame.h"

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
	struct tcpx_node notes, turn;
	uint32_t count;
};

/* The peers with received notes of an engine: each in turn gives one. */
struct notes {
	pthread_mutex_t lock;
	struct tcpx_node turn;
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
 * TCPX_NOTE_LIMIT or the peer's share of memory (TCPX_ELIMIT), or without memory, it is not; @drop: it
 * is counted as dropped then, and its transfer fails. */
int tcpx_note_push(struct tcpx_peer *from, const void *data, size_t len, bool drop);
void tcpx_note_queue_init(struct note_queue *q);
/* Frees notes that nobody took. No other thread is left. */
void tcpx_notes_close(struct notes *all);

#endif
