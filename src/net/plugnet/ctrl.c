/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control streams are those of the sock provider, and its own objects; the net and the poller are
 * wrapped.
 */
#include "net/plugnet/ctrl.h"
#include "net/registry.h"

int
tcpx_plugnet_listen(struct tcpx_net *net, const struct tcpx_addr *addr, struct tcpx_addr *bound,
		    struct tcpx_stream **listener)
{
	return tcpx_net_sock.listen(net->sock, addr, bound, listener);
}

int
tcpx_plugnet_accept(struct tcpx_stream *l, struct tcpx_stream **stream,
		    struct tcpx_addr *from, struct tcpx_addr *at)
{
	return tcpx_net_sock.accept(l, stream, from, at);
}

int
tcpx_plugnet_connect(struct tcpx_net *net, int nic, const struct tcpx_addr *to, uint16_t packet,
		     struct tcpx_stream **stream)
{
	return tcpx_net_sock.connect(net->sock, nic, to, packet, stream);
}

int
tcpx_plugnet_stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
			  unsigned interest)
{
	return tcpx_net_sock.stream_watch(s, p->sock, owner, interest);
}

ssize_t
tcpx_plugnet_stream_send(struct tcpx_stream *s, const void *data, size_t len)
{
	return tcpx_net_sock.stream_send(s, data, len);
}

ssize_t
tcpx_plugnet_stream_recv(struct tcpx_stream *s, void *data, size_t len)
{
	return tcpx_net_sock.stream_recv(s, data, len);
}

int
tcpx_plugnet_stream_acked(struct tcpx_stream *s)
{
	return tcpx_net_sock.stream_acked(s);
}

int
tcpx_plugnet_stream_under_way(struct tcpx_stream *s, struct tcpx_net_way *way)
{
	return tcpx_net_sock.stream_under_way(s, way);
}

void
tcpx_plugnet_stream_name(struct tcpx_stream *s, struct tcpx_addr *at)
{
	tcpx_net_sock.stream_name(s, at);
}

void
tcpx_plugnet_stream_close(struct tcpx_stream *s)
{
	tcpx_net_sock.stream_close(s);
}

int
tcpx_plugnet_listens(const struct tcpx_addr *at)
{
	return tcpx_net_sock.listens(at);
}
