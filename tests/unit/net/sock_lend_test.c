/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lending pages: the choice of the way; payload of any length, cut anywhere, arrives
 * unchanged; pages that the kernel refuses are sent plain; no signal is raised.
 */
#include "sock_trip.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define A   TCPX_LEND_AUTO
#define OFF TCPX_LEND_OFF
#define SPL TCPX_LEND_SPLICE
#define MSG TCPX_LEND_MSG

static void
the_way_follows_from_the_facts(void **state)
{
	static const struct {
		const char *why;
		struct tcpx_sock_lend_facts f;
		enum tcpx_lend way;
	} table[] = {
		{ "a pipe is there", { A, true, M, 0, false, 0, false, false }, SPL },
		{ "user memory", { A, false, M, 0, false, 0, false, false }, OFF },
		{ "user memory, forced",
		  { SPL, false, M, 0, false, 0, false, false }, OFF },
		{ "user memory, forced",
		  { MSG, false, M, 0, false, 0, false, false }, OFF },
		{ "just long enough",
		  { A, true, 64 * K, 0, false, 0, false, false }, SPL },
		{ "too short", { A, true, 64 * K - 1, 0, false, 0, false, false }, OFF },
		{ "too short, forced",
		  { MSG, true, 64 * K - 1, 0, false, 0, false, false }, OFF },
		{ "switched off", { OFF, true, M, 0, false, 0, true, false }, OFF },
		{ "pipes taken for now",
		  { A, true, M, -EAGAIN, false, 0, true, false }, OFF },
		{ "pipes taken for now",
		  { SPL, true, M, -EAGAIN, false, 0, true, false }, OFF },
		{ "no pipes, forced",
		  { SPL, true, M, -ENOBUFS, false, 0, true, false }, OFF },
		{ "no pipes, first try",
		  { A, true, M, -ENOBUFS, false, 0, false, false }, MSG },
		{ "fourth try",
		  { A, true, 64 * K, -ENOBUFS, false, 3, false, false }, MSG },
		{ "nothing told yet",
		  { A, true, M, -ENOBUFS, false, 4, false, false }, OFF },
		{ "tried, saves",
		  { A, true, 64 * K, -ENOBUFS, false, 9, true, false }, MSG },
		{ "tried, copies", { A, true, M, -ENOBUFS, false, 2, false, true }, OFF },
		{ "tried, copies some",
		  { A, true, M, -ENOBUFS, false, 2, true, true }, OFF },
		{ "refused", { A, true, M, -ENOBUFS, true, 0, false, false }, OFF },
		{ "forced", { MSG, true, M, 0, false, 9, false, true }, MSG },
		{ "forced, refused", { MSG, true, M, 0, true, 0, false, false }, OFF },
	};

	for (size_t i = 0; i < COUNT(table); i++)
		if (tcpx_sock_lend_plan(&table[i].f) != table[i].way)
			fail_msg("%zu, %s: %s", i, table[i].why,
				 tcpx_lend_name(tcpx_sock_lend_plan(&table[i].f)));
	assert_string_equal(tcpx_lend_name(TCPX_LEND_MSG), "msg_zerocopy");
	assert_string_equal(tcpx_lend_name(TCPX_LEND_OFF), "copy");
}

static void
spliced_payload_of_any_length_arrives_and_is_counted(void **state)
{
	struct trip *t = trip_new(*state);
	uint64_t bytes = trip_all_lengths(t);
	struct tcpx_channel_info st = trip_stats(t->r);

	assert_string_equal(st.tx_mode, "splice");
	assert_int_equal(st.lent_bytes, bytes);
	assert_true(t->msg.lent);
	assert_int_equal(t->r->net->pipes.idle_count, 1);
	trip_free(t);
}

static void
with_auto_payload_is_spliced_where_pipes_are(void **state)
{
	struct trip *t = trip_new(*state);

	assert_string_equal(trip_stats(t->r).tx_mode, "");
	trip_owned(t, M);
	assert_string_equal(trip_stats(t->r).tx_mode, "splice");
	assert_int_equal(trip_stats(t->r).lent_bytes, M);
	trip_free(t);
}

static void
off_lends_nothing(void **state)
{
	struct trip *t = trip_new(*state);

	trip_all_lengths(t);
	assert_false(t->msg.lent);
	assert_string_equal(trip_stats(t->r).tx_mode, "copy");
	assert_int_equal(trip_stats(t->r).lent_bytes, 0);
	assert_int_equal(t->r->net->pipes.made, 0);
	trip_free(t);
}

static void
small_and_user_payload_in_turns_with_lent(void **state)
{
	static const struct {
		uint32_t len;
		bool stable;
	} turns[] = {
		{ M, true }, { M, false }, { 100, true }, { 0, true }, { 2 * M, true },
		{ 0, false }, { 64 * K - 1, true }, { 3 * M, false }, { 64 * K, true },
		{ 1, false },
	};
	struct trip *t = trip_new(*state);

	for (size_t i = 0; i < 4 * COUNT(turns); i++) {
		uint32_t len = turns[i % COUNT(turns)].len;
		bool stable = turns[i % COUNT(turns)].stable;

		trip_begin(t, len, stable, 1);
		assert_int_equal(trip_run(t), 0);
		assert_int_equal(t->msg.lent, stable && len >= 64 * K);
		assert_int_equal(t->head.lent, stable && len >= 64 * K);
	}
	trip_free(t);
}

static void
a_slow_receiver_cuts_messages_and_they_go_on_there(void **state)
{
	struct trip *t = trip_new(*state);

	trip_small_buffers(t->r);
	for (t->portion = 5001; t->portion < 200 * K; t->portion = t->portion * 3 + 1)
		for (uint32_t len = M - 4000; len < M + 5000; len += 2999)
			trip_owned(t, len);
	if (t->r->net->lend == TCPX_LEND_SPLICE)
		assert_true(t->cut > 50);
	trip_free(t);
}

/* as a loop lives: it sleeps until the poller says that there is room */
static void
room_is_told_after_a_cut(void **state)
{
	struct trip *t = trip_new(*state);
	struct rig *r = t->r;
	struct tcpx_net_event ev[4];
	struct tcpx_ack ack;
	int sleeps = 0, n;

	trip_small_buffers(r);
	trip_begin(t, 3 * M, true, 1);
	assert_int_equal(r->ops->chan_watch(r->tx, r->poller, r->tx, TCPX_WRITABLE), 0);
	assert_int_equal(r->ops->chan_watch(r->rx, r->poller, r->rx, TCPX_READABLE), 0);
	while (!t->sent || t->end == -EAGAIN) {
		assert_true(++sleeps < 20000);
		n = r->ops->poller_wait(r->poller, ev, 4, RIG_WAIT_NS);
		assert_true(n > 0);
		for (int i = 0; i < n; i++) {
			if (ev[i].owner == r->rx)
				trip_recv(t);
			else if (!t->sent)
				trip_send(t);
			else
				assert_int_equal(r->ops->stream->acked(r->tx, &ack), -EAGAIN);
		}
	}
	assert_memory_equal(t->src, t->dst, 3 * M);
	trip_free(t);
}

static void
an_abandoned_message_empties_its_pipe_first(void **state)
{
	struct trip *t = trip_new(*state);
	uint64_t deadline = rig_deadline();

	trip_small_buffers(t->r);
	for (int i = 0; i < 5; i++) {
		trip_begin(t, 3 * M, true, 1);
		while (!t->r->tx->tx.lend.piped || t->msg.sent < (size_t)i * 300 * K) {
			assert_int_equal(trip_send(t), -EAGAIN);
			trip_recv(t);
			assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
		}
		t->msg.abandon = true;
		t->msg.iov = NULL;
		t->msg.iov_count = 0;
		assert_int_equal(trip_run(t), TCPX_ECANCELED);
		for (size_t k = 0; k < 3 * M; k++)
			if (t->dst[k] != rig_byte(t->seq, k) && t->dst[k] != 0)
				fail_msg("byte %zu is %#x", k, t->dst[k]);
		assert_int_equal(t->dst[3 * M - 1], 0);
		trip_owned(t, M + 1);
	}
	trip_free(t);
}

/* more pieces only when the first ones are used up */
static void
pieces_may_come_in_portions(void **state)
{
	struct trip *t = trip_new(*state);

	for (int round = 0; round < 3; round++) {
		trip_begin(t, 3 * M - 9, true, 1);
		while (!t->sent || t->end == -EAGAIN) {
			size_t end = t->msg.sent / (64 * PAGE) * (64 * PAGE) + 64 * PAGE;

			end = end < 3 * M - 9 ? end : 3 * M - 9;
			t->iov[0] = (struct iovec){ t->src + t->msg.sent, end - t->msg.sent };
			t->msg.iov_count = 1;
			if (!t->sent)
				trip_send(t);
			trip_recv(t);
		}
		assert_memory_equal(t->src, t->dst, 3 * M - 9);
	}
	assert_int_equal(trip_stats(t->r).lent_bytes, 3 * (3 * M - 9));
	trip_free(t);
}

static void
with_all_pipes_taken_a_message_is_copied(void **state)
{
	struct trip *t = trip_new(*state);
	struct tcpx_sock_pipes *pool = &t->r->net->pipes;
	struct tcpx_sock_pipe taken[TCPX_SOCK_PIPES] = { { 0 } };
	uint32_t n = 0;

	while (n < TCPX_SOCK_PIPES && tcpx_sock_pipe_get(pool, &taken[n]) == 0)
		n++;
	trip_owned(t, M);
	assert_false(t->msg.lent);
	assert_string_equal(trip_stats(t->r).tx_mode, "copy");
	tcpx_sock_pipe_put(pool, &taken[--n], true);
	trip_owned(t, M);
	assert_true(t->msg.lent);
	assert_string_equal(trip_stats(t->r).tx_mode, "splice");
	while (n)
		tcpx_sock_pipe_put(pool, &taken[--n], true);
	trip_free(t);
}

/* What the kernel refuses for these descriptors it refuses for good. */
static void
a_refused_call_sends_the_message_plain(void **state)
{
	struct rig *r = *state;
	struct tcpx_sock_pipes *pool = &r->net->pipes;
	struct trip *t = trip_new(r);

	for (int end = 0; end < 2; end++) {
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		int reader;

		trip_owned(t, M);
		assert_int_equal(pool->idle_count, 1);
		reader = dup(pool->idle[0].out);
		dup3(fd, end ? pool->idle[0].in : pool->idle[0].out, O_CLOEXEC);
		close(fd);
		trip_owned(t, 2 * M);
		assert_true(r->tx->tx.lend.no_splice);
		trip_owned(t, M);
		assert_false(t->msg.lent);
		r->tx->tx.lend.no_splice = false;
		while (pool->idle_count) { /* the broken one */
			pool->idle[0].bytes = 1;
			tcpx_sock_pipe_put(pool, &pool->idle[--pool->idle_count], false);
		}
		close(reader);
	}
	assert_int_equal(pool->made, 0);
	trip_free(t);
}

static void
a_channel_closed_in_mid_message_takes_its_pipe_along(void **state)
{
	struct rig *r = *state;
	struct tcpx_chan_id id = rig_id(3, 0x5b);
	struct trip *t = trip_new(r);

	trip_small_buffers(r);
	trip_begin(t, 2 * M, true, 1);
	assert_int_equal(trip_send(t), -EAGAIN);
	assert_true(r->tx->tx.lend.piped > 0);
	assert_int_equal(r->net->pipes.made, 1);
	r->ops->chan_close(r->tx);
	r->ops->chan_close(r->rx);
	assert_int_equal(r->net->pipes.made, 0);
	assert_int_equal(rig_channel(r, &id, &r->tx, &r->rx), 0);
	t->seq = 0;
	trip_owned(t, 2 * M);
	r->ops->chan_close(r->tx); /* between messages the pool keeps it */
	r->tx = NULL;
	assert_int_equal(r->net->pipes.idle_count, 1);
	trip_free(t);
}

static int
send_until_it_breaks(struct trip *t)
{
	uint64_t deadline = rig_deadline();
	int rc = 0;

	t->r->ops->chan_close(t->r->rx);
	t->r->rx = NULL;
	while (rc == 0 || rc == -EAGAIN) {
		if (rc == 0)
			trip_begin(t, M, true, 1);
		rc = trip_send(t);
		assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
	}
	return rc;
}

static bool
sigpipe_is_pending(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGPIPE);
}

static void
a_closed_peer_raises_no_signal(void **state)
{
	struct trip *t = trip_new(*state);
	sigset_t mask;

	signal(SIGPIPE, SIG_DFL); /* it would end the test */
	assert_int_equal(send_until_it_breaks(t), TCPX_ECHANNEL);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
	assert_false(sigismember(&mask, SIGPIPE));
	assert_false(sigpipe_is_pending());
	trip_free(t);
}

static void
a_signal_of_the_applications_own_stays(void **state)
{
	struct trip *t = trip_new(*state);
	sigset_t sigpipe, before;
	int taken;

	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
	raise(SIGPIPE);
	assert_int_equal(send_until_it_breaks(t), TCPX_ECHANNEL);
	assert_true(sigpipe_is_pending());
	sigwait(&sigpipe, &taken);
	assert_false(sigpipe_is_pending());
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	trip_free(t);
}

/* Two slots, each filled anew as soon as the peer has its last message, read late. */
static void
a_slot_filled_anew_after_received_is_never_seen_torn(void **state)
{
	enum { LEN = 512 * K, SLOTS = 2, COUNT_MESSAGES = 120 };
	struct trip *t = trip_new(*state);
	struct rig *r = t->r;
	struct tcpx_ack ack = { 0, 0 }, told = { 0, 0 };
	uint64_t deadline = rig_deadline(), sent = 0, got = 0;
	bool open = false;

	while (got < COUNT_MESSAGES) {
		uint8_t *slot = t->src + sent % SLOTS * LEN;

		r->ops->stream->acked(r->tx, &ack);
		if (!open && sent - ack.received < SLOTS && sent < COUNT_MESSAGES) {
			memset(slot, (int)(sent + 1), LEN);
			t->iov[0] = (struct iovec){ slot, LEN };
			t->msg = (struct tcpx_tx_msg){
				.head = { .len = LEN, .channel = 3, .generation = 7,
					  .seq = sent + 1 },
				.iov = t->iov, .iov_count = 1, .stable = true,
			};
			open = true;
		}
		if (open && r->ops->stream->send(r->tx, &t->msg) == 0) {
			open = false;
			sent++;
		}
		if (open || sent - got == SLOTS || sent == COUNT_MESSAGES) {
			t->seq = got + 1;
			trip_recv(t);
		}
		if (t->end == 0) {
			for (size_t k = 0; k < LEN; k++)
				if (t->dst[k] != (uint8_t)(got + 1))
					fail_msg("message %d: byte %zu is of %d",
						 (int)got + 1, k, t->dst[k]);
			got++;
			told = (struct tcpx_ack){ got, got };
			t->opened = false;
			t->got = 0;
			t->end = -EAGAIN;
		}
		assert_true(r->ops->stream->ack(r->rx, &told) == 0);
		assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
	}
	assert_int_equal(trip_stats(r).lent_bytes, (uint64_t)COUNT_MESSAGES * LEN);
	trip_free(t);
}

/* All of the message is with the receiver's kernel, which has the pages of its sender's slot. */
static void
a_message_that_is_recalled_does_not_count_whatever_is_read(void **state)
{
	enum { LEN = 64 * K };
	struct trip *t = trip_new(*state);
	struct rig *r = t->r;
	uint64_t deadline = rig_deadline();
	bool closes = r->net->lend == TCPX_LEND_AUTO; /* recalls, too */
	int there = 0;

	trip_begin(t, LEN, true, 1);
	assert_int_equal(trip_send(t), 0);
	while (ioctl(r->rx->fd, FIONREAD, &there) == 0 && there < LEN + (int)TCPX_SOCK_TAIL_BYTES)
		rig_pause(r, deadline);
	if (closes) {
		r->ops->chan_close(r->tx);
		r->tx = NULL;
	} else {
		r->ops->stream->recall(r->tx);
	}
	memset(t->src, 0xee, LEN);
	while (t->end == -EAGAIN) {
		trip_recv(t);
		assert_true(tcpx_clock_now(&tcpx_clock_system) < deadline);
	}
	assert_int_equal(t->end, TCPX_ECHANNEL);
	if (r->net->lend != TCPX_LEND_MSG) /* the kernel copies those within a host */
		assert_int_equal(t->dst[0], 0xee); /* the last way to know it */
	trip_free(t);
}

static void
a_channel_that_has_lent_nothing_is_not_broken(void **state)
{
	struct trip *t = trip_new(*state);

	trip_begin(t, 64 * K, false, 1);
	assert_int_equal(trip_run(t), 0);
	t->r->ops->stream->recall(t->r->tx);
	trip_begin(t, 64 * K, true, 1);
	assert_int_equal(trip_run(t), 0);
	trip_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_way_follows_from_the_facts),
		WITH(splice, spliced_payload_of_any_length_arrives_and_is_counted),
		WITH(auto, with_auto_payload_is_spliced_where_pipes_are),
		WITH(off, off_lends_nothing),
		WITH(splice, small_and_user_payload_in_turns_with_lent),
		WITH(msg, small_and_user_payload_in_turns_with_lent),
		WITH(splice, a_slow_receiver_cuts_messages_and_they_go_on_there),
		WITH(msg, a_slow_receiver_cuts_messages_and_they_go_on_there),
		WITH(splice, room_is_told_after_a_cut),
		WITH(msg, room_is_told_after_a_cut),
		WITH(splice, an_abandoned_message_empties_its_pipe_first),
		WITH(splice, pieces_may_come_in_portions),
		WITH(splice, with_all_pipes_taken_a_message_is_copied),
		WITH(auto, with_all_pipes_taken_a_message_is_copied),
		WITH(splice, a_refused_call_sends_the_message_plain),
		WITH(splice, a_channel_closed_in_mid_message_takes_its_pipe_along),
		WITH(splice, a_closed_peer_raises_no_signal),
		WITH(msg, a_closed_peer_raises_no_signal),
		WITH(splice, a_signal_of_the_applications_own_stays),
		WITH(splice, a_slot_filled_anew_after_received_is_never_seen_torn),
		WITH(splice, a_message_that_is_recalled_does_not_count_whatever_is_read),
		WITH(msg, a_message_that_is_recalled_does_not_count_whatever_is_read),
		WITH(auto, a_message_that_is_recalled_does_not_count_whatever_is_read),
		WITH(splice, a_channel_that_has_lent_nothing_is_not_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
