/* SPDX-License-Identifier: Apache-2.0 */
/* Peers: incarnations of other engines, and what waits for them. */
#ifndef CORE_PEER_H
#define CORE_PEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/chain.h"
#include "net/net.h"
#include "proto/frame.h"

struct session;
struct tcpx_engine;
struct tcpx_xfer;

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
	_Atomic uint64_t dropped_ns; /* 0: in use                                    */
	int gone;                    /* why it is gone for ever, 0 if it is not      */
};

/* ---- peer.c ---- */
/* The session that carries our operations, opened if need be; a reference. */
int tcpx_peer_session(struct tcpx_peer *p, struct session **out);
/* x->session: the one that it was posted to before, if that still stands, or the peer's. */
int tcpx_peer_bind(struct tcpx_xfer *x);
int tcpx_peer_new(struct tcpx_engine *e, const char *name, uint64_t incarnation,
		  struct tcpx_peer **out);
void tcpx_peer_get(struct tcpx_peer *p);
void tcpx_peer_put(struct tcpx_peer *p);
/* The peer of a HELLO, made if need be; a reference. */
int tcpx_peer_meet(struct tcpx_engine *e, const char *name, uint64_t incarnation,
		   struct tcpx_peer **out);
void tcpx_peer_session_lost(struct tcpx_peer *p, struct session *s, int code, const char *text);
void tcpx_peer_linger(struct tcpx_engine *e, uint64_t now_ns);

#endif
