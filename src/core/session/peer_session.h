/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of a peer. */
#ifndef CORE_SESSION_PEER_SESSION_H
#define CORE_SESSION_PEER_SESSION_H

#include <stdint.h>

#include "core/session/peer.h"

/* The session that carries what is posted with @p, with a reference; NULL: none yet. *gone: why the peer is
 * gone for ever; 0: it is not. */
struct session *tcpx_peer_usable_session(struct tcpx_peer *p, int *gone);
/* The same, opened if need be. */
int tcpx_peer_session(struct tcpx_peer *p, struct session **out);
/* ... and locked: what is posted with it under this lock does not get lost when it gives way. */
int tcpx_peer_lock_session(struct tcpx_peer *p, struct session **out);
/* It has failed, and is in no chain but the peer's. Lease of loop 0 held, no lock. */
void tcpx_peer_session_lost(struct session *s);
/* The peer was dropped: its session may be due to end then, or that of another object of
 * its incarnation, which was kept for this one. No lock of a peer held. */
void tcpx_peer_linger_until(struct tcpx_peer *p, uint64_t at_ns);
/* Ends the sessions that are due. */
void tcpx_peer_linger(struct tcpx_engine *e, uint64_t now_ns);

#endif
