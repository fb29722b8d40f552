/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data connection: what its sending and its receiving side share. The first call that
 * finds it dead sets the code; every later call returns the same code.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ownfd.h"
#include "net/sock/chan.h"
#include "net/registry.h"
#include "net/sock/fd.h"
#include "net/sock/path.h"
#include "net/sock/sock.h"

int
tcpx_sock_chan_new(struct tcpx_net *net, const struct tcpx_chan_id *id, int fd,
		   bool sending, struct tcpx_chan **out)
{
	struct tcpx_chan *c;
	int rc;

	rc = tcpx_sock_tune(fd, net->congestion);
	if (rc)
		goto close_fd;
	c = calloc(1, sizeof(*c));
	if (!c) {
		rc = tcpx_fail(TCPX_SUB_NET, -ENOMEM, "channel %u", id->channel);
		goto close_fd;
	}
	c->net = net;
	c->fd = fd;
	c->sending = sending;
	c->session = id->session;
	c->channel = id->channel;
	c->generation = id->generation;
	c->rx.seam_got = TCPX_SOCK_TAIL_BYTES; /* the first header has no trailer before it */
	*out = c;
	return 0;

close_fd:
	tcpx_ownfd_close(fd);
	return rc;
}

int
tcpx_sock_chan_check(struct tcpx_chan *c, bool sending)
{
	if (c->dead)
		return c->dead;
	if (c->sending == sending)
		return 0;
	return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "channel %u is for %s here", c->channel,
			 c->sending ? "sending" : "receiving");
}

int
tcpx_sock_chan_io(struct tcpx_chan *c, ssize_t n)
{
	if (n < 0 && tcpx_sock_later(errno))
		return -EAGAIN;
	if (n < 0 && errno == EFAULT) /* no byte has moved: the caller gives other memory */
		return -EFAULT;
	tcpx_debug(TCPX_SUB_NET, "session %016llx channel %u generation %u: %s",
		   (unsigned long long)c->session, c->channel, c->generation,
		   n ? tcpx_err_name(-errno) : "closed by the peer");
	c->dead = TCPX_ECHANNEL;
	c->closed = n == 0;
	return c->dead;
}

bool
tcpx_sock_chan_closed(const struct tcpx_chan *c)
{
	return c->closed;
}

int
tcpx_sock_chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
		     unsigned interest)
{
	return tcpx_sock_watch_set(&c->watch, c->fd, p, owner, interest);
}

void
tcpx_sock_chan_close(struct tcpx_chan *c)
{
	if (!c)
		return;
	tcpx_sock_watch_drop(&c->watch, c->fd);
	tcpx_sock_lend_close(c);
	tcpx_ownfd_close(c->fd);
	free(c->tx.held.mem);
	free(c);
}

/* The CPU and the queue that the kernel last saw for this connection. */
static void
incoming(int fd, struct tcpx_channel_info *info)
{
	socklen_t len = sizeof(info->incoming_cpu);

	if (getsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &info->incoming_cpu, &len) < 0)
		info->incoming_cpu = -1;
	len = sizeof(info->napi_id);
	if (getsockopt(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &info->napi_id, &len) < 0)
		info->napi_id = 0;
}

int
tcpx_sock_chan_stats(struct tcpx_chan *c, struct tcpx_channel_info *info)
{
	enum tcpx_lend lend = (enum tcpx_lend)atomic_load(&c->tx.lend.shown);
	struct tcp_info tcp = { 0 };
	socklen_t len = sizeof(tcp);

	incoming(c->fd, info);
	tcpx_sock_congestion(c->fd, info->congestion, sizeof(info->congestion));
	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &tcp, &len) < 0)
		return tcpx_fail_errno(TCPX_SUB_NET, "TCP_INFO of channel %u", c->channel);
	info->retransmits = tcp.tcpi_total_retrans;
	info->rtt_us = tcp.tcpi_rtt;
	info->lent_bytes = atomic_load(&c->tx.lend.bytes);
	if (lend != TCPX_LEND_AUTO) /* AUTO: none yet */
		snprintf(info->tx_mode, sizeof(info->tx_mode), "%s", tcpx_lend_name(lend));
	return 0;
}

void
tcpx_sock_chan_far(struct tcpx_chan *c, struct tcpx_addr *at)
{
	tcpx_sock_far(c->fd, at);
}

int
tcpx_sock_chan_under_way(struct tcpx_chan *c, struct tcpx_net_way *way)
{
	return tcpx_sock_under_way(c->fd, way);
}
