/* SPDX-License-Identifier: Apache-2.0 */
/* The provider's table, and its state in one engine. */
#include "net/sock/sock.h"

#include <errno.h>
#include <stdlib.h>

#include "net/registry.h"
#include "net/sock/chan.h"
#include "net/sock/dial.h"
#include "net/sock/fd.h"
#include "net/sock/listens.h"
#include "net/sock/poller.h"
#include "net/sock/port.h"
#include "net/sock/recv.h"
#include "net/sock/send.h"
#include "net/sock/stream.h"

static int
sock_open(const struct tcpx_net_params *params, struct tcpx_net **out,
	  struct tcpx_net_facts *facts)
{
	struct tcpx_net *net;
	int rc;

	if (params->nic_count > TCPX_NET_NICS)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "%u NICs, at most %d", params->nic_count,
				 TCPX_NET_NICS);
	if ((unsigned)params->lend > TCPX_LEND_MSG)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "way of lending %d: 0 to %d",
				 (int)params->lend, TCPX_LEND_MSG);
	rc = params->congestion ? tcpx_sock_congestion_check(params->congestion) : 0;
	if (rc)
		return rc;
	net = calloc(1, sizeof(*net));
	if (!net)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "sock provider");
	net->nics = params->nics;
	net->nic_count = params->nic_count;
	net->clock = params->clock ? params->clock : &tcpx_clock_system;
	net->lend = params->lend;
	net->congestion = params->congestion ? params->congestion : "";
	net->gate = params->gate;
	net->port_first = params->port_first;
	net->port_last = params->port_last;
	rc = tcpx_sock_ports_open(net);
	if (rc) {
		free(net);
		return rc;
	}
	tcpx_sock_pipes_open(&net->pipes);
	*facts = (struct tcpx_net_facts){ .chunk_max = TCPX_SOCK_CHUNK_MAX };
	*out = net;
	return 0;
}

static void
sock_close(struct tcpx_net *net)
{
	if (!net)
		return;
	tcpx_sock_ports_close(net);
	tcpx_sock_pipes_close(&net->pipes);
	free(net);
}

static const struct tcpx_stream_chan_ops channels = {
	.send = tcpx_sock_chan_send,
	.acked = tcpx_sock_chan_acked,
	.recv_head = tcpx_sock_chan_recv_head,
	.recv = tcpx_sock_chan_recv,
	.sum = tcpx_sock_chan_sum,
	.ack = tcpx_sock_chan_ack,
	.stats = tcpx_sock_chan_stats,
	.under_way = tcpx_sock_chan_under_way,
	.recall = tcpx_sock_chan_recall,
};

const struct tcpx_net_ops tcpx_net_sock = {
	.name = "sock",
	.stream = &channels,
	.chunk_max = TCPX_SOCK_CHUNK_MAX,
	.open = sock_open,
	.close = sock_close,
	.poller_open = tcpx_sock_poller_open,
	.poller_close = tcpx_sock_poller_close,
	.poller_wait = tcpx_sock_poller_wait,
	.poller_wake = tcpx_sock_poller_wake,
	.poller_watch_fd = tcpx_sock_poller_watch_fd,
	.listen = tcpx_sock_listen,
	.accept = tcpx_sock_accept,
	.connect = tcpx_sock_connect,
	.stream_watch = tcpx_sock_stream_watch,
	.stream_send = tcpx_sock_stream_send,
	.stream_recv = tcpx_sock_stream_recv,
	.stream_acked = tcpx_sock_stream_acked,
	.stream_under_way = tcpx_sock_stream_under_way,
	.stream_name = tcpx_sock_stream_name,
	.stream_close = tcpx_sock_stream_close,
	.listens = tcpx_sock_listens,
	.chan_listen = tcpx_sock_chan_listen,
	.chan_accept = tcpx_sock_chan_accept,
	.chan_listener_watch = tcpx_sock_chan_listener_watch,
	.chan_listener_close = tcpx_sock_chan_listener_close,
	.chan_connect = tcpx_sock_chan_connect,
	.chan_connect_watch = tcpx_sock_chan_connect_watch,
	.chan_target = tcpx_sock_chan_target,
	.chan_connect_heard = tcpx_sock_chan_connect_heard,
	.chan_connect_cancel = tcpx_sock_chan_connect_cancel,
	.chan_watch = tcpx_sock_chan_watch,
	.chan_closed = tcpx_sock_chan_closed,
	.chan_far = tcpx_sock_chan_far,
	.chan_close = tcpx_sock_chan_close,
};
