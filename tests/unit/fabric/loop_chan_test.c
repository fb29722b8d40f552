/* SPDX-License-Identifier: Apache-2.0 */
/* Scripted channels deliver whole messages over a rough network, or end for both sides. */
#include "loop_pair.h"

TEST(messages_arrive_whole_over_a_rough_channel)
{
	static const uint32_t lens[] = { 0, 1, 2, 40, 4097, 70000 };
	static uint8_t out[70000], in[70000];
	struct pair p;

	pair_open(&p, &tcpx_net_loop, 9, &rough);
	make_chan(&p, 1, 0, &p.tx, &p.rx);
	fill(out, sizeof(out), 9);
	for (size_t i = 0; i < LEN(lens); i++) {
		memset(in, 0, sizeof(in));
		assert_int_equal(direct_message(&p, i + 1, out, lens[i], false, in), 0);
		assert_memory_equal(in, out, lens[i]);
	}
	pair_clean(&p);
}

TEST(an_abandoned_message_is_void_and_the_next_is_good)
{
	static uint8_t out[50000], in[50000];
	struct pair p;

	pair_open(&p, &tcpx_net_loop, 10, &rough);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	fill(out, sizeof(out), 10);
	assert_int_equal(direct_message(&p, 1, out, sizeof(out), true, in), TCPX_ECANCELED);
	assert_int_not_equal(memcmp(in, out, sizeof(in)), 0);
	assert_int_equal(direct_message(&p, 2, out, 0, true, in), TCPX_ECANCELED);
	assert_int_equal(direct_message(&p, 3, out, sizeof(out), false, in), 0);
	assert_memory_equal(in, out, sizeof(in));
	pair_clean(&p);
}

TEST(acknowledgements_come_back_newest_last)
{
	struct tcpx_ack ack = { 2, 1 }, got = { 0, 0 };
	struct pair p;
	uint8_t none;
	int rc;

	pair_open(&p, &tcpx_net_loop, 11, &rough);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	for (uint64_t seq = 1; seq <= 3; seq++)
		direct_message(&p, seq, &none, 0, false, &none);
	assert_int_equal(p.ops->stream->acked(p.tx, &got), -EAGAIN);
	assert_int_equal(p.ops->stream->ack(p.rx, &ack), 0);
	ack = (struct tcpx_ack){ 3, 3 };
	assert_int_equal(p.ops->stream->ack(p.rx, &ack), 0);
	while (got.applied < 3) {
		rc = p.ops->stream->acked(p.tx, &got);
		assert_true(rc == 0 || (rc == -EAGAIN && got.applied < 3));
		if (rc)
			assert_true(tick(&p));
	}
	assert_int_equal(got.received, 3);
	pair_clean(&p);
}

TEST(a_broken_channel_is_over_for_both)
{
	struct tcpx_fabric_fault at = { .kind = TCPX_FABRIC_BREAK_CHANNEL, .at_bytes = 5000 };
	static uint8_t out[20000], in[20000];
	struct tcpx_fabric_script script = rough;
	struct iovec iov = { out, sizeof(out) }, dst = { in, sizeof(in) };
	struct tcpx_tx_msg m = { .head = { .len = sizeof(out), .seq = 1 }, .iov = &iov,
				 .iov_count = 1 };
	struct tcpx_ack ack;
	struct tcpx_head head;
	struct pair p;
	bool headed = false;
	ssize_t n = 0;
	int rc;

	script.faults = &at;
	script.fault_count = 1;
	pair_open(&p, &tcpx_net_loop, 12, &script);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	while ((rc = p.ops->stream->send(p.tx, &m)) == -EAGAIN || n >= 0 || n == -EAGAIN) {
		if (rc != -EAGAIN)
			assert_int_equal(rc, TCPX_ECHANNEL);
		if (!headed) {
			n = p.ops->stream->recv_head(p.rx, &head);
			headed = n == 0;
		} else {
			n = p.ops->stream->recv(p.rx, &dst, 1);
		}
		if (n == -EAGAIN)
			tick(&p);
	}
	assert_int_equal(rc, TCPX_ECHANNEL);
	assert_int_equal(n, TCPX_ECHANNEL);
	assert_in_range(m.sent, 1, sizeof(out) - 1);
	assert_int_equal(p.ops->stream->acked(p.tx, &ack), TCPX_ECHANNEL);
	pair_clean(&p);
}

TEST(a_closed_end_ends_the_other)
{
	struct tcpx_tx_msg m = { .head = { .seq = 1 } };
	struct tcpx_head head;
	struct pair p;

	for (int who = 0; who < 2; who++) {
		pair_open(&p, &tcpx_net_loop, 13, NULL);
		make_chan(&p, 0, 0, &p.tx, &p.rx);
		if (who == 0) {
			assert_int_equal(p.ops->stream->send(p.tx, &m), 0);
			p.ops->chan_close(p.tx);
			p.tx = NULL;
			assert_int_equal(p.ops->stream->recv_head(p.rx, &head), 0);
			assert_int_equal(p.ops->stream->recv(p.rx, NULL, 0), 0);
			assert_int_equal(p.ops->stream->recv_head(p.rx, &head), TCPX_ECHANNEL);
		} else {
			p.ops->chan_close(p.rx);
			p.rx = NULL;
			assert_int_equal(p.ops->stream->send(p.tx, &m), TCPX_ECHANNEL);
		}
		pair_clean(&p);
	}
}

TEST(bandwidth_is_shared_by_the_channels_of_a_nic)
{
	struct tcpx_fabric_script script = { .nic_Bps = 1000000 };
	static uint8_t out[2][50000];
	struct tcpx_chan *tx[2], *rx[2];
	struct pair p;
	uint64_t start;

	pair_open(&p, &tcpx_net_loop, 14, &script);
	start = tcpx_fabric_now(p.fabric);
	for (int i = 0; i < 2; i++) {
		struct iovec iov = { out[i], sizeof(out[i]) };
		struct tcpx_tx_msg m = { .head = { .len = sizeof(out[i]), .seq = 1,
						   .chunk = (uint32_t)i },
					 .iov = &iov, .iov_count = 1 };

		make_chan(&p, 0, (uint16_t)i, &tx[i], &rx[i]);
		assert_int_equal(p.ops->stream->send(tx[i], &m), 0);
	}
	while (tick(&p))
		;
	assert_in_range(tcpx_fabric_now(p.fabric) - start, 100 * TCPX_MS, 101 * TCPX_MS);
	for (int i = 0; i < 2; i++) {
		p.ops->chan_close(tx[i]);
		p.ops->chan_close(rx[i]);
	}
	pair_clean(&p);
}

TEST(only_the_right_token_gets_in_and_once)
{
	struct tcpx_chan_id id = { .session = 1, .sending_side_is_opener = 1 }, wrong = id;
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl;
	struct tcpx_chan *late = NULL;
	void *conn = NULL;
	struct pair p;

	pair_open(&p, &tcpx_net_loop, 15, NULL);
	wrong.token[15] = 1;
	assert_int_equal(p.ops->chan_listen(p.net[1], 0, &id, handle, &cl), 0);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &wrong, handle, true, &conn, &p.tx),
			 TCPX_ECHANNEL);
	assert_null(conn);
	assert_int_equal(p.ops->chan_accept(cl, false, &p.rx), -EAGAIN);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, false, &conn, &p.tx),
			 -EINVAL);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, true, &conn, &p.tx), 0);
	assert_int_equal(p.ops->chan_accept(cl, false, &p.rx), 0);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, true, &conn, &late),
			 TCPX_ECHANNEL);
	p.ops->chan_listener_close(cl);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, true, &conn, &late),
			 -ECONNREFUSED);
	assert_null(late);
	pair_clean(&p);
}

TEST(a_connect_given_up_leaves_nothing)
{
	struct tcpx_chan_id id = { .session = 1, .sending_side_is_opener = 1 };
	uint8_t handle[TCPX_HANDLE_BYTES];
	struct tcpx_chan_listener *cl;
	void *conn = NULL;
	struct pair p;

	pair_open(&p, &tcpx_net_loop, 16, &rough);
	assert_int_equal(p.ops->chan_listen(p.net[1], 0, &id, handle, &cl), 0);
	assert_int_equal(p.ops->chan_connect(p.net[0], 0, &id, handle, true, &conn, &p.tx),
			 -EAGAIN);
	assert_non_null(conn);
	p.ops->chan_connect_cancel(p.net[0], &conn);
	assert_null(conn);
	tick(&p);
	assert_int_equal(p.ops->chan_accept(cl, false, &p.rx), -EAGAIN);
	p.ops->chan_listener_close(cl);
	pair_clean(&p);
}
