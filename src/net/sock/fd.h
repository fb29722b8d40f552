/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets. Failures that a peer or the network can cause are logged at DEBUG only: the
 * caller knows whether it will try again.
 */
#ifndef NET_SOCK_FD_H
#define NET_SOCK_FD_H

#include "net/net.h"

/* The NIC of that index; NULL (logged): there is none. */
const struct tcpx_nic *tcpx_sock_nic(const struct tcpx_net *net, int nic);
/* A socket listening on addr, with port 0 on any of the net's ports; nic may be NULL, else addr is its
 * own. -EADDRINUSE is not logged, nor -EADDRNOTAVAIL of a NIC that has no address yet. */
int tcpx_sock_listen_fd(const struct tcpx_net *net, const struct tcpx_nic *nic,
			const struct tcpx_addr *addr, struct tcpx_addr *bound, int *fd);
/* A socket that connects to an address; nic may be NULL. */
int tcpx_sock_connect_fd(const struct tcpx_nic *nic, const struct tcpx_addr *to, uint16_t packet,
			 int *fd);
/* Whether that socket is connected: 0, -EAGAIN, or its error (the kernel reports it once). */
int tcpx_sock_connected(int fd);
/* The next connection that the net's gate admits, or -EAGAIN. Others are closed, a few a call.
 * With no descriptor left, *spare is closed for a moment to refuse the connection; -EMFILE: with
 * no *spare either it waits. */
int tcpx_sock_accept_fd(const struct tcpx_net *net, int listen_fd, int *spare,
			struct tcpx_addr *from, int *fd);
/* The own address of a connection; family 0: unknown. */
void tcpx_sock_name(int fd, struct tcpx_addr *at);
/* The address of its other end; family 0: unknown. */
void tcpx_sock_far(int fd, struct tcpx_addr *at);
/* Can sockets here have this congestion control? "": yes. -EINVAL, logged. */
int tcpx_sock_congestion_check(const char *name);
/* The one of a TCP socket, as the kernel names it; "" if it does not. */
void tcpx_sock_congestion(int fd, char *name, size_t cap);
/* Sets the options of a data socket; @congestion "": ours within a host, else the system's. */
int tcpx_sock_tune(int fd, const char *congestion);
/* Whether this errno of a non-blocking call means "try again". */
bool tcpx_sock_later(int err);

#endif
