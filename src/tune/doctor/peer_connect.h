/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to a peer from a given address, several at the same time. */
#ifndef TOOL_PEER_CONNECT_H
#define TOOL_PEER_CONNECT_H

#include <sys/socket.h>

#include "base/addr.h"

struct attempt {
	int fd;
	int error; /* 0: it is connected; EINPROGRESS: no answer */
};

socklen_t peer_sockaddr(const struct tcpx_addr *addr, uint16_t port, struct sockaddr_storage *out);
/* Begins; the caller closes a->fd, unless it is -1. */
void attempt_start(const struct tcpx_addr *from, const struct tcpx_addr *to, uint16_t port,
		   struct attempt *a);
/* Waits for all of at most PEERS_MAX, REACH_TRY_MS together. Those with another error than
 * EINPROGRESS are not waited for. */
void attempts_finish(struct attempt *a, unsigned count);

#endif
