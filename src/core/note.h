/* SPDX-License-Identifier: Apache-2.0 */
/* Notes that wait to be taken, and the descriptor that says something waits. */
#ifndef CORE_NOTE_H
#define CORE_NOTE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/chain.h"
#include "proto/frame.h"

struct tcpx_engine;

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
	_Atomic uint32_t looks; /* fruitless, in a row */
	uint32_t limit;
};

/* ---- note.c ---- */
/* Adds a note to a chain; the caller guards it. */
int tcpx_note_keep(struct tcpx_node *chain, const char *sender, const void *data, size_t len);
void tcpx_note_push(struct tcpx_engine *e, const char *sender, const void *data, size_t len);

/* ---- event.c ---- */
void tcpx_event_changed(struct tcpx_engine *e); /* notes.count has */
void tcpx_event_add(struct tcpx_engine *e); /* an end not tested yet */
void tcpx_event_drop(struct tcpx_engine *e);

#endif
