/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for tcpx_event_get(): ended transfers that are watched, and news of peers. An entry
 * lies in the object that it is about, so nothing is searched and, for transfers, nothing is
 * allocated. Any thread may call; events.lock guards the entries.
 */
#ifndef CORE_LOOP_QUEUE_H
#define CORE_LOOP_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/chain.h"

struct queued_peer;
struct tcpx_engine;
struct tcpx_xfer;

/* A transfer's entry. */
struct queued {
	struct tcpx_node node;  /* in events.queue while it waits                     */
	struct tcpx_xfer *xfer; /* NULL: part of a queued_peer                        */
	void *user;
	int status;
	uint64_t bytes;
};

/* What the application knows of a peer; zeroed: nothing yet. */
struct peer_news {
	struct queued_peer *waiting; /* its entry; NULL: none waits                   */
	bool known;
	int status;                  /* if known                                      */
};

/* Adds the entry, which must not wait. events.lock held; tcpx_queue_wake() without it. */
void tcpx_queue_add(struct tcpx_engine *e, struct queued *q);
void tcpx_queue_wake(struct tcpx_engine *e);
/* Takes the entry out if it waits. events.lock held. */
void tcpx_queue_remove(struct tcpx_engine *e, struct queued *q);
/* The peer is up (0) or down (why), if the engine wants to know; a state that still waits is
 * replaced. */
void tcpx_queue_peer(struct tcpx_engine *e, struct peer_news *news, const char *name,
		     uint64_t incarnation, int status);
/* The peer's object goes; what waits about it stays. */
void tcpx_queue_forget(struct tcpx_engine *e, struct peer_news *news);
/* At the engine's end, before the transfers go. */
void tcpx_queue_close(struct tcpx_engine *e);

#endif
