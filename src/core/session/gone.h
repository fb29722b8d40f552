/* SPDX-License-Identifier: Apache-2.0 */
/* The proof that an incarnation of a peer has gone, and what follows. session.lock held. */
#ifndef CORE_SESSION_GONE_H
#define CORE_SESSION_GONE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/session/session.h"

/* It is proven: all sessions with this incarnation of the peer end so. */
void tcpx_session_peer_gone(struct session *s, const char *why);
/* An attempt at one of the peer's @addr_count addresses has ended with @rc. True: that is the proof
 * that it has gone, and the session has failed. At first contact a refusal says something of an
 * incarnation alone: HOST:PORT may not be up yet. */
bool tcpx_control_misses_peer(struct session *s, int rc, uint32_t addr_count, uint64_t now_ns);

#endif
