/* SPDX-License-Identifier: Apache-2.0 */
/* How long the chunks of a lane's message are. */
#include "bare.h"

#include "core/transfer/lane_state.h"
#include "core/transfer/launch.h"

/* A message whose chunks are to be cut, while 2 MiB of others are under way. */
static struct tcpx_xfer *
to_cut(struct bare *b, uint32_t channels)
{
	struct tcpx_xfer *x;

	b->s->chan.tx_up = channels;
	b->s->chan.chunk_max = TCPX_CHUNK_MAX;
	x = bare_xfer(b, TCPX_LANE_BIT | 1, 0, TCPX_CHUNK_MIN);
	x->lane = calloc(1, sizeof(*x->lane));
	assert_non_null(x->lane);
	*x->lane = (struct tcpx_lane){ .refs = 1, .engine = &b->e };
	b->s->sched.outstanding_bytes = 2 << 20;
	return x;
}

TEST(chunks_are_larger_where_the_peer_sends_too)
{
	struct tcpx_xfer *x;
	struct bare b;

	bare_open(&b, true);
	bare_channel(&b, 0);
	x = to_cut(&b, 16);
	b.s->health.rx_progress_ns = b.now_ns - 2 * TCPX_MS;
	assert_int_equal(tcpx_launch_lane_chunk(b.s, x), TCPX_CHUNK_LITTLE);
	b.s->health.rx_progress_ns = b.now_ns;
	assert_int_equal(tcpx_launch_lane_chunk(b.s, x), 512 << 10);
	b.s->sched.outstanding_bytes = 0;
	tcpx_xfer_put(x);
	bare_close(&b);
}

/* Rates of 1, 1, 1 and 0.25 Gbit/s. Channels of one NIC differ by chance. */
TEST(chunks_are_shorter_where_a_nic_is_slow)
{
	struct channel *c[4];
	struct tcpx_xfer *x;
	struct bare b;

	bare_open(&b, true);
	for (uint16_t i = 0; i < 4; i++) {
		c[i] = bare_channel(&b, i);
		c[i]->tx.rate.Bps = i < 3 ? 125000000 : 31250000;
	}
	x = to_cut(&b, 4);
	b.s->health.rx_progress_ns = b.now_ns;
	assert_int_equal(tcpx_launch_lane_chunk(b.s, x), 512 << 10);
	c[3]->near_nic = 1;
	assert_int_equal(tcpx_launch_lane_chunk(b.s, x), 140 << 10);
	c[3]->near_nic = 0;
	c[3]->far_nic = 1;
	assert_int_equal(tcpx_launch_lane_chunk(b.s, x), 140 << 10);
	c[3]->tx.rate.Bps = 100000000;
	assert_int_equal(tcpx_launch_lane_chunk(b.s, x), 512 << 10);
	b.s->sched.outstanding_bytes = 0;
	tcpx_xfer_put(x);
	bare_close(&b);
}
