/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sock provider of one engine: plain TCP over epoll. A channel is one connection:
 * messages go one way, 16-byte acknowledgements the other. Every fd is non-blocking and
 * close-on-exec. A poller outlives what it watches; all objects are closed before the net.
 */
#ifndef NET_SOCK_SOCK_H
#define NET_SOCK_SOCK_H

#include "net/net.h"
#include "net/sock/pipe.h"

#define TCPX_SOCK_CHUNK_MAX      (16u << 20)

struct tcpx_net {
	const struct tcpx_nic *nics; /* borrowed */
	uint32_t nic_count;
	uint16_t port_first, port_last; /* of listeners; 0: any */
	enum tcpx_lend lend;
	const char *congestion; /* asked for; "" none; borrowed */
	struct tcpx_sock_pipes pipes;
	const struct tcpx_clock *clock; /* borrowed */
	struct tcpx_net_gate gate;
	struct tcpx_sock_port *ports;   /* one for each NIC: where its channels arrive */
};

#endif
