/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small messages whose successor follows at once leave together. The bytes on the wire are
 * those of messages sent one by one, wherever the kernel stops and whatever is abandoned.
 * The peer is the bare other end of the connection.
 */
#include "sock_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PAGE      4096u
#define SRC_BYTES (1u << 20)
#define OVERHEAD  (TCPX_SOCK_HEAD_BYTES + TCPX_SOCK_TAIL_BYTES)
#define ANY       SIZE_MAX

/* How the kernel behaves: the next call takes at most so many bytes; 0: it is full. */
static size_t take_next = ANY;
static uint64_t take_random; /* not 0: each call takes at random */
static bool no_memory;
static int calls;

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *
__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

static uint64_t
draw(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct iovec v[TCPX_SOCK_IOV];
	struct msghdr part = { .msg_iov = v };
	size_t left = take_next;

	calls++;
	take_next = ANY;
	if (take_random && draw(&take_random) % 3)
		left = take_random % 5 ? take_random % 30000 : take_random % 100;
	if (!left) {
		errno = EAGAIN;
		return -1;
	}
	for (; part.msg_iovlen < msg->msg_iovlen && left; part.msg_iovlen++) {
		struct iovec piece = msg->msg_iov[part.msg_iovlen];

		if (piece.iov_len > left)
			piece.iov_len = left;
		left -= piece.iov_len;
		v[part.msg_iovlen] = piece;
	}
	return __real_sendmsg(fd, &part, flags);
}

/* A sender and what its peer should see and has seen. */
struct wire {
	struct rig *r;
	uint64_t random, seq;
	uint8_t *src; /* never changes: some of it is lent */
	uint8_t *want, *got;
	size_t want_len, got_len, cap;
	struct tcpx_tx_msg msg;
	const uint8_t *from; /* of the open message */
	struct iovec iov[8];
};

static struct wire *
wire_new(struct rig *r, size_t cap)
{
	struct wire *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->r = r;
	w->random = 88172645463325252ull;
	w->cap = cap;
	w->src = aligned_alloc(PAGE, SRC_BYTES);
	w->want = malloc(cap);
	w->got = malloc(cap);
	assert_true(w->src && w->want && w->got);
	for (size_t k = 0; k < SRC_BYTES; k++)
		w->src[k] = (uint8_t)(1 + draw(&w->random) % 255);
	take_next = ANY;
	take_random = 0;
	return w;
}

static void
wire_free(struct wire *w)
{
	take_random = 0;
	free(w->src);
	free(w->want);
	free(w->got);
	free(w);
}

static void
wire_want(struct wire *w, const void *bytes, size_t len)
{
	assert_true(w->want_len + len <= w->cap);
	if (bytes)
		memcpy(w->want + w->want_len, bytes, len);
	else
		memset(w->want + w->want_len, 0, len);
	w->want_len += len;
}

/* What is there now. */
static void
wire_drain(struct wire *w)
{
	ssize_t n;

	while ((n = recv(w->r->rx->fd, w->got + w->got_len, w->cap - w->got_len, 0)) > 0)
		w->got_len += (size_t)n;
}

static void
wire_check(struct wire *w)
{
	uint64_t deadline = rig_deadline();

	for (wire_drain(w); w->got_len < w->want_len; wire_drain(w))
		rig_pause(w->r, deadline);
	assert_int_equal(w->got_len, w->want_len);
	for (size_t k = 0; k < w->want_len; k++)
		if (w->got[k] != w->want[k])
			fail_msg("byte %zu is %#x, not %#x", k, w->got[k], w->want[k]);
	w->want_len = w->got_len = 0;
}

static void
wire_begin(struct wire *w, uint32_t len, bool stable, bool more)
{
	size_t pages = (SRC_BYTES - len) / PAGE;

	w->from = w->src + draw(&w->random) % (pages + 1) * PAGE;
	w->msg = (struct tcpx_tx_msg){
		.head = { .xfer = 1000 + w->seq, .chunk = 9, .len = len, .channel = 3,
			  .generation = 7, .seq = w->seq + 1,
			  .lent = stable && len >= TCPX_LEND_MIN },
		.iov = w->iov, .stable = stable, .more = more,
	};
	w->seq++;
}

/* One call that offers at most portion bytes, in up to 8 pieces. When it is through, or
 * abandoned from here on, the bytes that it must come to are known. */
static int
wire_send(struct wire *w, size_t portion)
{
	size_t pos = w->msg.sent, end = w->msg.head.len;
	int rc, n = 0;

	if (end - pos > portion)
		end = pos + portion;
	for (; pos < end; pos += w->iov[n++].iov_len) {
		size_t piece = 1 + draw(&w->random) % (end - pos);

		w->iov[n] = (struct iovec){ (void *)(w->from + pos),
					    n == 7 ? end - pos : piece };
	}
	w->msg.iov_count = w->msg.abandon ? 0 : n;
	rc = w->r->ops->stream->send(w->r->tx, &w->msg);
	assert_true(rc == 0 || rc == -EAGAIN);
	if (rc == 0)
		assert_int_equal(w->msg.sent, w->msg.head.len);
	return rc;
}

/* good: so many bytes of the payload are, the rest is filler; void: the trailer says so. */
static void
wire_expect(struct wire *w, size_t good, bool abandoned)
{
	uint8_t head[TCPX_SOCK_HEAD_BYTES], tail[TCPX_SOCK_TAIL_BYTES];

	tcpx_sock_head_format(&w->msg.head, head);
	tcpx_sock_tail_format(&w->msg.head, abandoned, tail);
	wire_want(w, head, sizeof(head));
	wire_want(w, w->from, good);
	wire_want(w, NULL, w->msg.head.len - good);
	wire_want(w, tail, sizeof(tail));
}

/* All of a message that is well. */
static void
wire_whole(struct wire *w, uint32_t len, bool more)
{
	wire_begin(w, len, true, more);
	wire_expect(w, len, false);
	assert_int_equal(wire_send(w, ANY), 0);
}

/* It has got so far, and is given up now. */
static void
wire_abandon(struct wire *w)
{
	const struct tcpx_sock_tx *tx = &w->r->tx->tx;
	bool open = w->msg.phase != 0;
	bool late = open && tx->pos > TCPX_SOCK_HEAD_BYTES + w->msg.head.len;

	w->msg.abandon = true;
	wire_expect(w, w->msg.sent + (open ? tx->lend.piped : 0), !late);
}

static uint32_t
random_len(struct wire *w)
{
	static const uint32_t base[] = { 0, 1, 12, 4096, 4096, 4096, 8000, TCPX_SOCK_HOLD_MAX,
					 TCPX_SOCK_HOLD_MAX + 1, 40000, 64 << 10, 200000 };
	uint32_t len = base[draw(&w->random) % COUNT(base)];

	return len && draw(&w->random) % 2 ? len - 1 : len;
}

/* The kernel's buffers are small, too, so that lent pages are cut. */
static void
small_buffers(struct rig *r)
{
	int bytes = 32 << 10;

	setsockopt(r->tx->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(r->rx->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

TEST_WITH(the_bytes_are_those_of_messages_sent_one_by_one, rig_open_channel, rig_close)
{
	struct wire *w = wire_new(*state, 8 << 20);
	uint64_t deadline = rig_deadline();

	small_buffers(w->r);
	for (int round = 0; round < 60; round++) {
		take_random = draw(&w->random);
		for (int i = 0; i < 30; i++) {
			bool last = i == 29;

			wire_begin(w, random_len(w), draw(&w->random) % 8, false);
			if (draw(&w->random) % 16 == 0)
				wire_abandon(w);
			do {
				size_t portion = draw(&w->random) % 8 ? ANY : 5000;

				w->msg.more = !last && draw(&w->random) % 4;
				if (wire_send(w, portion) == 0)
					break;
				if (!w->msg.abandon && draw(&w->random) % 32 == 0)
					wire_abandon(w);
				if (draw(&w->random) % 2)
					wire_drain(w);
				assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
			} while (true);
			if (!w->msg.abandon)
				wire_expect(w, w->msg.head.len, false);
		}
		wire_check(w);
	}
	wire_free(w);
}

/* What the message at hand becomes after the kernel stopped. */
enum fate { GOES_ON, IS_ABANDONED, IS_FOLLOWED, FATES };

TEST_WITH(a_run_goes_on_from_any_byte, rig_open_channel, rig_close)
{
	enum { LEN = 12, RUN = 4 * (LEN + OVERHEAD), BEFORE = 3 * (LEN + OVERHEAD) };
	struct wire *w = wire_new(*state, 1 << 16);

	for (size_t pos = 0; pos < RUN; pos++)
		for (int fate = 0; fate < FATES; fate++) {
			size_t payload = pos < BEFORE + TCPX_SOCK_HEAD_BYTES ? 0 :
					 pos - BEFORE - TCPX_SOCK_HEAD_BYTES;

			for (int i = 0; i < 3; i++)
				wire_whole(w, LEN, true);
			wire_begin(w, LEN, true, false);
			take_next = pos;
			assert_int_equal(wire_send(w, ANY), -EAGAIN);
			assert_int_equal(w->msg.sent, payload < LEN ? payload : LEN);
			if (fate == IS_ABANDONED)
				wire_abandon(w);
			else
				wire_expect(w, LEN, false);
			w->msg.more = fate == IS_FOLLOWED;
			assert_int_equal(wire_send(w, ANY), 0);
			if (fate == IS_FOLLOWED)
				wire_whole(w, LEN, false);
			wire_check(w);
		}
	wire_free(w);
}

TEST_WITH(a_run_leaves_in_one_call, rig_open_channel, rig_close)
{
	static const struct {
		uint32_t len;
		int count, calls;
	} run[] = {
		{ 0, 2, 1 }, { 4096, 12, 1 }, { TCPX_SOCK_HOLD_MAX, 4, 1 },
		{ TCPX_SOCK_HOLD_MAX + 1, 4, 4 }, { 4096, 1, 1 },
		/* 15 are held, the 16th goes along; then 3 and the 20th */
		{ 4096, 20, 2 },
	};
	struct wire *w = wire_new(*state, 1 << 18);

	for (size_t i = 0; i < COUNT(run); i++) {
		calls = 0;
		for (int k = 1; k <= run[i].count; k++)
			wire_whole(w, run[i].len, k < run[i].count);
		assert_int_equal(calls, run[i].calls);
		wire_check(w);
	}
	wire_free(w);
}

/* Its slot is another message's before the peer has it. */
TEST_WITH(memory_of_a_held_message_is_free, rig_open_channel, rig_close)
{
	struct wire *w = wire_new(*state, 1 << 18);
	static uint8_t slot[4096];

	for (int i = 0; i < 12; i++) {
		wire_begin(w, sizeof(slot), true, i < 11);
		memcpy(slot, w->from, sizeof(slot));
		wire_expect(w, sizeof(slot), false);
		w->from = slot;
		assert_int_equal(wire_send(w, ANY), 0);
		assert_false(w->msg.lent);
		memset(slot, 0xee, sizeof(slot));
	}
	wire_check(w);
	wire_free(w);
}

TEST_WITH(what_is_lent_comes_after_what_was_held, rig_open_channel, rig_close)
{
	struct wire *w = wire_new(*state, 1 << 20);

	for (int i = 0; i < 3; i++) {
		wire_whole(w, 4096, true);
		wire_whole(w, 100, true);
		wire_begin(w, 64 << 10, true, true);
		wire_expect(w, 64 << 10, false);
		while (wire_send(w, ANY))
			wire_drain(w);
		wire_whole(w, 4096, true);
		wire_whole(w, 4096, false);
	}
	wire_check(w);
	wire_free(w);
}

TEST_WITH(without_memory_each_leaves_by_itself, rig_open_channel, rig_close)
{
	struct wire *w = wire_new(*state, 1 << 18);

	no_memory = true;
	calls = 0;
	for (int i = 0; i < 5; i++)
		wire_whole(w, 4096, true);
	no_memory = false;
	assert_int_equal(calls, 5);
	wire_check(w);
	wire_free(w);
}

TEST_WITH(what_was_held_is_not_received_when_the_channel_is_closed,
	  rig_open_channel, rig_close)
{
	struct rig *r = *state;
	struct wire *w = wire_new(r, 1 << 18);
	uint64_t deadline = rig_deadline();
	struct tcpx_head head;
	int rc;

	for (int i = 0; i < 3; i++)
		wire_whole(w, 4096, true);
	r->ops->chan_close(r->tx);
	r->tx = NULL;
	while ((rc = r->ops->stream->recv_head(r->rx, &head)) == -EAGAIN)
		rig_pause(r, deadline);
	assert_int_equal(rc, TCPX_ECHANNEL);
	wire_free(w);
}

TEST_WITH(a_channel_that_breaks_says_so_to_who_flushes, rig_open_channel, rig_close)
{
	struct rig *r = *state;
	struct wire *w = wire_new(r, 1 << 18);
	uint64_t deadline = rig_deadline();
	struct tcpx_ack ack;

	for (int i = 0; i < 3; i++)
		wire_whole(w, 4096, true);
	r->ops->chan_close(r->rx);
	r->rx = NULL;
	while (r->ops->stream->acked(r->tx, &ack) == -EAGAIN)
		rig_pause(r, deadline);
	wire_begin(w, 4096, true, false);
	w->iov[0] = (struct iovec){ (void *)w->from, 4096 };
	w->msg.iov_count = 1;
	assert_int_equal(r->ops->stream->send(r->tx, &w->msg), TCPX_ECHANNEL);
	wire_free(w);
}
