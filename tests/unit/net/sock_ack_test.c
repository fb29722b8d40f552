/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acknowledgements on the reverse way: the newest counts, records cut by the kernel are
 * joined, and an impossible one ends the channel.
 */
#include "sock_rig.h"

#include <errno.h>
#include <sys/socket.h>

/* Messages of no payload, both ends. */
static void
send_empty(struct rig *r, uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++) {
		struct tcpx_tx_msg msg = {
			.head = { .channel = 3, .generation = 7, .seq = seq },
		};
		uint64_t deadline = rig_deadline();
		struct tcpx_head head;

		assert_int_equal(r->ops->stream->send(r->tx, &msg), 0);
		while (r->ops->stream->recv_head(r->rx, &head) == -EAGAIN)
			rig_pause(r, deadline);
		assert_int_equal(head.seq, seq);
		while (r->ops->stream->recv(r->rx, NULL, 0) == -EAGAIN)
			rig_pause(r, deadline);
	}
}

TEST_WITH(acknowledgements_come_back_newest_first, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	uint64_t deadline = rig_deadline();
	struct tcpx_ack ack = { 0, 0 }, got = { 99, 99 };
	struct tcpx_net_event ev[2];

	send_empty(r, 1, 100);
	assert_int_equal(r->ops->stream->acked(r->tx, &got), -EAGAIN);
	assert_int_equal(got.received, 99);
	assert_int_equal(r->ops->chan_watch(r->tx, r->poller, r->tx, TCPX_READABLE), 0);
	for (ack.received = 1; ack.received <= 100; ack.received++) {
		ack.applied = ack.received / 2;
		assert_int_equal(r->ops->stream->ack(r->rx, &ack), 0);
		assert_int_equal(r->ops->stream->ack(r->rx, &ack), 0); /* the same costs nothing */
	}
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, RIG_WAIT_NS), 1);
	for (got.received = 0; got.received < 100; rig_pause(r, deadline))
		r->ops->stream->acked(r->tx, &got);
	assert_int_equal(got.applied, 50);
	assert_int_equal(r->ops->stream->acked(r->tx, &got), -EAGAIN);

	ack = (struct tcpx_ack){ 100, 100 };
	assert_int_equal(r->ops->stream->ack(r->rx, &ack), 0);
	while (r->ops->stream->acked(r->tx, &got) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(got.received, 100);
	assert_int_equal(got.applied, 100);
}

TEST_WITH(a_last_acknowledgement_is_heard_before_the_end, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	uint64_t deadline = rig_deadline();
	struct tcpx_ack ack = { 2, 1 }, got = { 0, 0 };
	int rc;

	send_empty(r, 1, 2);
	assert_int_equal(r->ops->stream->ack(r->rx, &ack), 0);
	r->ops->chan_close(r->rx);
	r->rx = NULL;
	while ((rc = r->ops->stream->acked(r->tx, &got)) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(rc, 0);
	assert_int_equal(got.received, 2);
	while ((rc = r->ops->stream->acked(r->tx, &got)) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(rc, TCPX_ECHANNEL);
	assert_int_equal(r->ops->stream->acked(r->tx, &got), TCPX_ECHANNEL);
	assert_int_equal(r->warnings, 0);
}

/* A record that went only in part is finished before newer values follow. */
TEST_WITH(a_full_reverse_way_splits_no_record, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	uint64_t deadline = rig_deadline(), last = 60000;
	struct tcpx_ack ack = { 0, 0 }, got = { 0, 0 };
	int small = 2048, full = 0;

	assert_int_equal(setsockopt(r->rx->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	assert_int_equal(setsockopt(r->tx->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	r->rx->rx.last = r->tx->tx.last = last; /* as if so many messages had gone */
	while (got.applied < last) {
		int rc = 0;

		while (ack.received < last && !rc) {
			ack.received += !rc;
			ack.applied = ack.received;
			rc = r->ops->stream->ack(r->rx, &ack);
			full += rc == -EAGAIN;
		}
		rc = r->ops->stream->ack(r->rx, &ack);
		assert_true(rc == 0 || rc == -EAGAIN);
		rc = r->ops->stream->acked(r->tx, &got);
		assert_true(rc == 0 || rc == -EAGAIN);
		assert_int_equal(got.received, got.applied);
		assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
	}
	assert_true(full > 0);
}

/* Records cut anywhere, on either side: pos bytes of the second one go separately. */
TEST_WITH(cut_acknowledgements_are_put_together, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	struct tcpx_sock_rx *rx = &r->rx->rx;
	uint64_t deadline = rig_deadline(), seq = 0;

	rx->last = r->tx->tx.last = 1000; /* as if so many messages had gone */
	for (size_t pos = 1; pos < TCPX_SOCK_ACK_BYTES; pos++) {
		struct tcpx_ack first = { seq + 1, seq + 1 }, second = { seq + 2, seq + 1 };
		struct tcpx_ack third = { seq + 3, seq + 3 }, got = { 0, 0 };

		assert_int_equal(r->ops->stream->ack(r->rx, &first), 0);
		tcpx_sock_ack_format(&second, false, rx->out);
		assert_int_equal(send(r->rx->fd, rx->out, pos, MSG_NOSIGNAL), pos);
		rx->out_left = TCPX_SOCK_ACK_BYTES - pos;
		rx->acked = second;
		while (got.received < first.received) {
			r->ops->stream->acked(r->tx, &got);
			rig_pause(r, deadline);
		}
		assert_int_equal(got.received, first.received);
		assert_int_equal(r->ops->stream->ack(r->rx, pos % 2 ? &second : &third), 0);
		seq += pos % 2 ? 2 : 3;
		while (got.received < seq) {
			int rc = r->ops->stream->acked(r->tx, &got);

			assert_true(rc == 0 || rc == -EAGAIN);
			rig_pause(r, deadline);
		}
		assert_int_equal(got.received, seq);
		assert_int_equal(got.applied, pos % 2 ? seq - 1 : seq);
	}
}

TEST_WITH(impossible_acknowledgements_end_the_channel, rig_open_channel, rig_close)
{
	static const struct tcpx_ack wrong[] = {
		{ 4, 0 },   /* more than was sent        */
		{ 2, 3 },   /* applied before received   */
		{ 1, 1 },   /* backwards from 2, 1       */
		{ 2, 0 },   /* applied backwards         */
		{ ~0ull, ~0ull },
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		uint8_t record[TCPX_SOCK_ACK_BYTES];
		struct tcpx_ack got = { 0, 0 };
		struct tcpx_chan_id id = rig_id(3, 1);
		struct rig one = *(struct rig *)*state;
		uint64_t deadline = rig_deadline();
		int rc;

		assert_int_equal(rig_channel(&one, &id, &one.tx, &one.rx), 0);
		send_empty(&one, 1, 3);
		assert_int_equal(one.ops->stream->ack(one.rx, &(struct tcpx_ack){ 2, 1 }), 0);
		while ((rc = one.ops->stream->acked(one.tx, &got)) == -EAGAIN)
			rig_pause(&one, deadline);
		assert_int_equal(rc, 0);
		assert_int_equal(one.ops->stream->ack(one.rx, &wrong[i]), TCPX_ESTATE);
		tcpx_sock_ack_format(&wrong[i], false, record);
		assert_int_equal(send(one.rx->fd, record, sizeof(record), 0), sizeof(record));
		while ((rc = one.ops->stream->acked(one.tx, &got)) == -EAGAIN)
			rig_pause(&one, deadline);
		assert_int_equal(rc, TCPX_EFRAME);
		assert_int_equal(got.received, 2);
		assert_int_equal(one.ops->stream->acked(one.tx, &got), TCPX_EFRAME);
		one.ops->chan_close(one.tx);
		one.ops->chan_close(one.rx);
	}
}

/* A false one would free what is still on its way, and complete a message of a lane. */
TEST_WITH(a_bit_of_a_summed_acknowledgement_ends_the_channel, rig_open_channel, rig_close)
{
	for (size_t bit = 0; bit < 8 * TCPX_SOCK_ACK_BYTES; bit++) {
		struct tcpx_chan_id id = rig_id(3, 1);
		struct rig one = *(struct rig *)*state;
		uint64_t deadline = rig_deadline();
		uint8_t record[TCPX_SOCK_ACK_BYTES];
		struct tcpx_ack got = { 0, 0 };
		int rc;

		assert_int_equal(rig_channel(&one, &id, &one.tx, &one.rx), 0);
		one.tx->tx.last = one.rx->rx.last = 1000; /* as if so many messages had gone */
		one.tx->tx.summed = one.rx->rx.cur.summed = true;
		assert_int_equal(one.ops->stream->ack(one.rx, &(struct tcpx_ack){ 300, 290 }), 0);
		while ((rc = one.ops->stream->acked(one.tx, &got)) == -EAGAIN)
			rig_pause(&one, deadline);
		assert_int_equal(rc, 0);
		assert_int_equal(got.received, 300);
		assert_int_equal(got.applied, 290);
		tcpx_sock_ack_format(&(struct tcpx_ack){ 400, 390 }, true, record);
		record[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(send(one.rx->fd, record, sizeof(record), 0), sizeof(record));
		while ((rc = one.ops->stream->acked(one.tx, &got)) == -EAGAIN)
			rig_pause(&one, deadline);
		assert_int_equal(rc, TCPX_EFRAME);
		assert_int_equal(got.received, 300);
		one.ops->chan_close(one.tx);
		one.ops->chan_close(one.rx);
	}
}
