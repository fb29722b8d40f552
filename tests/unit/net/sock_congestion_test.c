/* SPDX-License-Identifier: Apache-2.0 */
/* The congestion control of channels, and when what was lost goes again. */
#include "sock_rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "net/sock/chan.h"
#include "net/sock/fd.h"

#ifndef TCP_RTO_MIN_US
#define TCP_RTO_MIN_US 45
#endif

/* Those that this process may have, "" after the last. */
static void
allowed_algorithms(char names[8][16])
{
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_allowed_congestion_control", "re");

	memset(names, 0, 8 * sizeof(names[0]));
	for (int i = 0; f && i < 7 && fscanf(f, "%15s", names[i]) == 1; i++)
		;
	if (f)
		fclose(f);
}

TEST_WITH(a_channel_has_the_congestion_control_asked_for, rig_open, rig_close)
{
	struct rig *r = *state;
	char names[8][16];

	allowed_algorithms(names);
	for (unsigned i = 0; i < 8; i++) {
		struct tcpx_channel_info tx = { 0 }, rx = { 0 };
		struct tcpx_chan_id id = rig_id((uint16_t)(i + 1), (uint8_t)(0x40 + i));
		struct tcpx_chan *sender, *receiver;

		assert_int_equal(tcpx_sock_congestion_check(names[i]), 0);
		r->net->congestion = names[i];
		assert_int_equal(rig_channel(r, &id, &sender, &receiver), 0);
		assert_int_equal(r->ops->stream->stats(sender, &tx), 0);
		assert_int_equal(r->ops->stream->stats(receiver, &rx), 0);
		/* none asked for: within a host reno */
		assert_string_equal(tx.congestion, names[i][0] ? names[i] : "reno");
		assert_string_equal(rx.congestion, tx.congestion);
		r->ops->chan_close(sender);
		r->ops->chan_close(receiver);
	}
	r->net->congestion = "";
}

static int
least_us(const struct tcpx_chan *c)
{
	int us = 0;
	socklen_t len = sizeof(us);

	return getsockopt(c->fd, IPPROTO_TCP, TCP_RTO_MIN_US, &us, &len) == 0 ? us : 0;
}

/* At both ends: the one that connects and the one that accepts. The kernel rounds up to its ticks. */
TEST_WITH(what_was_lost_goes_again_before_200_ms, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_chan_id id = rig_id(1, 0x40);
	struct tcpx_chan *sender, *receiver;
	int us[2];

	assert_int_equal(rig_channel(r, &id, &sender, &receiver), 0);
	us[0] = least_us(sender);
	us[1] = least_us(receiver);
	r->ops->chan_close(sender);
	r->ops->chan_close(receiver);
	if (!us[0]) {
		print_message("this kernel has no TCP_RTO_MIN_US\n");
		skip();
	}
	assert_in_range(us[0], 1, 60000);
	assert_in_range(us[1], 1, 60000);
}

TEST_WITH(an_unknown_congestion_control_is_refused_at_once, rig_open, rig_close)
{
	struct rig *r = *state;
	struct tcpx_net_params params = { .nics = &r->nic, .nic_count = 1,
					  .congestion = "nonsense" };
	struct tcpx_net_facts facts;
	struct tcpx_net *net;

	assert_int_equal(r->ops->open(&params, &net, &facts), -EINVAL);
	assert_int_equal(r->warnings, 1);
}
