/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's way to the other end, as the kernel knows it, and the size of packets on
 * it. */
#ifndef NET_SOCK_PATH_H
#define NET_SOCK_PATH_H

#include <stdint.h>

#include "net/net.h"

/* Are bytes under way that the other end's kernel has not acknowledged, though it takes more? 1, and
 * what is known of them; 0; or the system's code. Any thread. */
int tcpx_sock_under_way(int fd, struct tcpx_net_way *way);
/* Limits the packets of a socket that is not connected yet, in both directions. @packet 0:
 * no limit. */
void tcpx_sock_limit(int fd, const struct tcpx_addr *to, uint16_t packet);

#endif
