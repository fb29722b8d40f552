/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from end to end: any length, memory in any pieces, sent and received in any
 * portions, abandoned half way.
 */
#include "sock_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PIECES 400

/* One message on its way, both ends. */
struct passage {
	struct rig *r;
	uint64_t random;
	uint32_t piece;    /* most bytes of one iovec */
	uint32_t portion;  /* most bytes offered or asked for in one call */
	uint8_t *src, *dst;
	struct iovec iov[PIECES];
	struct tcpx_tx_msg msg;
	struct tcpx_head head;
	size_t got;
	bool sent, opened;
	int end; /* of the message, -EAGAIN before */
};

static uint32_t
random_upto(struct passage *p, uint32_t max)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return 1 + (uint32_t)(p->random % max);
}

/* At most a portion of [pos, len) in pieces; sometimes an empty one. */
static int
pieces_of(struct passage *p, uint8_t *base, size_t pos, size_t len)
{
	size_t end = pos + random_upto(p, p->portion);
	int n = 0;

	if (end > len)
		end = len;
	while (pos < end && n < PIECES) {
		size_t take = random_upto(p, p->piece);

		if (take > end - pos)
			take = end - pos;
		if (n % 7 == 6)
			take = 0;
		p->iov[n++] = (struct iovec){ base + pos, take };
		pos += take;
	}
	return n;
}

static void
passage_begin(struct passage *p, uint64_t seq, uint32_t len)
{
	p->msg = (struct tcpx_tx_msg){
		.head = { .xfer = 1000 + seq, .chunk = (uint32_t)seq, .len = len,
			  .channel = 3, .generation = 7, .seq = seq },
	};
	for (size_t k = 0; k < len; k++)
		p->src[k] = rig_byte(seq, k);
	memset(p->dst, 0xee, len);
	p->sent = p->opened = false;
	p->got = 0;
	p->end = -EAGAIN;
}

static void
passage_send(struct passage *p)
{
	size_t before = p->msg.sent;
	int rc;

	p->msg.iov = p->iov;
	p->msg.iov_count = pieces_of(p, p->src, before, p->msg.head.len);
	rc = p->r->ops->stream->send(p->r->tx, &p->msg);
	assert_true(rc == 0 || rc == -EAGAIN);
	assert_true(p->msg.sent >= before && p->msg.sent <= p->msg.head.len);
	p->sent = rc == 0;
}

static void
passage_recv(struct passage *p)
{
	const struct tcpx_net_ops *ops = p->r->ops;
	ssize_t n;
	int rc;

	if (!p->opened) {
		rc = ops->stream->recv_head(p->r->rx, &p->head);
		assert_true(rc == 0 || rc == -EAGAIN);
		if (rc)
			return;
		p->opened = true;
		assert_int_equal(p->head.xfer, p->msg.head.xfer);
		assert_int_equal(p->head.chunk, p->msg.head.chunk);
		assert_int_equal(p->head.len, p->msg.head.len);
		assert_int_equal(p->head.seq, p->msg.head.seq);
	}
	if (p->got < p->head.len) {
		int count = pieces_of(p, p->dst, p->got, p->head.len);

		n = ops->stream->recv(p->r->rx, p->iov, count);
		assert_true(n > 0 || n == -EAGAIN);
		if (n > 0)
			p->got += (size_t)n;
		assert_true(p->got <= p->head.len);
	}
	if (p->got == p->head.len)
		p->end = ops->stream->recv(p->r->rx, NULL, 0);
}

/* Runs it to its end; gives the payload's fate. */
static int
passage_run(struct passage *p)
{
	uint64_t deadline = rig_deadline();

	while (!p->sent || p->end == -EAGAIN) {
		if (!p->sent)
			passage_send(p);
		if (p->end == -EAGAIN)
			passage_recv(p);
		assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
	}
	if (!p->end)
		assert_memory_equal(p->src, p->dst, p->msg.head.len);
	return p->end;
}

static struct passage *
passage_new(struct rig *r, uint32_t piece, uint32_t portion)
{
	struct passage *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->r = r;
	p->random = 88172645463325252ull;
	p->piece = piece;
	p->portion = portion;
	p->src = malloc(RIG_CHUNK_MAX);
	p->dst = malloc(RIG_CHUNK_MAX);
	assert_true(p->src && p->dst);
	return p;
}

static void
passage_free(struct passage *p)
{
	free(p->src);
	free(p->dst);
	free(p);
}

static const struct {
	const char *name;
	uint32_t piece, portion;
} ways[] = {
	{ "whole", RIG_CHUNK_MAX, RIG_CHUNK_MAX },
	{ "more pieces than one call takes", 40000, RIG_CHUNK_MAX },
	{ "random portions of random pieces", 9000, 1 << 20 },
	{ "crumbs", 700, 5000 },
};

TEST_WITH(messages_arrive_whole_whatever_their_length_and_pieces, rig_open_channel, rig_close)
{
	static const uint32_t lens[] = { 0, 1, 0, 0, 7, 65536, 4096, 3 << 20, 1, 65535, 0 };

	for (size_t w = 0; w < COUNT(ways); w++) {
		struct passage *p = passage_new(*state, ways[w].piece, ways[w].portion);

		print_message("# %s\n", ways[w].name);
		for (size_t i = 0; i < COUNT(lens); i++) {
			passage_begin(p, w * COUNT(lens) + i + 1, lens[i]);
			assert_int_equal(passage_run(p), 0);
		}
		passage_free(p);
	}
}

/* abandoned after so many payload bytes were offered; the memory must not be read again */
TEST_WITH(an_abandoned_message_is_dropped_and_the_next_is_fine, rig_open_channel, rig_close)
{
	static const uint32_t after[] = { 0, 1, 100000, 1 << 20, 2 << 20 };
	struct passage *p = passage_new(*state, 9000, 200000);
	uint64_t seq = 0;

	for (size_t i = 0; i < COUNT(after); i++) {
		passage_begin(p, ++seq, 3 << 20);
		while (p->msg.sent < after[i]) {
			passage_send(p);
			passage_recv(p);
		}
		p->msg.abandon = true;
		memset(p->src, 0xbb, 3 << 20);
		assert_int_equal(passage_run(p), TCPX_ECANCELED);
		for (size_t k = 0; k < 3 << 20; k++)
			if (p->dst[k] != rig_byte(seq, k) && p->dst[k] != 0)
				fail_msg("byte %zu is %#x: read after it was given back", k,
					 p->dst[k]);
		passage_begin(p, ++seq, 70000);
		assert_int_equal(passage_run(p), 0);
	}
	passage_free(p);
}

TEST_WITH(a_full_way_gives_eagain_and_goes_on_exactly_there, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	struct passage *p = passage_new(r, RIG_CHUNK_MAX, RIG_CHUNK_MAX);
	struct tcpx_net_event ev[2];
	int stalls = 0;

	assert_int_equal(r->ops->chan_watch(r->tx, r->poller, r->tx, TCPX_WRITABLE), 0);
	for (uint64_t seq = 1; seq < 40; seq++) {
		passage_begin(p, seq, RIG_CHUNK_MAX);
		for (int i = 0; i < 3 && !p->sent; i++)
			passage_send(p);
		stalls += !p->sent && p->msg.sent > 0;
		assert_int_equal(passage_run(p), 0);
		if (seq == 5)
			break;
	}
	assert_true(stalls > 0);
	assert_int_equal(r->ops->poller_wait(r->poller, ev, 2, RIG_WAIT_NS), 1);
	assert_ptr_equal(ev[0].owner, r->tx);
	assert_true(ev[0].ready & TCPX_WRITABLE);
	passage_free(p);
}

TEST_WITH(pieces_given_once_shrink_as_they_are_sent, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	struct passage *p = passage_new(r, RIG_CHUNK_MAX, RIG_CHUNK_MAX);
	struct iovec iov[64];

	passage_begin(p, 1, RIG_CHUNK_MAX);
	for (int i = 0; i < 64; i++)
		iov[i] = (struct iovec){ p->src + i * 65536, 65536 };
	p->msg.iov = iov;
	p->msg.iov_count = 64;
	while (!p->sent) {
		size_t given = 0;
		int rc = r->ops->stream->send(r->tx, &p->msg);

		for (int i = 0; i < p->msg.iov_count; i++)
			given += p->msg.iov[i].iov_len;
		assert_ptr_equal(p->msg.iov, iov);
		assert_int_equal(given, RIG_CHUNK_MAX - p->msg.sent);
		assert_true(rc == 0 || rc == -EAGAIN);
		p->sent = rc == 0;
		if (p->end == -EAGAIN) /* its own pieces lie elsewhere */
			passage_recv(p);
	}
	assert_int_equal(passage_run(p), 0);
	passage_free(p);
}

/* As if the kernel had stopped there, for each byte of the message, abandoned or not. */
TEST_WITH(a_message_goes_on_from_any_byte, rig_open_channel, rig_close)
{
	enum { LEN = 12, PAYLOAD_END = TCPX_SOCK_HEAD_BYTES + LEN,
	       WIRE = PAYLOAD_END + TCPX_SOCK_TAIL_BYTES };
	struct rig *r = *state;
	struct passage *p = passage_new(r, 5, LEN);
	struct tcpx_sock_tx *tx = &r->tx->tx;
	uint64_t seq = 0;

	for (int i = 0; i < 2 * WIRE; i++) {
		uint8_t bytes[WIRE];
		size_t pos = (size_t)i / 2;

		passage_begin(p, ++seq, LEN);
		tcpx_sock_head_format(&p->msg.head, bytes);
		memcpy(bytes + TCPX_SOCK_HEAD_BYTES, p->src, LEN);
		tcpx_sock_tail_format(&p->msg.head, false, bytes + PAYLOAD_END);
		assert_int_equal(send(r->tx->fd, bytes, pos, MSG_NOSIGNAL), pos);
		memcpy(tx->head, bytes, sizeof(tx->head));
		memcpy(tx->tail, bytes + PAYLOAD_END, sizeof(tx->tail));
		tx->open = true;
		tx->pos = pos;
		p->msg.phase = 1;
		p->msg.abandon = i % 2;
		if (pos > TCPX_SOCK_HEAD_BYTES)
			p->msg.sent = pos < PAYLOAD_END ? pos - TCPX_SOCK_HEAD_BYTES : LEN;
		assert_int_equal(passage_run(p), p->msg.abandon && pos <= PAYLOAD_END ?
						 TCPX_ECANCELED : 0);
	}
	passage_free(p);
}

TEST_WITH(messages_out_of_order_are_refused_before_a_byte_leaves, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	struct tcpx_head good = { .channel = 3, .generation = 7, .seq = 1 };
	struct tcpx_tx_msg bad[5] = {
		{ .head = good }, { .head = good }, { .head = good }, { .head = good },
		{ .head = good },
	};
	struct tcpx_head head;

	bad[0].head.seq = 2;
	bad[1].head.seq = 0;
	bad[2].head.channel = 4;
	bad[3].head.generation = 8;
	for (int i = 0; i < 4; i++)
		assert_int_equal(r->ops->stream->send(r->tx, &bad[i]), TCPX_ESTATE);
	bad[4].head.len = TCPX_SOCK_CHUNK_MAX + 1;
	assert_int_equal(r->ops->stream->send(r->tx, &bad[4]), TCPX_ELIMIT);
	assert_int_equal(r->ops->stream->send(r->rx, &bad[4]), TCPX_ESTATE);
	assert_int_equal(r->ops->stream->recv_head(r->rx, &head), -EAGAIN);
}
