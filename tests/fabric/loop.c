/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider tables of the scripted network, and one engine's part of it. An object still
 * open when the engine closes its network is a broken rule.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdlib.h>

static int
loop_open(const struct tcpx_net_params *params, struct tcpx_net **net,
	  struct tcpx_net_facts *facts)
{
	struct tcpx_net *n;

	if (!params->fabric)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ECONFIG,
				 "the scripted network is for tests: it needs a fabric");
	n = calloc(1, sizeof(*n));
	if (!n)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "a scripted network");
	n->fabric = params->fabric;
	n->nics = params->nics;
	n->nic_count = params->nic_count;
	*facts = (struct tcpx_net_facts){ .chunk_max = LOOP_CHUNK };
	*net = n;
	return 0;
}

static int
lend_open(const struct tcpx_net_params *params, struct tcpx_net **net,
	  struct tcpx_net_facts *facts)
{
	int rc = loop_open(params, net, facts);

	if (rc == 0)
		(*net)->lends = true;
	return rc;
}

static int
comm_open(const struct tcpx_net_params *params, struct tcpx_net **net,
	  struct tcpx_net_facts *facts)
{
	int rc = loop_open(params, net, facts);

	if (rc)
		return rc;
	(*net)->comm = true;
	*facts = (struct tcpx_net_facts){ .chunk_max = LOOP_SLOT_BYTES, .slots_max = LOOP_SLOTS,
					  .terms = "bare messages" };
	return 0;
}

static void
loop_close(struct tcpx_net *net)
{
	if (net->live)
		tcpx_fabric_blame(net->fabric, "network closed with %u things open", net->live);
	free(net);
}

#define COMMON_OPS                                                                     \
	.close = loop_close,                                                           \
	.poller_open = tcpx_loop_poller_open,                                          \
	.poller_close = tcpx_loop_poller_close,                                        \
	.poller_wait = tcpx_loop_poller_wait,                                          \
	.poller_wake = tcpx_loop_poller_wake,                                          \
	.listen = tcpx_loop_listen,                                                    \
	.accept = tcpx_loop_accept,                                                    \
	.connect = tcpx_loop_connect,                                                  \
	.stream_watch = tcpx_loop_stream_watch,                                        \
	.stream_send = tcpx_loop_stream_send,                                          \
	.stream_recv = tcpx_loop_stream_recv,                                          \
	.stream_acked = tcpx_loop_stream_acked,                                        \
	.stream_name = tcpx_loop_stream_name,                                          \
	.stream_close = tcpx_loop_stream_close,                                        \
	.chan_listen = tcpx_loop_chan_listen,                                          \
	.chan_accept = tcpx_loop_chan_accept,                                          \
	.chan_listener_close = tcpx_loop_chan_listener_close,                          \
	.chan_connect = tcpx_loop_chan_connect,                                        \
	.chan_connect_cancel = tcpx_loop_chan_connect_cancel,                          \
	.chan_watch = tcpx_loop_chan_watch,                                            \
	.chan_close = tcpx_loop_chan_close

static const struct tcpx_stream_chan_ops streams = {
	.send = tcpx_loop_chan_send,
	.acked = tcpx_loop_chan_acked,
	.recv_head = tcpx_loop_chan_recv_head,
	.recv = tcpx_loop_chan_recv,
	.sum = tcpx_loop_chan_sum,
	.ack = tcpx_loop_chan_ack,
	.stats = tcpx_loop_chan_stats,
	.under_way = tcpx_loop_chan_under_way,
	.recall = tcpx_loop_chan_recall,
};

static const struct tcpx_comm_chan_ops comms = {
	.slot = tcpx_loop_comm_slot,
	.send = tcpx_loop_comm_send,
	.ended = tcpx_loop_comm_ended,
	.head = tcpx_loop_comm_head,
	.recv = tcpx_loop_comm_recv,
	.release = tcpx_loop_comm_release,
};

const struct tcpx_net_ops tcpx_net_loop = {
	.name = "loop",
	.chunk_max = LOOP_CHUNK,
	.stream = &streams,
	.open = loop_open,
	COMMON_OPS,
};

const struct tcpx_net_ops tcpx_net_loop_lend = {
	.name = "loop_lend",
	.chunk_max = LOOP_CHUNK,
	.stream = &streams,
	.open = lend_open,
	COMMON_OPS,
};

const struct tcpx_net_ops tcpx_net_loop_comm = {
	.name = "loop_comm",
	.chunk_max = LOOP_SLOT_BYTES,
	.comm = &comms,
	.open = comm_open,
	COMMON_OPS,
};
