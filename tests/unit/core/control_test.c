/* SPDX-License-Identifier: Apache-2.0 */
/* When frames of the control stream are written, and what becomes of those that cannot be. */
#include "bare.h"

#include <errno.h>

#include "core/session/accept.h"
#include "core/session/control.h"
#include "core/session/gone.h"
#include "core/session/receive.h"
#include "core/session/timer.h"

/* A connection that takes as many bytes as the test allows. */
struct tcpx_stream {
	size_t room;
	int error;
	uint32_t calls, closed;
	int acked;
	size_t taken;
	unsigned interest;
	uint8_t came[64]; /* ... and gives these, then @end */
	size_t came_len;
	int end;
};

static ssize_t
stream_recv(struct tcpx_stream *s, void *data, size_t len)
{
	size_t n = s->came_len;

	if (n == 0)
		return s->end;
	assert_true(n <= len);
	memcpy(data, s->came, n);
	s->came_len = 0;
	return (ssize_t)n;
}

static ssize_t
stream_send(struct tcpx_stream *s, const void *data, size_t len)
{
	s->calls++;
	if (s->error)
		return s->error;
	if (s->room == 0)
		return -EAGAIN;
	len = len < s->room ? len : s->room;
	s->room -= len;
	s->taken += len;
	return (ssize_t)len;
}

static int
stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner, unsigned interest)
{
	s->interest = interest;
	return 0;
}

static int
stream_acked(struct tcpx_stream *s)
{
	return s->acked;
}

static void
stream_close(struct tcpx_stream *s)
{
	s->closed++;
}

static uint32_t woken, heard;

static void
on_writable(struct session *s)
{
	woken++;
}

static int
on_frame(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload)
{
	assert_non_null(s->control.line.stream);
	assert_int_equal(h->type, TCPX_FR_MATCHED);
	heard++;
	return 0;
}

static void
on_end(struct session *s)
{
}

static const struct session_calls calls = { .writable = on_writable, .frame = on_frame,
					    .leaving = on_end, .failed = on_end };

struct world {
	struct bare b;
	struct tcpx_stream stream;
};

static struct session *
begin(struct world *w)
{
	woken = heard = 0;
	bare_open(&w->b, true);
	w->stream = (struct tcpx_stream){ .room = 1 << 20 };
	w->b.ops.stream_send = stream_send;
	w->b.ops.stream_recv = stream_recv;
	w->b.ops.stream_watch = stream_watch;
	w->b.ops.stream_acked = stream_acked;
	w->b.ops.stream_close = stream_close;
	w->b.e.limit.turn_cost = 1000;
	w->b.e.up.session = &calls;
	w->b.s->control.line.stream = &w->stream;
	w->b.s->control.up = true;
	w->b.s->chan.tx_up = w->b.s->chan.rx_up = 1;
	return w->b.s;
}

TEST(nothing_is_written_before_the_flush)
{
	struct world w;
	struct session *s = begin(&w);

	tcpx_control_say_u64(s, TCPX_FR_MATCHED, 7);
	tcpx_control_say_u64(s, TCPX_FR_MATCHED, 8);
	assert_int_equal(w.stream.calls, 0);
	tcpx_control_flush(s);
	assert_int_equal(w.stream.calls, 1); /* both in one write */
	assert_true(w.stream.taken > 0);
	assert_int_equal(w.stream.interest, TCPX_READABLE);
	assert_int_equal(w.b.e.count.ctrl_frames_tx, 2);
	bare_close(&w.b);
}

TEST(what_finds_no_room_waits_until_it_is_writable)
{
	struct world w;
	struct session *s = begin(&w);

	w.stream.room = 5;
	tcpx_control_say_u64(s, TCPX_FR_MATCHED, 7);
	tcpx_control_flush(s);
	assert_int_equal(w.stream.taken, 5);
	assert_int_equal(w.stream.interest, TCPX_READABLE | TCPX_WRITABLE);
	w.stream.room = 1000;
	tcpx_control_flush(s);
	assert_int_equal(w.stream.interest, TCPX_READABLE);
	assert_true(w.stream.taken > 5);
	bare_close(&w.b);
}

/* ... which may be with the first part of what a flush had to write. */
TEST(they_are_woken_though_more_waits)
{
	static const uint8_t list[1000];
	struct world w;
	struct session *s = begin(&w);

	w.stream.room = TCPX_FRAME_HEAD + 10;
	s->control.chunks_wait = true;
	assert_int_equal(tcpx_ctrl_put_bulk(s->control.ctrl, TCPX_FR_OPEN, "", 0, NULL), 0);
	assert_int_equal(tcpx_ctrl_put_bulk(s->control.ctrl, TCPX_FR_LIST, list, sizeof(list), NULL), 0);
	tcpx_control_flush(s);
	assert_int_equal(w.stream.taken, TCPX_FRAME_HEAD + 10);
	assert_int_equal(w.stream.interest, TCPX_READABLE | TCPX_WRITABLE);
	assert_int_equal(woken, 1);
	assert_false(s->control.chunks_wait);
	bare_close(&w.b);
}

TEST(channels_that_waited_for_an_open_are_woken_once_it_has_gone)
{
	struct world w;
	struct session *s = begin(&w);

	w.stream.room = 0;
	s->control.chunks_wait = true;
	assert_int_equal(tcpx_ctrl_put_bulk(s->control.ctrl, TCPX_FR_OPEN, "", 0, NULL), 0);
	tcpx_control_flush(s);
	assert_int_equal(woken, 0);
	w.stream.room = 1000;
	tcpx_control_flush(s);
	tcpx_control_flush(s);
	assert_int_equal(woken, 1);
	bare_close(&w.b);
}

/* Else they would look, flush and wake each other for ever. */
TEST(channels_sleep_on_while_the_open_cannot_go)
{
	struct world w;
	struct session *s = begin(&w);

	s->control.chunks_wait = true;
	tcpx_control_say_u64(s, TCPX_FR_MATCHED, 7);
	tcpx_control_flush(s); /* the OPEN is not there */
	assert_int_equal(woken, 0);
	assert_true(s->control.chunks_wait);
	bare_close(&w.b);
}

TEST(answers_wait_for_the_end_of_the_turn_unless_a_flush_took_them)
{
	struct world w;
	struct session *s = begin(&w);

	tcpx_control_say_u64(s, TCPX_FR_MATCHED, 7);
	tcpx_control_flush_later(s);
	tcpx_control_flush_later(s);
	assert_int_equal(w.stream.calls, 0);
	tcpx_control_flush_all(&w.b.e);
	assert_int_equal(w.stream.calls, 1);
	assert_true(tcpx_chain_empty(&w.b.e.registry.to_flush));

	tcpx_control_say_u64(s, TCPX_FR_MATCHED, 8);
	tcpx_control_flush_later(s);
	tcpx_control_flush(s); /* with a frame of the application's, say */
	assert_int_equal(w.stream.calls, 2);
	tcpx_control_flush_all(&w.b.e);
	assert_int_equal(w.stream.calls, 2);
	bare_close(&w.b);
}

TEST(a_cancel_does_not_overtake_its_open)
{
	struct world w;
	struct session *s = begin(&w);
	uint64_t open;

	assert_int_equal(tcpx_ctrl_put_bulk(s->control.ctrl, TCPX_FR_OPEN, "", 0, &open), 0);
	tcpx_control_say_u64(s, TCPX_FR_CANCEL, 7);
	tcpx_control_flush(s);
	assert_int_equal(tcpx_ctrl_bulk_written(s->control.ctrl), open + 1);
	bare_close(&w.b);
}

/* A frame that the peer has put. */
static void
arrives(struct world *w, uint8_t type, const void *payload, size_t len)
{
	struct tcpx_ctrl *peer;
	const uint8_t *data;
	size_t n;

	assert_int_equal(tcpx_ctrl_new(&peer), 0);
	assert_int_equal(tcpx_ctrl_put(peer, type, payload, len), 0);
	n = tcpx_ctrl_pending(peer, &data);
	assert_in_range(n, 1, sizeof(w->stream.came));
	memcpy(w->stream.came, data, n);
	w->stream.came_len = n;
	tcpx_ctrl_free(peer);
}

/* What a process sends last, and closes, can be read after a send has failed. */
TEST(a_write_that_fails_cuts_the_stream_once_all_is_read)
{
	static const struct {
		int sends, reads;
		bool closed;
	} ends[] = { { -EPIPE, 0, true },
		     { -EPIPE, -EAGAIN, true },
		     { -EPIPE, -ECONNRESET, true },
		     { -ECONNRESET, 0, false },
		     { -ETIMEDOUT, -EAGAIN, false } };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct world w;
		struct session *s = begin(&w);

		w.stream.error = ends[i].sends;
		w.stream.end = ends[i].reads;
		arrives(&w, TCPX_FR_MATCHED, "12345678", 8);
		tcpx_control_say_u64(s, TCPX_FR_MATCHED, 7);
		tcpx_control_flush(s);
		tcpx_control_flush(s);
		assert_int_equal(w.stream.calls, 1); /* the frame waits for the next connection */
		assert_int_equal(w.stream.closed, 0);
		assert_true(s->control.read_work.queued);
		assert_int_equal(bare_works(&w.b.loop[0]), 1);
		tcpx_control_read_work(&s->control.read_work, w.b.now_ns);
		assert_int_equal(heard, 1);
		assert_int_equal(w.stream.closed, 1);
		assert_null(s->control.line.stream);
		assert_int_equal(s->control.closed, ends[i].closed);
		assert_int_equal(s->state, SESS_OPEN);
		assert_int_equal(s->control.cut_ns, w.b.now_ns);
		assert_true(s->work.queued); /* its loop connects again */
		(void)bare_works(&w.b.loop[0]);
		bare_close(&w.b);
	}
}

/* The stream alone was reset, for bytes that the process had not read. Refusals every 20 ms. */
TEST(a_channel_that_was_closed_with_the_stream_shows_that_the_process_ended)
{
	static const struct {
		int apart_ms; /* of the channel's end from the cut; 0: none was closed */
		uint64_t proven_ms;
	} rows[] = { { 0, 2500 }, { 1, 500 }, { -100, 500 }, { -101, 2500 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world w;
		struct session *s = begin(&w);
		uint64_t cut_ns = w.b.now_ns + TCPX_SEC, ms = 0;

		w.b.e.limit.stall_ns = 10 * TCPX_SEC;
		s->control.cut_ns = cut_ns;
		if (rows[i].apart_ms)
			s->chan.closed_ns = cut_ns + (uint64_t)rows[i].apart_ms * TCPX_MS;
		while (!tcpx_control_misses_peer(s, -ECONNREFUSED, 1, cut_ns + ms * TCPX_MS))
			ms += 20;
		assert_int_equal(ms, rows[i].proven_ms);
		assert_int_equal(s->cause, TCPX_EPEERGONE);
		(void)bare_works(&w.b.loop[0]);
		bare_close(&w.b);
	}
}

/* A frame of the peer that waits for the next turn is read though a send fails before. */
TEST(what_waits_for_its_turn_is_read_after_a_failed_write)
{
	struct world w;
	struct session *s = begin(&w);

	w.stream.error = -ECONNRESET;
	arrives(&w, TCPX_FR_MATCHED, "12345678", 8);
	w.b.e.limit.turn_cost = 0;
	tcpx_control_ready(&s->source, TCPX_READABLE, w.b.now_ns);
	tcpx_control_say_u64(s, TCPX_FR_MATCHED, 7);
	tcpx_control_flush(s);
	assert_int_equal(w.stream.calls, 1);
	assert_int_equal(heard, 0);
	w.b.e.limit.turn_cost = 1000;
	tcpx_control_read_work(&s->control.read_work, w.b.now_ns);
	assert_int_equal(heard, 1);
	assert_int_equal(w.stream.closed, 1);
	assert_false(s->control.closed);
	(void)bare_works(&w.b.loop[0]);
	bare_close(&w.b);
}

/* The peer shows with RESUMED that it is the peer, so nothing counts before. */
TEST(a_numbered_frame_is_taken_after_the_answer_to_a_resume_alone)
{
	struct listeners none = { .count = 0 };

	for (int resuming = 0; resuming < 2; resuming++) {
		struct world w;
		struct session *s = begin(&w);

		w.b.e.listeners = &none;
		s->control.resuming = resuming;
		w.stream.end = -EAGAIN;
		arrives(&w, TCPX_FR_MATCHED, "12345678", 8);
		tcpx_control_ready(&s->source, TCPX_READABLE, w.b.now_ns);
		assert_int_equal(heard, !resuming);
		assert_int_equal(s->state, resuming ? SESS_FAILED : SESS_OPEN);
		assert_int_equal(s->cause, resuming ? TCPX_EPROTO : 0);
		(void)bare_works(&w.b.loop[0]);
		bare_close(&w.b);
	}
}

/* Rows: is the connection of a failed session closed after each of three turns? */
TEST(a_closing_engine_waits_until_bye_is_acknowledged)
{
	static const struct {
		bool parting;
		size_t room; /* for the first turn, then plenty */
		int acked[3], recv[3];
		uint32_t closed[3];
	} cases[] = {
		{ false, 1 << 20, { 0, 0, 0 }, { -EAGAIN, -EAGAIN, -EAGAIN }, { 1, 1, 1 } },
		{ true, 1 << 20, { 0, 1, 1 }, { -EAGAIN, -EAGAIN, -EAGAIN }, { 0, 1, 1 } },
		{ true, 1 << 20, { 1, 1, 1 }, { -EAGAIN, -EAGAIN, -EAGAIN }, { 1, 1, 1 } },
		{ true, 3, { 1, 0, 1 }, { -EAGAIN, -EAGAIN, -EAGAIN }, { 0, 0, 1 } }, /* BYE is half written */
		{ true, 1 << 20, { -ENOTCONN, 1, 1 }, { -EAGAIN, 0, 0 }, { 1, 1, 1 } },
		{ true, 1 << 20, { 0, 0, 0 }, { -EAGAIN, 0, 0 }, { 0, 1, 1 } }, /* closed there, too */
		{ true, 1 << 20, { 0, 0, 0 }, { -ECONNRESET, 0, 0 }, { 1, 1, 1 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;
		struct session *s = begin(&w);

		w.b.e.parting = cases[i].parting;
		w.stream.room = cases[i].room;
		s->chan.open = 1; /* is listed to the test's end */
		tcpx_control_say_u64(s, TCPX_FR_BYE, 7);
		s->state = SESS_FAILED;
		for (int turn = 0; turn < 3; turn++) {
			w.stream.acked = cases[i].acked[turn];
			w.stream.came_len = 5;
			w.stream.end = cases[i].recv[turn];
			tcpx_session_work(&s->work, w.b.now_ns);
			assert_int_equal(w.stream.closed, cases[i].closed[turn]);
			w.stream.room = 1 << 20;
			if (cases[i].parting && turn == 0)
				assert_int_equal(w.stream.came_len, 0); /* dropped */
		}
		if (cases[i].parting)
			assert_int_equal(w.stream.taken, TCPX_FRAME_HEAD + 8);
		bare_close(&w.b);
	}
}
