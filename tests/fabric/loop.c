/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider tables of the scripted network, and one engine's part of it. An object still
 * open when the engine closes its network is a broken rule.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdlib.h>

static int
net_open(const struct tcpx_net_params *params, bool slots, bool bare, struct tcpx_net **net)
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
	n->slots = slots;
	n->bare = bare;
	*net = n;
	return 0;
}

static int
loop_open(const struct tcpx_net_params *params, struct tcpx_net **net)
{
	return net_open(params, false, false, net);
}

static int
slots_open(const struct tcpx_net_params *params, struct tcpx_net **net)
{
	return net_open(params, true, false, net);
}

static int
bare_open(const struct tcpx_net_params *params, struct tcpx_net **net)
{
	return net_open(params, true, true, net);
}

static const char *
bare_terms(struct tcpx_net *net)
{
	(void)net;
	return "bare messages";
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
	.listener_watch = tcpx_loop_listener_watch,                                    \
	.accept = tcpx_loop_accept,                                                    \
	.listener_close = tcpx_loop_listener_close,                                    \
	.connect = tcpx_loop_connect,                                                  \
	.stream_watch = tcpx_loop_stream_watch,                                        \
	.stream_send = tcpx_loop_stream_send,                                          \
	.stream_recv = tcpx_loop_stream_recv,                                          \
	.stream_up = tcpx_loop_stream_up,                                              \
	.stream_close = tcpx_loop_stream_close,                                        \
	.chan_listen = tcpx_loop_chan_listen,                                          \
	.chan_accept = tcpx_loop_chan_accept,                                          \
	.chan_listener_close = tcpx_loop_chan_listener_close,                          \
	.chan_connect = tcpx_loop_chan_connect,                                        \
	.chan_connect_cancel = tcpx_loop_chan_connect_cancel,                          \
	.chan_watch = tcpx_loop_chan_watch,                                            \
	.chan_acked = tcpx_loop_chan_acked,                                            \
	.chan_ack = tcpx_loop_chan_ack,                                                \
	.chan_close = tcpx_loop_chan_close,                                            \
	.chan_stats = tcpx_loop_chan_stats

const struct tcpx_net_ops tcpx_net_loop = {
	.name = "loop",
	.caps = TCPX_NET_DIRECT_RX | TCPX_NET_DIRECT_TX | TCPX_NET_INLINE_ACK,
	.chunk_max = 1 << 20,
	.open = loop_open,
	.chan_send = tcpx_loop_chan_send,
	.chan_recv_head = tcpx_loop_chan_recv_head,
	.chan_recv_body = tcpx_loop_chan_recv_body,
	.chan_recv_end = tcpx_loop_chan_recv_end,
	COMMON_OPS,
};

const struct tcpx_net_ops tcpx_net_loop_slots = {
	.name = "loop_slots",
	.caps = TCPX_NET_INLINE_ACK,
	.chunk_max = LOOP_SLOT_BYTES,
	.slots_max = LOOP_SLOTS,
	.open = slots_open,
	.chan_send = tcpx_loop_slots_send,
	.chan_recv_msg = tcpx_loop_slots_recv_msg,
	.chan_release = tcpx_loop_slots_release,
	COMMON_OPS,
};

const struct tcpx_net_ops tcpx_net_loop_bare = {
	.name = "loop_bare",
	.caps = TCPX_NET_CTRL_HEAD | TCPX_NET_OWN_SLOTS | TCPX_NET_RECEIVER_LISTENS,
	.chunk_max = LOOP_SLOT_BYTES,
	.slots_max = LOOP_SLOTS,
	.open = bare_open,
	.terms = bare_terms,
	.chan_slot = tcpx_loop_bare_slot,
	.chan_send = tcpx_loop_slots_send,
	.chan_head = tcpx_loop_bare_head,
	.chan_recv_msg = tcpx_loop_slots_recv_msg,
	.chan_release = tcpx_loop_slots_release,
	COMMON_OPS,
};
