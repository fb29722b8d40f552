/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to a peer from a given address, several at the same time. */
#ifndef TUNE_DOCTOR_PEER_CONNECT_H
#define TUNE_DOCTOR_PEER_CONNECT_H

#include <sys/socket.h>

#include "tune/doctor/peer_route.h"

struct attempt {
	int fd;
	int error; /* 0: it is connected; EINPROGRESS: no answer */
};

socklen_t peer_sockaddr(const struct tcpx_addr *addr, uint16_t port, struct sockaddr_storage *out);
/*
 * attempts_make - from one address to each peer's, REACH_TRY_MS for all together
 * @want: NULL, or those to be tried; those that are not have error EAFNOSUPPORT
 * @port: 0: each peer's own
 */
void attempts_make(const struct tcpx_addr *from, const struct peer_addr *peer, unsigned count,
		   const bool *want, uint16_t port, struct attempt a[PEERS_MAX]);
void attempts_close(struct attempt *a, unsigned count);

#endif
