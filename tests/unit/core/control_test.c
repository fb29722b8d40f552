/* SPDX-License-Identifier: Apache-2.0 */
/* When frames of the control stream are written, and what becomes of those that cannot be. */
#include "bare.h"

#include <errno.h>

#include "core/session/control.h"

/* A connection that takes as many bytes as the test allows. */
struct tcpx_stream {
	size_t room;
	int error;
	uint32_t calls, closed;
	size_t taken;
	unsigned interest;
};

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

static void
stream_close(struct tcpx_stream *s)
{
	s->closed++;
}

static uint32_t woken;

static void
on_writable(struct session *s)
{
	woken++;
}

static const struct session_calls calls = { .writable = on_writable };

struct world {
	struct bare b;
	struct tcpx_stream stream;
};

static struct session *
begin(struct world *w)
{
	woken = 0;
	bare_open(&w->b, true);
	w->stream = (struct tcpx_stream){ .room = 1 << 20 };
	w->b.ops.stream_send = stream_send;
	w->b.ops.stream_watch = stream_watch;
	w->b.ops.stream_close = stream_close;
	w->b.e.up.session = &calls;
	w->b.s->control.line.stream = &w->stream;
	w->b.s->control.up = true;
	w->b.s->chan.tx_up = w->b.s->chan.rx_up = 1;
	return w->b.s;
}

static void
nothing_is_written_before_the_flush(void **state)
{
	struct world w;
	struct session *s = begin(&w);

	assert_int_equal(tcpx_control_put_u64(s, TCPX_FR_MATCHED, 7), 0);
	assert_int_equal(tcpx_control_put_u64(s, TCPX_FR_MATCHED, 8), 0);
	assert_int_equal(w.stream.calls, 0);
	tcpx_control_flush(s);
	assert_int_equal(w.stream.calls, 1); /* both in one write */
	assert_true(w.stream.taken > 0);
	assert_int_equal(w.stream.interest, TCPX_READABLE);
	assert_int_equal(w.b.e.count.ctrl_frames_tx, 2);
	bare_close(&w.b);
}

static void
what_finds_no_room_waits_until_it_is_writable(void **state)
{
	struct world w;
	struct session *s = begin(&w);

	w.stream.room = 5;
	assert_int_equal(tcpx_control_put_u64(s, TCPX_FR_MATCHED, 7), 0);
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
static void
they_are_woken_though_more_waits(void **state)
{
	static const uint8_t list[1000];
	struct world w;
	struct session *s = begin(&w);

	(void)state;
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

static void
channels_that_waited_for_an_open_are_woken_once_it_has_gone(void **state)
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
static void
channels_sleep_on_while_the_open_cannot_go(void **state)
{
	struct world w;
	struct session *s = begin(&w);

	s->control.chunks_wait = true;
	assert_int_equal(tcpx_control_put_u64(s, TCPX_FR_MATCHED, 7), 0);
	tcpx_control_flush(s); /* the OPEN is not there */
	assert_int_equal(woken, 0);
	assert_true(s->control.chunks_wait);
	bare_close(&w.b);
}

static void
answers_wait_for_the_end_of_the_turn_unless_a_flush_took_them(void **state)
{
	struct world w;
	struct session *s = begin(&w);

	assert_int_equal(tcpx_control_put_u64(s, TCPX_FR_MATCHED, 7), 0);
	tcpx_control_flush_later(s);
	tcpx_control_flush_later(s);
	assert_int_equal(w.stream.calls, 0);
	tcpx_control_flush_all(&w.b.e);
	assert_int_equal(w.stream.calls, 1);
	assert_true(tcpx_chain_empty(&w.b.e.registry.to_flush));

	assert_int_equal(tcpx_control_put_u64(s, TCPX_FR_MATCHED, 8), 0);
	tcpx_control_flush_later(s);
	tcpx_control_flush(s); /* with a frame of the application's, say */
	assert_int_equal(w.stream.calls, 2);
	tcpx_control_flush_all(&w.b.e);
	assert_int_equal(w.stream.calls, 2);
	bare_close(&w.b);
}

static void
a_cancel_does_not_overtake_its_open(void **state)
{
	struct world w;
	struct session *s = begin(&w);
	uint64_t open;

	assert_int_equal(tcpx_ctrl_put_bulk(s->control.ctrl, TCPX_FR_OPEN, "", 0, &open), 0);
	assert_int_equal(tcpx_control_put_u64(s, TCPX_FR_CANCEL, 7), 0);
	tcpx_control_flush(s);
	assert_int_equal(tcpx_ctrl_bulk_written(s->control.ctrl), open + 1);
	bare_close(&w.b);
}

static void
a_write_that_fails_cuts_the_stream_and_not_the_session(void **state)
{
	struct world w;
	struct session *s = begin(&w);

	w.stream.error = -EPIPE;
	assert_int_equal(tcpx_control_put_u64(s, TCPX_FR_MATCHED, 7), 0);
	tcpx_control_flush(s);
	assert_int_equal(w.stream.closed, 1);
	assert_null(s->control.line.stream);
	assert_int_equal(s->state, SESS_OPEN);
	assert_int_equal(s->control.cut_ns, w.b.now_ns);
	assert_true(s->work.queued); /* its loop connects again */
	tcpx_control_flush(s); /* the frame waits for the next connection */
	assert_int_equal(w.stream.calls, 1);
	(void)bare_works(&w.b.loop[0]);
	bare_close(&w.b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_written_before_the_flush),
		cmocka_unit_test(what_finds_no_room_waits_until_it_is_writable),
		cmocka_unit_test(channels_that_waited_for_an_open_are_woken_once_it_has_gone),
		cmocka_unit_test(they_are_woken_though_more_waits),
		cmocka_unit_test(channels_sleep_on_while_the_open_cannot_go),
		cmocka_unit_test(answers_wait_for_the_end_of_the_turn_unless_a_flush_took_them),
		cmocka_unit_test(a_cancel_does_not_overtake_its_open),
		cmocka_unit_test(a_write_that_fails_cuts_the_stream_and_not_the_session),
	};

	return cmocka_run_group_tests_name("core/control", tests, NULL, NULL);
}
