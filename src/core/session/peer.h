/* SPDX-License-Identifier: Apache-2.0 */
/* Peers: incarnations of other engines, and their queues. */
#ifndef CORE_SESSION_PEER_H
#define CORE_SESSION_PEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/chain.h"
#include "base/quota.h"
#include "base/tags.h"
#include "core/context/context.h"
#include "core/loop/queue.h"
#include "core/session/kept.h"
#include "core/session/note.h"
#include "net/net.h"
#include "proto/frame.h"

struct peer_place;
struct session;
struct tcpx_engine;

/* One incarnation of another engine. */
struct tcpx_peer {
	_Atomic int refs;     /* handles, sessions, transfers                       */
	_Atomic int handles;  /* of the application                                 */
	struct tcpx_engine *engine;
	struct tcpx_node in_engine, in_bucket; /* registry.lock */
	struct tcpx_tagged by_number, by_name; /* registry.lock */
	struct peer_place *place; /* its given addresses, owned. registry.lock      */
	uint64_t number;      /* of this engine's peers, from 1                     */
	pthread_mutex_t lock; /* everything below */
	char name[TCPX_NAME_MAX];
	uint64_t incarnation; /* 0: not known yet */
	bool named;           /* NAME@HOST:PORT: no other name may answer            */
	struct session *out;  /* owned reference; the session opened by us */
	struct tcpx_node inbound; /* sessions opened by the peer */
	bool served;         /* its own gave way, or it has none: that of another object of it serves */
	struct tcpx_addr addr[TCPX_NICS_MAX];
	uint32_t addr_count;
	uint32_t given;              /* the first of them: by the application; others it was met at */
	struct tcpx_node recvs;      /* posted receives, tcpx_xfer.queue             */
	struct tcpx_node unexpected;
	struct tcpx_tags recvs_by_tag, unexpected_by_tag;
	struct tcpx_peer *home;      /* owned; NULL: itself. Another of this incarnation: receives
				      * and unexpected sends of both are in that one's queues */
	_Atomic(struct tcpx_peer *) found; /* owned; that one, until home is set      */
	_Atomic uint64_t dropped_ns; /* 0: in use                                    */
	struct tcpx_heap_node by_drop; /* registry.dropped; registry.lock            */
	_Atomic bool dead;           /* that is proven: its sessions end             */
	int gone;                    /* why it is gone for ever; 0: it is not        */
	char gone_text[512]; /* as a session's cause_text                         */
	struct peer_news news;       /* events.lock                                  */
	struct note_queue notes;     /* notes.lock                                   */
	struct tcpx_quota kept;      /* its lists, notes, unexpected sends, and what its
				      * sessions have to say to it, beyond its own   */
	_Atomic uint64_t keeps[KEPT_KINDS]; /* with its own                         */
	struct kept_host *host;      /* NULL: the application has named it           */
	struct tcpx_heap_node by_sends; /* pot.lock                                 */
};

/* The bucket of an incarnation. registry.lock */
static inline struct tcpx_node *
peer_bucket(struct registry *r, uint64_t incarnation)
{
	return &r->incarnations[incarnation * r->seed >> (64 - PEER_BUCKETS_LOG)];
}

/* Has it no session of its own, since that of another of its incarnation serves it? p->lock held. */
static inline bool
peer_follows(const struct tcpx_peer *p)
{
	return p->served && !p->out && tcpx_chain_empty(&p->inbound);
}

/* The registry's tables of peers. */
int tcpx_peers_init(struct registry *r);
void tcpx_peers_fini(struct registry *r);
int tcpx_peer_new(struct tcpx_engine *e, const char *name, uint64_t incarnation,
		  struct tcpx_peer **out);
/* Locks the queues of receives and unexpected sends, and the peer. Returns the one that has the
 * queues. A home has no home, so the order is safe. */
struct tcpx_peer *tcpx_peer_lock_queues(struct tcpx_peer *p);
void tcpx_peer_unlock_queues(struct tcpx_peer *p);
/* The one that the application has dialled is this. If it has called here meanwhile, or was dialled
 * twice, there is another of it: p->found. session.lock may be held. */
void tcpx_peer_recognise(struct tcpx_peer *p, uint64_t incarnation, const char *name);
void tcpx_peer_get(struct tcpx_peer *p);
/* For lookups: false for a peer whose last reference is being given back. */
bool tcpx_peer_try_get(struct tcpx_peer *p);
void tcpx_peer_put(struct tcpx_peer *p);
/* That peer as a handle for the application; NULL: it is no more. */
struct tcpx_peer *tcpx_peer_numbered(struct tcpx_engine *e, uint64_t number);
/* The peer of a blob, or of a HELLO that came @from there, made if new; a reference. @not: one that is about
 * to be gone, or NULL. A caller is never one whom another's session serves, which would not hear that this is
 * lost. */
int tcpx_peer_find_or_make(struct tcpx_engine *e, const char *name, uint64_t incarnation,
			   const struct tcpx_addr *from, const struct tcpx_peer *not, struct tcpx_peer **out);
/* @code for which it is gone, with the text, which the loop's thread has logged. */
int tcpx_peer_fail(struct tcpx_peer *p, int code);
/* A connection of the session has its other end at @at: the peer is called there from now on, where its HELLO
 * says that it listens. At another address that it says somebody else may be: nobody is called there, unless
 * the peer has proved that it knows the secret. session.lock held. */
void tcpx_peer_meet(struct session *s, const struct tcpx_addr *at);

#endif
