/* SPDX-License-Identifier: Apache-2.0 */
/* Peers found by number, by name, and by the addresses that the application gave. registry.lock held unless
 * noted. */
#ifndef CORE_SESSION_PEER_INDEX_H
#define CORE_SESSION_PEER_INDEX_H

#include <stdint.h>

#include "base/addr.h"
#include "core/session/peer.h"

/* A peer's address in registry.by_addr. */
struct peer_place {
	struct tcpx_tagged by_addr;
	struct tcpx_peer *peer;
};

/* Enters a peer under its number and its name, which it has. */
void tcpx_peer_index_add(struct tcpx_peer *p);
void tcpx_peer_index_remove(struct tcpx_peer *p);
/* Enters a peer under its new name. */
void tcpx_peer_index_name(struct tcpx_peer *p);
/* The application's addresses of it, in place of those before. 0, -ENOMEM (logged). No lock held. */
int tcpx_peer_index_place(struct tcpx_peer *p, const struct tcpx_addr *addr, uint32_t count);
/* The newest of that name, and each older one; NULL: no more. Others may come along. */
struct tcpx_peer *tcpx_peer_index_named(struct registry *r, const char *name);
struct tcpx_peer *tcpx_peer_index_older(struct tcpx_peer *p);
/* The first behind @number that was dialled by one of these addresses, is not gone, and is called @name if
 * that is not NULL; a reference. NULL: none. No lock held. */
struct tcpx_peer *tcpx_peer_index_dialled(struct tcpx_engine *e, const struct tcpx_addr *addr, uint32_t count,
					  const char *name, uint64_t number);

#endif
