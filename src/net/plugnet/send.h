/* SPDX-License-Identifier: Apache-2.0 */
/* The sending side of a channel; the contracts are in net.h. */
#ifndef NET_PLUGNET_SEND_H
#define NET_PLUGNET_SEND_H

#include "net/plugnet/plugnet.h"

int tcpx_plugnet_chan_send(struct tcpx_chan *c, const struct tcpx_head *head);
void *tcpx_plugnet_chan_slot(struct tcpx_chan *c, uint64_t seq);
int tcpx_plugnet_chan_ended(struct tcpx_chan *c);
/* Drives the comm; whether a message has left, or the channel has died of it. */
bool tcpx_plugnet_send_look(struct tcpx_chan *c, uint64_t now_ns);

#endif
