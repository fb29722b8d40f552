/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving side of a channel; the contracts are in net.h. */
#ifndef NET_PLUGNET_RECV_H
#define NET_PLUGNET_RECV_H

#include "net/plugnet/plugnet.h"

int tcpx_plugnet_chan_head(struct tcpx_chan *c, const struct tcpx_head *head);
int tcpx_plugnet_chan_recv(struct tcpx_chan *c, struct tcpx_landed *msg);
int tcpx_plugnet_chan_release(struct tcpx_chan *c, uint64_t seq);
/* Posts what may be posted. 0, or what killed the channel. */
int tcpx_plugnet_recv_post(struct tcpx_chan *c);
/* Drives the comm; whether a message has landed, or the channel has died of it. */
bool tcpx_plugnet_recv_look(struct tcpx_chan *c, uint64_t now_ns);

#endif
