/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted buffers show late reads and early reuse, and the fabric notices broken
 * rules of net.h.
 */
#include "loop_pair.h"

/* ---- slots ----------------------------------------------------------------------- */

static int
send_slot(struct pair *p, uint64_t seq, size_t len)
{
	struct tcpx_head head = { .xfer = 1, .chunk = (uint32_t)seq, .len = (uint32_t)len,
				  .seq = seq };
	int rc = p->ops->comm->send(p->tx, &head);

	return rc ? rc : p->ops->comm->head(p->rx, &head);
}

static int
slot_send(struct pair *p, uint64_t seq, const uint8_t *data, size_t len)
{
	void *mem = p->ops->comm->slot(p->tx, seq);

	assert_non_null(mem);
	memcpy(mem, data, len);
	return send_slot(p, seq, len);
}

TEST(a_landed_message_is_its_fragments_in_order)
{
	static const size_t lens[] = { 0, 1, 4096, 100000, 512 << 10 };
	static uint8_t out[512 << 10], in[512 << 10];
	struct tcpx_landed msg;
	struct pair p;

	pair_open(&p, &tcpx_net_loop_comm, 20, NULL);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	fill(out, sizeof(out), 20);
	for (size_t i = 0; i < LEN(lens); i++) {
		size_t at = 0;

		assert_int_equal(slot_send(&p, i + 1, out, lens[i]), 0);
		assert_int_equal(p.ops->comm->recv(p.rx, &msg), 0);
		for (uint32_t f = 0; f < msg.frag_count; f++) {
			assert_in_range(msg.frag[f].iov_len, 1, 4096);
			memcpy(in + at, msg.frag[f].iov_base, msg.frag[f].iov_len);
			at += msg.frag[f].iov_len;
		}
		assert_int_equal(at, lens[i]);
		assert_memory_equal(in, out, at);
		assert_int_equal(p.ops->comm->release(p.rx, i + 1), 0);
	}
	pair_clean(&p);
}

TEST(slots_are_limited_and_released_in_order)
{
	uint8_t data[10] = "0123456789";
	struct tcpx_landed msg[16], more;
	const uint8_t *late;
	struct pair p;

	pair_open(&p, &tcpx_net_loop_comm, 21, NULL);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	for (uint64_t seq = 1; seq <= 16; seq++)
		assert_int_equal(slot_send(&p, seq, data, sizeof(data)), 0);
	assert_int_equal(send_slot(&p, 17, sizeof(data)), -EAGAIN);
	for (int i = 0; i < 16; i++)
		assert_int_equal(p.ops->comm->recv(p.rx, &msg[i]), 0);
	assert_int_equal(p.ops->comm->recv(p.rx, &more), -EAGAIN);
	assert_int_equal(send_slot(&p, 17, sizeof(data)), -EAGAIN);
	late = msg[0].frag[0].iov_base;
	assert_int_equal(*late, '0');
	assert_int_equal(p.ops->comm->release(p.rx, 1), 0);
	assert_int_equal(*late, 0xDB);
	assert_int_equal(slot_send(&p, 17, data, sizeof(data)), 0);
	assert_int_equal(tcpx_fabric_violations(p.fabric), 0);

	assert_int_equal(p.ops->comm->release(p.rx, 3), TCPX_EFRAME); /* out of order */
	assert_int_equal(p.ops->comm->release(p.rx, 1), TCPX_EFRAME); /* twice */
	assert_int_equal(tcpx_fabric_violations(p.fabric), 2);
	pair_close(&p);
}

TEST(a_send_slot_is_read_when_the_message_lands)
{
	struct tcpx_fabric_script script = { .delay_min_ns = { 0, 500 },
					     .delay_max_ns = { 0, 500 } };
	struct tcpx_landed msg;
	uint8_t data = 'a';
	struct pair p;

	pair_open(&p, &tcpx_net_loop_comm, 22, &script);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	assert_int_equal(slot_send(&p, 1, &data, 1), 0);
	assert_int_equal(p.ops->comm->recv(p.rx, &msg), -EAGAIN);
	*(uint8_t *)p.ops->comm->slot(p.tx, 1) = 'b'; /* too early: not received yet */
	tick(&p);
	assert_int_equal(p.ops->comm->recv(p.rx, &msg), 0);
	assert_int_equal(*(uint8_t *)msg.frag[0].iov_base, 'b');
	pair_clean(&p);
}

TEST(what_is_lent_is_read_when_it_arrives)
{
	struct tcpx_fabric_script script = { .delay_min_ns = { 0, 500 },
					     .delay_max_ns = { 0, 500 } };
	struct tcpx_head head;
	struct pair p;

	for (int stable = 0; stable < 2; stable++) {
		uint8_t data = 'a', in = 0;
		struct iovec iov = { &data, 1 }, dst = { &in, 1 };
		struct tcpx_tx_msg m = { .head = { .len = 1, .seq = 1 }, .iov = &iov,
					 .iov_count = 1, .stable = stable };

		pair_open(&p, &tcpx_net_loop_lend, 28, &script);
		make_chan(&p, 0, 0, &p.tx, &p.rx);
		assert_int_equal(p.ops->stream->send(p.tx, &m), 0);
		assert_int_equal(m.lent, stable);
		data = 'b';
		tick(&p);
		assert_int_equal(p.ops->stream->recv_head(p.rx, &head), 0);
		assert_int_equal(p.ops->stream->recv(p.rx, &dst, 1), 1);
		assert_int_equal(in, stable ? 'b' : 'a');
		pair_clean(&p);
	}
}

/* ---- rules ----------------------------------------------------------------------- */

TEST(a_message_leaves_from_its_slot)
{
	uint8_t data[10] = { 0 };
	struct pair p;

	pair_open(&p, &tcpx_net_loop_comm, 23, NULL);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	assert_int_equal(slot_send(&p, 1, data, 9), 0);
	assert_int_equal(send_slot(&p, 2, 10), TCPX_EFRAME);
	assert_int_equal(tcpx_fabric_violations(p.fabric), 1);
	pair_close(&p);
}

TEST(user_memory_may_not_be_lent)
{
	uint8_t data[10] = { 0 };
	struct iovec iov = { data, sizeof(data) };
	struct tcpx_tx_msg m = { .head = { .len = sizeof(data), .seq = 1 }, .iov = &iov,
				 .iov_count = 1, .stable = true };
	struct pair p;

	pair_open(&p, &tcpx_net_loop_lend, 29, NULL);
	make_chan(&p, 0, 0, &p.tx, &p.rx);
	tcpx_fabric_forbid(p.fabric, data + 9, 1);
	assert_int_equal(p.ops->stream->send(p.tx, &m), TCPX_EFRAME);
	assert_int_equal(tcpx_fabric_violations(p.fabric), 1);
	pair_close(&p);
}

TEST(a_chunk_may_not_be_on_two_channels)
{
	struct tcpx_tx_msg m = { .head = { .xfer = 1, .chunk = 2, .seq = 1 } }, again = m;
	struct tcpx_ack ack = { 1, 1 };
	struct tcpx_chan *tx, *rx;
	struct tcpx_head head;

	for (int how = 0; how < 3; how++) {
		struct pair p;

		pair_open(&p, &tcpx_net_loop, 24, NULL);
		make_chan(&p, 0, 0, &p.tx, &p.rx);
		make_chan(&p, 1, 1, &tx, &rx);
		m.phase = again.phase = 0;
		assert_int_equal(p.ops->stream->send(p.tx, &m), 0);
		if (how == 1) { /* the receiver has let go of the first */
			p.ops->chan_close(p.rx);
			p.rx = NULL;
		} else if (how == 2) { /* the first was applied */
			assert_int_equal(p.ops->stream->recv_head(p.rx, &head), 0);
			assert_int_equal(p.ops->stream->recv(p.rx, NULL, 0), 0);
			assert_int_equal(p.ops->stream->ack(p.rx, &ack), 0);
			assert_int_equal(p.ops->stream->acked(p.tx, &ack), 0);
		}
		assert_int_equal(p.ops->stream->send(tx, &again), how ? 0 : TCPX_EFRAME);
		assert_int_equal(tcpx_fabric_violations(p.fabric), how ? 0 : 1);
		p.ops->chan_close(tx);
		p.ops->chan_close(rx);
		pair_close(&p);
	}
}

TEST(an_acknowledgement_may_not_run_ahead_or_back)
{
	static const struct {
		const char *name;
		struct tcpx_ack first, second;
	} rows[] = {
		{ "more than was delivered", { 3, 1 }, { 0, 0 } },
		{ "applied before received", { 1, 2 }, { 0, 0 } },
		{ "backward", { 2, 2 }, { 2, 1 } },
	};
	uint8_t none;

	for (size_t i = 0; i < LEN(rows); i++) {
		struct pair p;
		int rc;

		pair_open(&p, &tcpx_net_loop, 25, NULL);
		make_chan(&p, 0, 0, &p.tx, &p.rx);
		for (uint64_t seq = 1; seq <= 2; seq++)
			direct_message(&p, seq, &none, 0, false, &none);
		rc = p.ops->stream->ack(p.rx, &rows[i].first);
		if (rc == 0)
			rc = p.ops->stream->ack(p.rx, &rows[i].second);
		if (rc != TCPX_EFRAME || tcpx_fabric_violations(p.fabric) != 1)
			fail_msg("%s: rc is %d", rows[i].name, rc);
		pair_close(&p);
	}
}

TEST(what_is_left_open_is_noticed)
{
	struct tcpx_fabric *f = tcpx_fabric_new(26, NULL);
	struct tcpx_net_params params = { .fabric = f };
	struct tcpx_poller *poller;
	struct tcpx_net *net;

	assert_int_equal(tcpx_net_loop.open(&params, &net, &(struct tcpx_net_facts){ 0 }), 0);
	assert_int_equal(tcpx_net_loop.poller_open(net, &poller), 0);
	tcpx_net_loop.close(net);
	assert_int_equal(tcpx_fabric_violations(f), 1);
	free(poller);
	tcpx_fabric_free(f);
}
