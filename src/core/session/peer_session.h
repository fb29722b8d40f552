/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of a peer. */
#ifndef CORE_SESSION_PEER_SESSION_H
#define CORE_SESSION_PEER_SESSION_H

#include <stdint.h>

#include "core/session/peer.h"

/* The session that carries our operations, opened if need be; a reference. */
int tcpx_peer_session(struct tcpx_peer *p, struct session **out);
/* It has failed, and is in no chain but the peer's. Lease of loop 0 held, no lock. */
void tcpx_peer_session_lost(struct session *s);
void tcpx_peer_linger(struct tcpx_engine *e, uint64_t now_ns);

#endif
