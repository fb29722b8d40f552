/* SPDX-License-Identifier: Apache-2.0 */
/* The connecting side of channel set-up: operations of the sock provider; the contracts are in
 * net.h. */
#ifndef NET_SOCK_DIAL_H
#define NET_SOCK_DIAL_H

#include "net/net.h"

int tcpx_sock_chan_connect(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			   const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
			   struct tcpx_chan **chan);
int tcpx_sock_chan_connect_watch(struct tcpx_net *net, void *state, struct tcpx_poller *p, void *owner);
void tcpx_sock_chan_target(const uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_addr *to);
bool tcpx_sock_chan_connect_heard(const void *state);
void tcpx_sock_chan_connect_cancel(struct tcpx_net *net, void **state);

#endif
