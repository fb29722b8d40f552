/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tcpx provider: its table of operations and its limits. The plugin reads NCCL_* variables
 * itself. They are read here, too, to stay within them and to compare them with the peer's: a
 * difference makes the plugin hang or lose data.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/plugnet/busy.h"
#include "net/plugnet/chan.h"
#include "net/plugnet/ctrl.h"
#include "net/plugnet/dev.h"
#include "net/plugnet/plugnet.h"
#include "net/plugnet/poller.h"
#include "net/plugnet/recv.h"
#include "net/plugnet/send.h"
#include "net/plugnet/setup.h"
#include "net/registry.h"

/* Reads a number as the plugin does: in any base; the default if it is out of range. */
static uint32_t
setting(const char *name, uint32_t low, uint32_t high, uint32_t otherwise)
{
	const char *text = secure_getenv(name);
	char *end;
	long long v;

	if (!text || !text[0])
		return otherwise;
	errno = 0;
	v = strtoll(text, &end, 0);
	if (errno || *end || v < (long long)low || v > (long long)high)
		return otherwise;
	return (uint32_t)v;
}

/* What any device takes: requests of a comm at once, bytes of a message. */
static void
least(struct plug *plug, uint32_t *requests, uint32_t *bytes)
{
	struct plug_props props;

	*requests = PLUGNET_WINDOW;
	*bytes = PLUGNET_CHUNK_MAX;
	for (int i = 0; i < plug_devices(plug); i++) {
		if (plug_properties(plug, i, &props))
			continue;
		*requests = props.requests_max < *requests ? props.requests_max : *requests;
		*bytes = props.size_max < *bytes ? props.size_max : *bytes;
	}
	if (*bytes > PLUGNET_PAGE) /* a receive is posted with whole pages */
		*bytes = *bytes / PLUGNET_PAGE * PLUGNET_PAGE;
}

/* Cuts the wanted chunk and window to the plugin's limits. */
static void
set_limits(struct tcpx_net *net, const struct tcpx_net_params *params, uint32_t dynamic)
{
	uint32_t requests, most;

	least(net->plug, &requests, &most);
	most = dynamic && dynamic < most ? dynamic : most;
	net->chunk = params->chunk ? params->chunk : dynamic ? dynamic : PLUGNET_CHUNK;
	if (net->chunk > most) {
		if (params->chunk && most == dynamic)
			tcpx_warn(TCPX_SUB_NET, "chunk %u is cut to %u: NCCL_DYNAMIC_CHUNK_SIZE "
				  "is what the plugin sends as one piece", net->chunk, most);
		else if (params->chunk)
			tcpx_warn(TCPX_SUB_NET, "chunk %u is cut to %u, the most that a message "
				  "of the plugin may have", net->chunk, most);
		net->chunk = most;
	}
	net->window = params->window ? params->window : requests;
	if (net->window > requests) {
		tcpx_warn(TCPX_SUB_NET, "window %u is cut to %u, the requests of a comm of the "
			  "plugin", net->window, requests);
		net->window = requests;
	}
}

/* The plugin waits 100 ms before each connection of a comm, in a thread. Then its accepting
 * side waits for its flow rules, 5 s by default (its connect.cc; docs/plugins.md). */
static uint64_t
setup_ns(uint32_t sockets)
{
	return (sockets + 1) * 100 * TCPX_MS +
	       setting("NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS", 0, INT_MAX,
		       5000000) * 1000ull;
}

static void
tell(const struct tcpx_net *net, uint32_t dynamic, struct tcpx_net_facts *facts)
{
	uint32_t sockets = setting("NCCL_NSOCKS_PERTHREAD", 1, 8, 1);
	uint32_t threads = setting("NCCL_SOCKET_NTHREADS", 1, 16, 1);

	facts->chunk_max = net->chunk;
	facts->slots_max = net->window;
	facts->raises_sigpipe = true; /* plugins send without MSG_NOSIGNAL */
	facts->setup_ns = setup_ns(sockets * threads);
	snprintf(facts->terms, sizeof(facts->terms), "chunk %u, sockets %u, threads %u, sync %u",
		 dynamic, sockets, threads, setting("NCCL_GPUDIRECTTCPX_RECV_SYNC", 0, 1, 0));
}

static int
net_open(const struct tcpx_net_params *params, struct tcpx_net **out,
	 struct tcpx_net_facts *facts)
{
	struct tcpx_net *net;
	uint32_t dynamic;
	int rc;

	net = calloc(1, sizeof(*net));
	if (!net)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "tcpx provider");
	rc = tcpx_net_sock.open(params, &net->sock, facts); /* which checks params, too */
	if (rc)
		goto free_net;
	rc = plug_open(params->plugin, &net->plug);
	if (rc)
		goto close_sock;
	net->nics = params->nics;
	net->nic_count = params->nic_count;
	net->clock = params->clock ? params->clock : &tcpx_clock_system;
	net->memory = params->memory;
	net->deadline_ns = params->deadline_ns ? params->deadline_ns : PLUGNET_DEADLINE_NS;
	dynamic = setting("NCCL_DYNAMIC_CHUNK_SIZE", 0, INT_MAX, 0);
	set_limits(net, params, dynamic);
	tell(net, dynamic, facts);
	rc = tcpx_plugnet_find_devs(net);
	if (rc)
		goto close_plug;
	*out = net;
	return 0;

close_plug:
	plug_close(net->plug);
close_sock:
	tcpx_net_sock.close(net->sock);
free_net:
	free(net);
	return rc;
}

static void
net_close(struct tcpx_net *net)
{
	if (!net)
		return;
	plug_close(net->plug);
	tcpx_net_sock.close(net->sock);
	free(net);
}

static const struct tcpx_comm_chan_ops channels = {
	.slot = tcpx_plugnet_chan_slot,
	.send = tcpx_plugnet_chan_send,
	.ended = tcpx_plugnet_chan_ended,
	.head = tcpx_plugnet_chan_head,
	.recv = tcpx_plugnet_chan_recv,
	.release = tcpx_plugnet_chan_release,
};

const struct tcpx_net_ops tcpx_net_plugin = {
	.name = "tcpx",
	.comm = &channels,
	.chunk_max = PLUGNET_CHUNK_MAX,
	.open = net_open,
	.close = net_close,
	.poller_open = tcpx_plugnet_poller_open,
	.poller_close = tcpx_plugnet_poller_close,
	.poller_wait = tcpx_plugnet_poller_wait,
	.poller_wake = tcpx_plugnet_poller_wake,
	.poller_watch_fd = tcpx_plugnet_poller_watch_fd,
	.listen = tcpx_plugnet_listen,
	.accept = tcpx_plugnet_accept,
	.connect = tcpx_plugnet_connect,
	.stream_watch = tcpx_plugnet_stream_watch,
	.stream_send = tcpx_plugnet_stream_send,
	.stream_recv = tcpx_plugnet_stream_recv,
	.stream_acked = tcpx_plugnet_stream_acked,
	.stream_under_way = tcpx_plugnet_stream_under_way,
	.stream_name = tcpx_plugnet_stream_name,
	.stream_close = tcpx_plugnet_stream_close,
	.listens = tcpx_plugnet_listens,
	.chan_listen = tcpx_plugnet_chan_listen,
	.chan_accept = tcpx_plugnet_chan_accept,
	.chan_listener_close = tcpx_plugnet_chan_listener_close,
	.chan_connect = tcpx_plugnet_chan_connect,
	.chan_connect_cancel = tcpx_plugnet_chan_connect_cancel,
	.chan_watch = tcpx_plugnet_chan_watch,
	.chan_close = tcpx_plugnet_chan_close,
};
