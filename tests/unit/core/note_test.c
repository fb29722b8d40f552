/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: with data and on their own, both ways, in order, once; and the event fd. */
#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/session/note_flow.h"

#define MIB (1u << 20)
#define NOTE_MAX_BYTES 8192

static int
move_with(struct rig *r, enum tcpx_op op, size_t len, const void *note, size_t note_len)
{
	struct tcpx_desc l = { r->near.id, 0, len }, f = { r->far.far, 0, len };
	tcpx_xfer *x;
	int rc;

	rc = op == TCPX_OP_WRITE ? tcpx_write(r->to_b, &l, 1, &f, 1, note, note_len, &x) :
				   tcpx_read(r->to_b, &l, 1, &f, 1, note, note_len, &x);
	return rc ? rc : finish(x);
}

TEST_WITH(the_note_of_a_write_comes_after_its_data, rig_setup, rig_teardown)
{
	static const size_t lens[] = { 0, 10, 8192, 8193, 9 * MIB + 7 };
	struct rig *r = *state;

	rig_memory(r, 10 * MIB, 10 * MIB);
	for (uint32_t i = 0; i < 5; i++) {
		struct tcpx_desc l = { r->near.id, 0, lens[i] }, f = { r->far.far, 0, lens[i] };
		tcpx_xfer *x;

		fill(r->near.at, lens[i], 20 + i);
		assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, "here", 4, &x));
		assert_note(r->b, "anna", "here");
		assert_filled(r->far.at, lens[i], 20 + i);
		assert_ok(finish(x));
	}
	assert_no_note(r->b);
	assert_no_note(r->a);
}

TEST_WITH(the_note_of_a_read_tells_the_peer_that_it_was_read, rig_setup, rig_teardown)
{
	static const size_t lens[] = { 0, 10, 8193, 9 * MIB + 7 };
	struct rig *r = *state;

	rig_memory(r, 10 * MIB, 10 * MIB);
	for (int i = 0; i < 4; i++) {
		assert_ok(move_with(r, TCPX_OP_READ, lens[i], "read", 4));
		assert_note(r->b, "anna", "read");
		assert_filled(r->near.at, lens[i], 2);
	}
	assert_no_note(r->b);
}

TEST_WITH(notes_may_be_empty_and_no_longer_than_8_kib, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	char *big = malloc(NOTE_MAX_BYTES + 2);
	tcpx_note *n;
	size_t len;

	rig_memory(r, 20000, 20000);
	memset(big, 'x', NOTE_MAX_BYTES + 1);
	big[NOTE_MAX_BYTES + 1] = 0;
	assert_ok(tcpx_notify(r->to_b, NULL, 0));
	assert_note(r->b, "anna", "");
	assert_ok(move_with(r, TCPX_OP_WRITE, 20000, "", 0));
	assert_note(r->b, "anna", "");
	assert_ok(move_with(r, TCPX_OP_WRITE, 20000, NULL, 0));
	assert_code(tcpx_notify(r->to_b, big, NOTE_MAX_BYTES + 1), -EINVAL);
	assert_code(tcpx_notify(r->to_b, NULL, 1), -EINVAL);
	assert_code(move_with(r, TCPX_OP_WRITE, 10, big, NOTE_MAX_BYTES + 1), -EINVAL);
	assert_code(move_with(r, TCPX_OP_READ, 10, big, NOTE_MAX_BYTES + 1), -EINVAL);
	assert_no_note(r->b);
	big[NOTE_MAX_BYTES] = 0;
	assert_ok(tcpx_notify(r->to_b, big, NOTE_MAX_BYTES));
	assert_note(r->b, "anna", big);
	assert_ok(move_with(r, TCPX_OP_WRITE, 8192, big, NOTE_MAX_BYTES));
	assert_ok(tcpx_note_wait(r->b, WAIT_MS, &n));
	assert_memory_equal(tcpx_note_data(n, &len), big, NOTE_MAX_BYTES);
	tcpx_note_free(n);
	assert_filled(r->far.at, 8192, 1);
	free(big);
}

TEST_WITH(both_sides_may_notify_over_one_session, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_peer *back;

	assert_ok(tcpx_notify(r->to_b, "ping", 4));
	assert_note(r->b, "anna", "ping");
	assert_code(tcpx_peer_find(r->b, "nobody", &back), -ENOENT);
	assert_ok(tcpx_peer_find(r->b, "anna", &back));
	assert_ok(tcpx_notify(back, "pong", 4));
	assert_note(r->a, "bert", "pong");
	assert_int_equal(counters_of(r->b).sessions, 1);
	tcpx_peer_free(back);
}

/* Whose session brought the next note, which must be of a sender of this name. */
static tcpx_peer *
note_from(tcpx_engine *e, const char *name)
{
	tcpx_peer *p = NULL;
	tcpx_note *n;

	assert_ok(tcpx_note_wait(e, WAIT_MS, &n));
	assert_string_equal(tcpx_note_sender(n), name);
	assert_ok(tcpx_note_peer(e, n, &p));
	tcpx_note_free(n);
	return p;
}

TEST_WITH(a_name_is_anybodys_but_not_a_peer, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_engine *other = rig_open("anna", NULL);
	tcpx_peer *from_other = rig_connect(other, r->b), *anna, *p;

	assert_ok(tcpx_notify(r->to_b, "mine", 4));
	anna = note_from(r->b, "anna");
	assert_ok(tcpx_notify(from_other, "not mine", 8));
	p = note_from(r->b, "anna");
	assert_ptr_not_equal(p, anna);
	assert_ok(tcpx_notify(p, "to you", 6));
	assert_note(other, "bert", "to you");
	tcpx_peer_free(p);
	assert_ok(tcpx_notify(r->to_b, "mine again", 10));
	p = note_from(r->b, "anna");
	assert_ptr_equal(p, anna);
	tcpx_peer_free(p);

	/* an added peer is the one whose session brings its notes */
	p = rig_add(r->b, r->a);
	assert_ptr_equal(p, anna);
	tcpx_peer_free(p);
	tcpx_peer_free(anna);
	tcpx_peer_free(from_other);
	tcpx_close(other);
}

TEST_WITH(a_note_outlives_its_peer, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_engine *brief = rig_open("brief", NULL);
	tcpx_peer *to_b = rig_connect(brief, r->b);
	tcpx_peer *p;
	tcpx_note *n;

	assert_ok(tcpx_notify(to_b, "last", 4));
	assert_ok(tcpx_note_wait(r->b, WAIT_MS, &n));
	tcpx_peer_free(to_b);
	tcpx_close(brief);
	while (tcpx_note_peer(r->b, n, &p) == 0) {
		tcpx_peer_free(p);
		assert_code(tcpx_note_wait(r->b, 1, &(tcpx_note *){ NULL }), -EAGAIN);
	}
	assert_code(tcpx_note_peer(r->b, n, &p), -ENOENT);
	assert_string_equal(tcpx_note_sender(n), "brief");
	tcpx_note_free(n);
}

TEST_WITH(notes_keep_their_order, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	char text[16];

	for (int i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_ok(tcpx_notify(r->to_b, text, strlen(text)));
	}
	for (int i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_note(r->b, "anna", text);
	}
}

TEST_WITH(a_note_before_the_session_is_open_is_not_lost, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_engine *c = rig_open("cleo", NULL);
	tcpx_peer *p = rig_connect(c, r->b);

	assert_ok(tcpx_notify(p, "early", 5));
	assert_note(r->b, "cleo", "early");
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	assert_ok(tcpx_notify(p, "late", 4));
	assert_note(r->b, "cleo", "late");
	tcpx_peer_free(p);
	tcpx_close(c);
}

TEST_WITH(waiting_for_a_note_ends_in_time, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_note *n = NULL;

	assert_code(tcpx_note_wait(r->a, 0, &n), -EAGAIN);
	assert_code(tcpx_note_wait(r->a, 20, &n), -EAGAIN);
	assert_null(n);
}

/* Then the I/O thread keeps the waiting thread's time. */
TEST_WITH(waiting_after_much_use_ends_in_time, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_note *n = NULL;

	rig_memory(r, 4096, 4096);
	for (int round = 0; round < 5; round++) {
		uint64_t start_ns, ns;

		for (int i = 0; i < 20; i++) {
			assert_ok(move_with(r, TCPX_OP_WRITE, 10, "use", 3));
			assert_note(r->b, "anna", "use");
		}
		start_ns = tcpx_clock_now(&tcpx_clock_system);
		assert_code(tcpx_note_wait(r->a, 25, &n), -EAGAIN);
		ns = tcpx_clock_now(&tcpx_clock_system) - start_ns;
		assert_true(ns >= 25 * TCPX_MS && ns < 5 * TCPX_SEC);
	}
	assert_null(n);
}

/* More than may be on the way. None is lost, and none overtakes another. */
TEST(notes_above_the_limit_wait_for_their_turn)
{
	static const char *const few[] = { "TCPX_NOTE_LIMIT=3", NULL };
	char text[16];
	struct rig r;

	rig_begin(&r, NULL, few);
	rig_memory(&r, 10, 10);
	for (int i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_ok(tcpx_notify(r.to_b, text, strlen(text)));
	}
	assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, 10)); /* nobody else waits */
	for (int i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_note(r.b, "anna", text);
	}
	assert_no_note(r.b);
	assert_int_equal(counters_of(r.b).notes_dropped, 0);
	rig_end(&r);
}

/* Notes of 1000 bytes until no more may wait; how many went. */
static int
notify_until_full(struct rig *r)
{
	char text[1000] = "";
	int n = 0, rc;

	while ((rc = tcpx_notify(r->to_b, text, sizeof(text))) == 0)
		n++;
	assert_code(rc, TCPX_ELIMIT);
	return n;
}

TEST(as_many_notes_may_wait_again_once_they_have_gone)
{
	static const char *const few[] = { "TCPX_NOTE_LIMIT=3", NULL };
	tcpx_note *n;
	int first, again;
	struct rig r;

	rig_begin(&r, NULL, few);
	assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
	first = notify_until_full(&r);
	for (int i = 0; i < first; i++) {
		assert_ok(tcpx_note_wait(r.b, WAIT_MS, &n));
		tcpx_note_free(n);
	}
	again = notify_until_full(&r);
	assert_in_range(again, first - 4 * NOTES_AHEAD, first + 4 * NOTES_AHEAD);
	rig_end(&r);
}

#define MOVES 120 /* more than notes may be on the way */

static int
start(struct rig *r, enum tcpx_op op, size_t len, tcpx_xfer **x)
{
	struct tcpx_desc l = { r->near.id, 0, len }, f = { r->far.far, 0, len };

	return (op == TCPX_OP_READ ? tcpx_read : tcpx_write)(r->to_b, &l, 1, &f, 1, "r", 1, x);
}

TEST(a_transfer_whose_note_finds_no_room_waits)
{
	static const char *const few[] = { "TCPX_NOTE_LIMIT=3", NULL };
	static const size_t lens[] = { 10, 200000 };
	static tcpx_xfer *x[MOVES];
	struct rig r;

	rig_begin(&r, NULL, few);
	rig_memory(&r, 200000, 200000);
	for (int i = 0; i < 4; i++) { /* in a frame, and in chunks */
		enum tcpx_op op = i < 2 ? TCPX_OP_READ : TCPX_OP_WRITE;
		int open = 0;

		for (int k = 0; k < MOVES; k++)
			assert_ok(start(&r, op, lens[i % 2], &x[k]));
		assert_ok(tcpx_wait(x[0], WAIT_MS));
		assert_code(tcpx_wait(x[MOVES - 1], 20), -EAGAIN);
		for (int k = 0; k < MOVES; k++)
			open += tcpx_test(x[k]) == -EAGAIN;
		assert_true(open >= MOVES - 3 - 64);
		for (int k = 0; k < MOVES; k++)
			assert_note(r.b, "anna", "r");
		for (int k = 0; k < MOVES; k++)
			assert_ok(finish(x[k]));
		assert_no_note(r.b);
	}
	assert_int_equal(counters_of(r.b).notes_dropped, 0);
	rig_end(&r);
}

/* The peer never takes a note: the transfer ends in its time, alone, and says why. */
TEST(a_transfer_whose_note_finds_no_room_fails_in_time)
{
	static const char *const few[] = { "TCPX_NOTE_LIMIT=1", "TCPX_STALL_MS=1000", NULL };
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	tcpx_xfer *x = NULL;
	struct rig r;

	rig_begin(&r, few, few);
	rig_memory(&r, 10, 10);
	for (int k = 0; k < 70; k++)
		assert_ok(tcpx_notify(r.to_b, "n", 1));
	for (int i = 0; i < 2; i++) {
		assert_ok(start(&r, i ? TCPX_OP_READ : TCPX_OP_WRITE, 10, &x));
		assert_code(tcpx_wait(x, WAIT_MS), TCPX_ESTALLED);
		assert_ok(tcpx_xfer_query(x, &info));
		assert_non_null(strstr(info.cause, "the note waits for room at the peer"));
		tcpx_xfer_free(x);
		assert_ok(rig_move(&r, i ? TCPX_OP_READ : TCPX_OP_WRITE, 0, 0, 10));
	}
	rig_end(&r);
}

/* ---- the event fd ---- */

static bool
readable(int fd, int timeout_ms)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, timeout_ms) == 1;
}

TEST_WITH(the_event_fd_is_readable_while_something_is_unseen, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l, f;
	tcpx_xfer *x, *y;
	int fd;

	rig_memory(r, MIB, MIB);
	l = (struct tcpx_desc){ r->near.id, 0, MIB };
	f = (struct tcpx_desc){ r->far.far, 0, MIB };
	assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
	assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, "n", 1, &y));
	assert_note(r->b, "anna", "n");
	fd = tcpx_event_fd(r->a);
	assert_in_range(fd, 0, 1 << 20);
	assert_int_equal(tcpx_event_fd(r->a), fd);
	assert_true(readable(fd, WAIT_MS));
	assert_true(readable(fd, 0));
	assert_ok(tcpx_wait(x, WAIT_MS));
	assert_ok(tcpx_test(x));
	assert_true(readable(fd, WAIT_MS)); /* y has not been looked at */
	tcpx_xfer_free(y);
	assert_false(readable(fd, 0));
	tcpx_xfer_free(x);
	assert_false(readable(fd, 0));
}

TEST_WITH(a_note_makes_the_event_fd_readable_until_taken, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int fd = tcpx_event_fd(r->b);

	assert_false(readable(fd, 0));
	assert_ok(tcpx_notify(r->to_b, "1", 1));
	assert_ok(tcpx_notify(r->to_b, "2", 1));
	assert_true(readable(fd, WAIT_MS));
	assert_note(r->b, "anna", "1");
	assert_true(readable(fd, WAIT_MS));
	assert_note(r->b, "anna", "2");
	assert_false(readable(fd, 0));
}

TEST_WITH(an_end_nobody_looked_at_is_forgotten_by_the_next_post, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l, f;
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };
	tcpx_list *ll, *fl;
	tcpx_xfer *x;
	int fd = tcpx_event_fd(r->a);

	rig_memory(r, MIB, MIB);
	l = (struct tcpx_desc){ r->near.id, 0, MIB };
	f = (struct tcpx_desc){ r->far.far, 0, MIB };
	assert_ok(tcpx_list_prepare(r->a, &l, 1, &ll));
	assert_ok(tcpx_list_prepare(r->a, &f, 1, &fl));
	assert_ok(tcpx_xfer_prepare(r->to_b, TCPX_OP_WRITE, ll, fl, &x));
	for (int i = 0; i < 5; i++) {
		assert_ok(tcpx_xfer_post(x, NULL, 0));
		assert_true(readable(fd, WAIT_MS));
		do /* the descriptor may be a moment early; a query is no look */
			assert_ok(tcpx_xfer_query(x, &info));
		while (info.status == -EAGAIN);
	}
	assert_ok(tcpx_test(x));
	assert_false(readable(fd, 0));
	tcpx_xfer_free(x);
	tcpx_list_free(ll);
	tcpx_list_free(fl);
}
