/* SPDX-License-Identifier: Apache-2.0 */
/* Control streams are the sock provider's; the contracts are in net.h. */
#ifndef NET_PLUGNET_CTRL_H
#define NET_PLUGNET_CTRL_H

#include "net/plugnet/plugnet.h"

int tcpx_plugnet_listen(struct tcpx_net *net, const struct tcpx_addr *addr,
			struct tcpx_addr *bound, struct tcpx_stream **listener);
int tcpx_plugnet_accept(struct tcpx_stream *l, struct tcpx_stream **stream,
			struct tcpx_addr *from, struct tcpx_addr *at);
int tcpx_plugnet_connect(struct tcpx_net *net, int nic, const struct tcpx_addr *to, uint16_t packet,
			 struct tcpx_stream **stream);
int tcpx_plugnet_stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
			      unsigned interest);
ssize_t tcpx_plugnet_stream_send(struct tcpx_stream *s, const void *data, size_t len);
ssize_t tcpx_plugnet_stream_recv(struct tcpx_stream *s, void *data, size_t len);
int tcpx_plugnet_stream_acked(struct tcpx_stream *s);
int tcpx_plugnet_stream_under_way(struct tcpx_stream *s, struct tcpx_net_way *way);
void tcpx_plugnet_stream_name(struct tcpx_stream *s, struct tcpx_addr *at);
void tcpx_plugnet_stream_close(struct tcpx_stream *s);
int tcpx_plugnet_listens(const struct tcpx_addr *at);

#endif
