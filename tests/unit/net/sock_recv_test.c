/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving side against bytes that no sender of ours writes, calls in the wrong order,
 * and connections that end.
 */
#include "sock_rig.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static const struct tcpx_head good = {
	.xfer = 77, .chunk = 5, .len = 100, .channel = 3, .generation = 7, .seq = 1,
};

static void
raw_send(struct rig *r, const void *bytes, size_t len)
{
	assert_int_equal(send(r->tx->fd, bytes, len, MSG_NOSIGNAL), len);
}

static int
recv_head(struct rig *r, struct tcpx_head *head)
{
	uint64_t deadline = rig_deadline();
	int rc;

	while ((rc = r->ops->stream->recv_head(r->rx, head)) == -EAGAIN)
		rig_pause(r, deadline);
	return rc;
}

static int
recv_end(struct rig *r)
{
	uint64_t deadline = rig_deadline();
	int rc;

	while ((rc = r->ops->stream->recv(r->rx, NULL, 0)) == -EAGAIN)
		rig_pause(r, deadline);
	return rc;
}

/* Every bit of a header counts. */
TEST(a_header_with_any_byte_changed_does_not_parse)
{
	uint8_t bytes[TCPX_SOCK_HEAD_BYTES];
	struct tcpx_head h;

	tcpx_sock_head_format(&good, bytes);
	assert_true(tcpx_sock_head_parse(bytes, &h));
	assert_int_equal(h.xfer, good.xfer);
	assert_int_equal(h.chunk, good.chunk);
	assert_int_equal(h.len, good.len);
	assert_int_equal(h.channel, good.channel);
	assert_int_equal(h.generation, good.generation);
	assert_int_equal(h.seq, good.seq);
	for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (tcpx_sock_head_parse(bytes, &h))
			fail_msg("bit %zu changed, and it still parses", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

TEST_WITH(headers_that_do_not_fit_the_channel_end_it, rig_open_channel, rig_close)
{
	struct tcpx_head wrong[6] = { good, good, good, good, good, good };

	wrong[0].len = TCPX_SOCK_CHUNK_MAX + 1;
	wrong[1].channel = 4;
	wrong[2].generation = 6;
	wrong[3].seq = 2;
	wrong[4].seq = 0;
	wrong[5].len = UINT32_MAX;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct tcpx_chan_id id = rig_id(3, 1);
		struct rig one = *(struct rig *)*state;
		uint8_t bytes[TCPX_SOCK_HEAD_BYTES];
		struct tcpx_head head = { .seq = 99 };

		assert_int_equal(rig_channel(&one, &id, &one.tx, &one.rx), 0);
		tcpx_sock_head_format(&wrong[i], bytes);
		raw_send(&one, bytes, sizeof(bytes));
		assert_int_equal(recv_head(&one, &head), TCPX_EFRAME);
		assert_int_equal(recv_head(&one, &head), TCPX_EFRAME);
		assert_int_equal(head.seq, 99);
		one.ops->chan_close(one.tx);
		one.ops->chan_close(one.rx);
	}
}

TEST_WITH(a_corrupt_header_ends_the_channel_with_one_line, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	uint8_t bytes[TCPX_SOCK_HEAD_BYTES];
	struct tcpx_head head;

	tcpx_sock_head_format(&good, bytes);
	bytes[20] ^= 0x40;
	raw_send(r, bytes, sizeof(bytes));
	assert_int_equal(recv_head(r, &head), TCPX_EFRAME);
	assert_int_equal(r->warnings, 1);
	assert_int_equal(r->ops->stream->ack(r->rx, &(struct tcpx_ack){ 0, 0 }), TCPX_EFRAME);
	assert_int_equal(r->warnings, 1);
}

TEST_WITH(a_corrupt_trailer_ends_the_channel, rig_open_channel, rig_close)
{
	static const struct {
		size_t at;
		uint8_t flip;
	} cases[] = { { 0, 1 }, { 3, 1 }, { 4, 1 }, { 7, 2 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tcpx_chan_id id = rig_id(3, 1);
		struct rig one = *(struct rig *)*state;
		uint8_t bytes[TCPX_SOCK_HEAD_BYTES + TCPX_SOCK_TAIL_BYTES];
		struct tcpx_head head = good;

		assert_int_equal(rig_channel(&one, &id, &one.tx, &one.rx), 0);
		head.len = 0;
		tcpx_sock_head_format(&head, bytes);
		tcpx_sock_tail_format(&head, false, bytes + TCPX_SOCK_HEAD_BYTES);
		bytes[TCPX_SOCK_HEAD_BYTES + cases[i].at] ^= cases[i].flip;
		raw_send(&one, bytes, sizeof(bytes));
		assert_int_equal(recv_head(&one, &head), 0);
		assert_int_equal(recv_end(&one), TCPX_EFRAME);
		one.ops->chan_close(one.tx);
		one.ops->chan_close(one.rx);
	}
}

/* Three messages byte by byte, as the worst network cuts them. */
TEST_WITH(messages_cut_into_bytes_arrive, rig_open_channel, rig_close)
{
	enum { LEN = 10, WIRE = TCPX_SOCK_HEAD_BYTES + LEN + TCPX_SOCK_TAIL_BYTES };
	struct rig *r = *state;
	uint64_t deadline = rig_deadline();
	struct tcpx_head head, sent = good;
	uint8_t body[LEN];
	size_t got = 0;
	bool open = false;
	int done = 0;

	for (size_t i = 0; done < 3; i++) {
		uint8_t bytes[WIRE];
		uint64_t seq = i / WIRE + 1;

		sent.len = LEN;
		sent.seq = seq;
		tcpx_sock_head_format(&sent, bytes);
		for (size_t k = 0; k < LEN; k++)
			bytes[TCPX_SOCK_HEAD_BYTES + k] = rig_byte(seq, k);
		tcpx_sock_tail_format(&sent, seq == 2, bytes + WIRE - TCPX_SOCK_TAIL_BYTES);
		if (seq <= 3)
			raw_send(r, bytes + i % WIRE, 1);
		else
			rig_pause(r, deadline);

		if (!open)
			open = !r->ops->stream->recv_head(r->rx, &head);
		if (open && got < LEN) {
			struct iovec iov = { body + got, LEN - got };
			ssize_t n = r->ops->stream->recv(r->rx, &iov, 1);

			got += n > 0 ? (size_t)n : 0;
		}
		if (open && got == LEN) {
			int rc = r->ops->stream->recv(r->rx, NULL, 0);

			if (rc == -EAGAIN)
				continue;
			assert_int_equal(rc, head.seq == 2 ? TCPX_ECANCELED : 0);
			for (size_t k = 0; k < LEN; k++)
				assert_int_equal(body[k], rig_byte(head.seq, k));
			open = false;
			got = 0;
			done++;
		}
	}
}

TEST_WITH(calls_out_of_order_are_refused, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	uint8_t bytes[TCPX_SOCK_HEAD_BYTES], body[100];
	struct iovec iov = { body, sizeof(body) };
	struct tcpx_head head;

	assert_int_equal(r->ops->stream->recv(r->rx, &iov, 1), TCPX_ESTATE);
	assert_int_equal(r->ops->stream->recv(r->rx, NULL, 0), TCPX_ESTATE);
	tcpx_sock_head_format(&good, bytes);
	raw_send(r, bytes, sizeof(bytes));
	assert_int_equal(recv_head(r, &head), 0);
	assert_int_equal(r->ops->stream->recv_head(r->rx, &head), TCPX_ESTATE);
	assert_int_equal(r->ops->stream->recv(r->rx, NULL, 0), TCPX_ESTATE);
	assert_int_equal(r->ops->stream->recv(r->rx, &iov, 0), TCPX_ESTATE);
	assert_int_equal(r->ops->stream->recv(r->rx, &iov, 1), -EAGAIN);
	assert_int_equal(r->ops->stream->recv_head(r->tx, &head), TCPX_ESTATE);
}

/* A call of the kernel takes so many pieces, of which the last is the seam. */
TEST_WITH(pieces_beyond_one_call_are_left_for_the_next, rig_open_channel, rig_close)
{
	enum { LEN = TCPX_SOCK_IOV, WIRE = TCPX_SOCK_HEAD_BYTES + LEN + TCPX_SOCK_TAIL_BYTES };
	struct rig *r = *state;
	struct tcpx_head head = good;
	uint8_t bytes[WIRE], body[LEN];
	struct iovec iov[LEN];

	head.len = LEN;
	tcpx_sock_head_format(&head, bytes);
	tcpx_sock_tail_format(&head, false, bytes + WIRE - TCPX_SOCK_TAIL_BYTES);
	for (size_t i = 0; i < LEN; i++) {
		bytes[TCPX_SOCK_HEAD_BYTES + i] = rig_byte(1, i);
		iov[i] = (struct iovec){ body + i, 1 };
	}
	raw_send(r, bytes, sizeof(bytes));
	assert_int_equal(recv_head(r, &head), 0);
	assert_int_equal(r->ops->stream->recv(r->rx, iov, LEN), LEN - 1);
	assert_int_equal(r->ops->stream->recv(r->rx, iov + LEN - 1, 1), 1);
	assert_int_equal(recv_end(r), 0);
	assert_memory_equal(body, bytes + TCPX_SOCK_HEAD_BYTES, LEN);
}

TEST_WITH(the_end_of_the_connection_is_quiet_wherever_it_comes, rig_open_channel, rig_close)
{
	static const size_t cuts[] = { 0, 1, 39, 40, 60, 140, 147 };

	for (size_t i = 0; i < COUNT(cuts); i++) {
		struct rig *r = *state;
		struct tcpx_chan_id id = rig_id(3, 1);
		struct rig one = *r;
		uint64_t deadline = rig_deadline();
		uint8_t bytes[148] = { 0 }, body[100];
		struct tcpx_head head;
		ssize_t rc = 0;

		assert_int_equal(rig_channel(&one, &id, &one.tx, &one.rx), 0);
		tcpx_sock_head_format(&good, bytes);
		tcpx_sock_tail_format(&good, false, bytes + 140);
		raw_send(&one, bytes, cuts[i]);
		one.ops->chan_close(one.tx);
		for (size_t got = 0; rc >= 0 || rc == -EAGAIN; rig_pause(&one, deadline)) {
			struct iovec iov = { body + got, sizeof(body) - got };

			if (!one.rx->rx.open)
				rc = one.ops->stream->recv_head(one.rx, &head);
			else if (got == 100)
				rc = one.ops->stream->recv(one.rx, NULL, 0);
			else if ((rc = one.ops->stream->recv(one.rx, &iov, 1)) > 0)
				got += (size_t)rc;
		}
		assert_int_equal(rc, TCPX_ECHANNEL);
		assert_true(one.ops->chan_closed(one.rx));
		assert_int_equal(r->warnings, 0);
		one.ops->chan_close(one.rx);
	}
}

TEST_WITH(closing_with_bytes_waiting_leaves_no_event, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	uint64_t deadline = rig_deadline();
	uint8_t bytes[TCPX_SOCK_HEAD_BYTES];
	struct tcpx_net_event ev[2];

	tcpx_sock_head_format(&good, bytes);
	raw_send(r, bytes, sizeof(bytes));
	assert_int_equal(r->ops->chan_watch(r->rx, r->poller, r->rx, TCPX_READABLE), 0);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, RIG_WAIT_NS), 1);
	r->ops->chan_close(r->rx);
	r->rx = NULL;
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, 0), 0);
	/* the sender meets it, by whatever call comes first */
	while (r->ops->stream->acked(r->tx, &(struct tcpx_ack){ 0, 0 }) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(r->ops->stream->acked(r->tx, &(struct tcpx_ack){ 0, 0 }), TCPX_ECHANNEL);
	assert_false(r->ops->chan_closed(r->tx)); /* bytes that nobody reads make a reset of it */
}

/* A summed message's trailer: good or abandoned by its magic, then the sum; any other bit is none. */
TEST(a_sum_follows_the_payload)
{
	struct tcpx_head h = good, back;
	uint8_t head[TCPX_SOCK_HEAD_BYTES], tail[TCPX_SOCK_TAIL_BYTES];
	bool abandoned;
	uint32_t sum;

	h.summed = true;
	h.sum = 0x80000001u;
	tcpx_sock_head_format(&h, head);
	assert_true(tcpx_sock_head_parse(head, &back));
	assert_true(back.summed);
	for (int gone = 0; gone < 2; gone++) {
		tcpx_sock_tail_format(&h, gone, tail);
		assert_true(tcpx_sock_tail_parse(tail, &back, &abandoned, &sum));
		assert_int_equal(abandoned, gone);
		assert_int_equal(sum, h.sum);
		for (int bit = 0; bit < 32; bit++) {
			tail[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_false(tcpx_sock_tail_parse(tail, &back, &abandoned, &sum));
			tail[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
	assert_false(tcpx_sock_tail_parse(tail, &good, &abandoned, &sum)); /* of no summed one */
}
