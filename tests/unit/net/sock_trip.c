/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages through one channel, both ends in one thread. See sock_trip.h.
 */
#include "sock_trip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct trip *
trip_new(struct rig *r)
{
	struct trip *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->r = r;
	t->portion = RIG_CHUNK_MAX;
	t->end = -EAGAIN;
	t->src = aligned_alloc(PAGE, RIG_CHUNK_MAX);
	t->dst = aligned_alloc(PAGE, RIG_CHUNK_MAX);
	assert_true(t->src && t->dst);
	return t;
}

void
trip_free(struct trip *t)
{
	free(t->src);
	free(t->dst);
	free(t);
}

void
trip_begin(struct trip *t, uint32_t len, bool stable, int pieces)
{
	size_t step = (len / (unsigned)pieces + PAGE - 1) / PAGE * PAGE;
	size_t at = 0;

	t->seq++;
	t->msg = (struct tcpx_tx_msg){
		.head = { .len = len, .channel = 3, .generation = 7, .seq = t->seq },
		.iov = t->iov, .stable = stable,
	};
	for (; at < len; at += t->iov[t->msg.iov_count++].iov_len)
		t->iov[t->msg.iov_count] = (struct iovec){
			t->src + at, len - at < step ? len - at : step };
	for (size_t k = 0; k < len; k++)
		t->src[k] = rig_byte(t->seq, k);
	memset(t->dst, 0xee, len);
	t->sent = t->opened = false;
	t->got = 0;
	t->end = -EAGAIN;
}

int
trip_send(struct trip *t)
{
	int rc = t->r->ops->stream->send(t->r->tx, &t->msg);

	t->sent = rc == 0;
	t->cut += rc == -EAGAIN && t->r->tx->tx.lend.piped > 0;
	return rc;
}

void
trip_recv(struct trip *t)
{
	const struct tcpx_net_ops *ops = t->r->ops;
	ssize_t n;

	if (!t->opened && ops->stream->recv_head(t->r->rx, &t->head) == 0) {
		t->opened = true;
		assert_int_equal(t->head.seq, t->seq);
		assert_int_equal(t->head.len, t->msg.head.len);
	}
	if (t->opened && t->got < t->head.len) {
		struct iovec v = { t->dst + t->got, t->head.len - t->got };

		if (v.iov_len > t->portion)
			v.iov_len = t->portion;
		n = ops->stream->recv(t->r->rx, &v, 1);
		assert_true(n > 0 || n == -EAGAIN);
		t->got += n > 0 ? (size_t)n : 0;
	}
	if (t->opened && t->got == t->head.len && t->end == -EAGAIN)
		t->end = ops->stream->recv(t->r->rx, NULL, 0);
}

int
trip_run(struct trip *t)
{
	uint64_t deadline = rig_deadline();
	int rc;

	while (!t->sent || t->end == -EAGAIN) {
		rc = t->sent ? 0 : trip_send(t);
		assert_true(rc == 0 || rc == -EAGAIN);
		trip_recv(t);
		assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
	}
	if (!t->end)
		assert_memory_equal(t->src, t->dst, t->head.len);
	return t->end;
}

void
trip_owned(struct trip *t, uint32_t len)
{
	trip_begin(t, len, true, 1);
	assert_int_equal(trip_run(t), 0);
}

struct tcpx_channel_info
trip_stats(struct rig *r)
{
	struct tcpx_channel_info st = { 0 };

	assert_int_equal(r->ops->stream->stats(r->tx, &st), 0);
	return st;
}

static const uint32_t lens[] = {
	64 * K, 64 * K + 1, 128 * K - 1, 128 * K, 256 * K + 7, M - PAGE, M - 1, M, M + 1,
	M + PAGE, 2 * M - 1, 2 * M, 3 * M - 7, 3 * M,
};

uint64_t
trip_all_lengths(struct trip *t)
{
	uint64_t bytes = 0;

	for (int pieces = 1; pieces <= 33; pieces += 16)
		for (size_t i = 0; i < COUNT(lens); i++) {
			trip_begin(t, lens[i], true, pieces);
			assert_int_equal(trip_run(t), 0);
			bytes += lens[i];
		}
	return bytes;
}

void
trip_small_buffers(struct rig *r)
{
	int bytes = 32 * (int)K;

	setsockopt(r->tx->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(r->rx->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

int
trip_open_auto(void **state)
{
	return rig_open_channel_lending(state, TCPX_LEND_AUTO);
}

int
trip_open_off(void **state)
{
	return rig_open_channel_lending(state, TCPX_LEND_OFF);
}

int
trip_open_splice(void **state)
{
	return rig_open_channel_lending(state, TCPX_LEND_SPLICE);
}

int
trip_open_msg(void **state)
{
	return rig_open_channel_lending(state, TCPX_LEND_MSG);
}
