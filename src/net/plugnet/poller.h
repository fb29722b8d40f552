/* SPDX-License-Identifier: Apache-2.0 */
/* A poller of the sock provider, and the channels that have something outstanding. */
#ifndef NET_PLUGNET_POLLER_H
#define NET_PLUGNET_POLLER_H

#include "net/plugnet/plugnet.h"

int tcpx_plugnet_poller_open(struct tcpx_net *net, struct tcpx_poller **poller);
void tcpx_plugnet_poller_close(struct tcpx_poller *p);
int tcpx_plugnet_poller_wait(struct tcpx_poller *p, struct tcpx_net_event *events, int max,
			     int64_t timeout_ns);
void tcpx_plugnet_poller_wake(struct tcpx_poller *p);
int tcpx_plugnet_poller_watch_fd(struct tcpx_poller *p, int fd, void *owner);

#endif
