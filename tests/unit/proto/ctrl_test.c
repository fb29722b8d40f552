/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control stream without a connection: order, acknowledgements, refusals. Memory is in
 * ctrl_memory_test.c, breaking and resuming in ctrl_wire_test.c.
 */
#include <errno.h>

#include "ctrl_pipe.h"

/* ---- order ------------------------------------------------------------------------- */

TEST(urgent_frames_overtake_waiting_bulk)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	char types[64];

	for (int i = 0; i < 10; i++)
		bulk_ok(a, TCPX_FR_LIST, 15000);
	move(a, b, 1); /* three are in the log by now: two fill TCPX_CTRL_AHEAD */
	put_ok(a, TCPX_FR_DONE, 10);
	assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_PING, NULL, 0), 0);
	take_types(a, b, types, sizeof(types));
	assert_string_equal(types, "LPLLDLLLLLLL"); /* raw: behind the frame that was begun */
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

TEST(tickets_tell_when_bulk_is_written)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	uint64_t ticket;

	for (uint64_t i = 1; i <= 3; i++) {
		put_ok(a, TCPX_FR_DONE, 0);
		assert_int_equal(tcpx_ctrl_put_bulk(a, TCPX_FR_OPEN, zeros, 80, &ticket), 0);
		assert_int_equal(ticket, i);
	}
	/* the urgent ones came first: 3 of 20 bytes, then 3 of 100 */
	move(a, b, 159);
	assert_int_equal(tcpx_ctrl_bulk_written(a), 0);
	move(a, b, 1);
	assert_int_equal(tcpx_ctrl_bulk_written(a), 1);
	move(a, b, 150);
	assert_int_equal(tcpx_ctrl_bulk_written(a), 2);
	tcpx_ctrl_cut(a);
	tcpx_ctrl_cut(b);
	assert_int_equal(tcpx_ctrl_resume(a, 0), 0);
	assert_int_equal(tcpx_ctrl_bulk_written(a), 2); /* to some connection */
	move(a, b, SIZE_MAX);
	assert_int_equal(tcpx_ctrl_bulk_written(a), 3);
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

TEST(raw_frames_come_first_and_die_with_their_connection)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	char types[16];

	put_ok(a, TCPX_FR_READY, 16);
	assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_HELLO, zeros, 100), 0);
	take_types(a, b, types, sizeof(types));
	assert_string_equal(types, "HR");
	assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_PING, NULL, 0), 0);
	put_ok(a, TCPX_FR_DONE, 16);
	tcpx_ctrl_cut(a);
	tcpx_ctrl_cut(b);
	assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_RESUME, zeros, 60), 0);
	take_types(a, b, types, sizeof(types));
	assert_string_equal(types, "R"); /* numbered ones wait for resume() */
	assert_int_equal(tcpx_ctrl_resume(a, 1), 0);
	take_types(a, b, types, sizeof(types));
	assert_string_equal(types, "D");
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

TEST(cut_before_the_first_frame_holds_nothing_back)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	char types[16];

	put_ok(a, TCPX_FR_READY, 16);
	assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_HELLO, zeros, 100), 0);
	move(a, b, 120);
	move(a, b, 10);
	tcpx_ctrl_cut(a);
	tcpx_ctrl_cut(b);
	assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_HELLO, zeros, 100), 0);
	take_types(a, b, types, sizeof(types));
	assert_string_equal(types, "HR");
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

/* ---- acks -------------------------------------------------------------------------- */

TEST(acks_are_due_after_64_frames_or_256_kib)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	char types[128];

	for (int i = 0; i < 63; i++)
		put_ok(a, TCPX_FR_NOTE, 0);
	assert_false(tcpx_ctrl_ack_owed(b));
	take_types(a, b, types, sizeof(types));
	assert_true(tcpx_ctrl_ack_owed(b));
	assert_false(tcpx_ctrl_ack_due(b));
	put_ok(a, TCPX_FR_NOTE, 0);
	take_types(a, b, types, sizeof(types));
	assert_true(tcpx_ctrl_ack_due(b));
	assert_int_equal(tcpx_ctrl_put_ack(b), 0);
	assert_false(tcpx_ctrl_ack_due(b));
	assert_false(tcpx_ctrl_ack_owed(b));
	for (int i = 0; i < 17; i++) {
		assert_false(tcpx_ctrl_ack_due(b));
		put_ok(a, TCPX_FR_NOTE, 16000);
		take_types(a, b, types, sizeof(types));
	}
	assert_true(tcpx_ctrl_ack_due(b));
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

TEST(ack_and_what_stands_behind_it_are_one_write)
{
	const size_t ack = TCPX_FRAME_HEAD + 8, both = ack + TCPX_FRAME_HEAD + 10;
	char types[16];

	/* taken whole, or cut anywhere */
	for (size_t first = 0; first <= both; first++) {
		struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
		const uint8_t *data;

		put_ok(b, TCPX_FR_NOTE, 0);
		take_types(b, a, types, sizeof(types));
		assert_int_equal(tcpx_ctrl_put_ack(a), 0);
		put_ok(a, TCPX_FR_DONE, 10);
		assert_int_equal(tcpx_ctrl_pending(a, &data), both);
		assert_int_equal(move(a, b, first), first);
		take_types(a, b, types, sizeof(types));
		assert_string_equal(types, "D");
		assert_int_equal(tcpx_ctrl_pending(a, &data), 0);
		tcpx_ctrl_free(a);
		tcpx_ctrl_free(b);
	}
}

TEST(ack_made_newer_while_one_is_written_is_another)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	const uint8_t *data;
	char types[16];
	size_t len;

	put_ok(b, TCPX_FR_NOTE, 0);
	take_types(b, a, types, sizeof(types));
	assert_int_equal(tcpx_ctrl_put_ack(a), 0);
	put_ok(a, TCPX_FR_DONE, 10);
	len = tcpx_ctrl_pending(a, &data);
	assert_int_equal(tcpx_ctrl_put_ack(a), 0);
	tcpx_ctrl_written(a, len);
	assert_int_equal(tcpx_ctrl_pending(a, &data), TCPX_FRAME_HEAD + 8);
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

TEST(ack_that_waits_is_made_newer)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	const uint8_t *data;
	char types[16];

	for (int i = 0; i < 10; i++) {
		put_ok(a, TCPX_FR_NOTE, 0);
		take_types(a, b, types, sizeof(types));
		assert_int_equal(tcpx_ctrl_put_ack(b), 0);
	}
	assert_int_equal(tcpx_ctrl_pending(b, &data), TCPX_FRAME_HEAD + 8);
	assert_int_equal(data[TCPX_FRAME_HEAD + 7], 10);
	take_types(b, a, types, sizeof(types));
	assert_string_equal(types, ""); /* used up inside */
	tcpx_ctrl_cut(a);
	assert_int_equal(tcpx_ctrl_resume(a, 9), TCPX_EPROTO); /* 10 was acknowledged */
	assert_int_equal(tcpx_ctrl_resume(a, 11), TCPX_EPROTO);
	assert_int_equal(tcpx_ctrl_resume(a, 10), 0);
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

/* ---- refusals ---------------------------------------------------------------------- */

/* Feeds a frame as the peer would send it. */
static int
feed(struct tcpx_ctrl *c, uint8_t type, uint64_t number, const void *payload, size_t len)
{
	struct tcpx_frame_head h;
	const uint8_t *got;
	uint8_t *room;

	assert_true(tcpx_ctrl_room(c, &room) >= TCPX_FRAME_HEAD + len);
	tcpx_frame_head_write(room, type, number, (uint32_t)len);
	memcpy(room + TCPX_FRAME_HEAD, payload, len);
	tcpx_ctrl_arrived(c, TCPX_FRAME_HEAD + len);
	return tcpx_ctrl_next(c, &h, &got);
}

static const struct {
	const char *name;
	uint8_t type;
	uint64_t number;
	uint8_t payload[9];
	size_t len;
	int rc;
} feed_cases[] = { /* after numbers 1 and 2 have come, and one frame has gone */
	{ "the next", TCPX_FR_NOTE, 3, "", 0, 1 },
	{ "seen before", TCPX_FR_NOTE, 2, "", 0, 0 },
	{ "a gap", TCPX_FR_NOTE, 4, "", 0, TCPX_EPROTO },
	{ "without a number", TCPX_FR_NOTE, 0, "", 0, TCPX_EPROTO },
	{ "ping", TCPX_FR_PING, 0, "", 0, 1 },
	{ "ack of nothing", TCPX_FR_ACK, 0, { 0 }, 8, 0 },
	{ "ack of what has gone", TCPX_FR_ACK, 0, { [7] = 1 }, 8, 0 },
	{ "ack of what has not gone", TCPX_FR_ACK, 0, { [7] = 2 }, 8, TCPX_EPROTO },
	{ "short ack", TCPX_FR_ACK, 0, { 0 }, 7, TCPX_EPROTO },
	{ "long ack", TCPX_FR_ACK, 0, { 0 }, 9, TCPX_EPROTO },
	{ "no frame", 99, 0, "", 0, TCPX_EPROTO },
};

TEST(incoming_frames_follow_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(feed_cases); i++) {
		struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();

		put_ok(a, TCPX_FR_NOTE, 0);
		move(a, b, SIZE_MAX);
		put_ok(a, TCPX_FR_NOTE, 0);
		assert_int_equal(feed(a, TCPX_FR_NOTE, 1, "", 0), 1);
		assert_int_equal(feed(a, TCPX_FR_NOTE, 2, "", 0), 1);
		check(feed_cases[i].name, "rc",
		      feed(a, feed_cases[i].type, feed_cases[i].number, feed_cases[i].payload,
			   feed_cases[i].len),
		      feed_cases[i].rc);
		check(feed_cases[i].name, "received", tcpx_ctrl_received(a),
		      feed_cases[i].number == 3 ? 3 : 2);
		tcpx_ctrl_free(a);
		tcpx_ctrl_free(b);
	}
}

TEST(ack_ahead_of_the_writer_is_no_harm)
{
	struct tcpx_ctrl *c = ctrl_new();
	const uint8_t *data;
	char ack[8] = { 0 };

	for (int i = 0; i < 3; i++)
		put_ok(c, TCPX_FR_NOTE, 100);
	assert_int_equal(tcpx_ctrl_pending(c, &data), 360);
	ack[7] = 3;
	assert_int_equal(feed(c, TCPX_FR_ACK, 0, ack, 8), 0);
	tcpx_ctrl_written(c, 1);
	assert_int_equal(tcpx_ctrl_pending(c, &data), 0);
	put_ok(c, TCPX_FR_NOTE, 100);
	assert_int_equal(tcpx_ctrl_pending(c, &data), 120);
	assert_int_equal(data[15], 4);
	tcpx_ctrl_free(c);
}

TEST(wrong_frames_are_not_put)
{
	struct tcpx_ctrl *c = ctrl_new();
	const uint8_t *data;

	assert_int_equal(tcpx_ctrl_put(c, TCPX_FR_PING, NULL, 0), -EINVAL);
	assert_int_equal(tcpx_ctrl_put_bulk(c, TCPX_FR_ACK, NULL, 0, NULL), -EINVAL);
	assert_int_equal(tcpx_ctrl_put_raw(c, TCPX_FR_NOTE, NULL, 0), -EINVAL);
	assert_int_equal(tcpx_ctrl_put(c, TCPX_FR_NOTE, zeros, PAYLOAD_MAX + 1), TCPX_ELIMIT);
	assert_int_equal(tcpx_ctrl_pending(c, &data), 0);
	tcpx_ctrl_free(c);
}

TEST(random_bytes_are_refused_or_wait)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 200; round++) {
		struct tcpx_ctrl *c = ctrl_new();
		struct tcpx_frame_head h;
		const uint8_t *payload;
		uint8_t *room;
		int rc = 0;

		for (int i = 0; i < 20 && rc >= 0; i++) {
			size_t len = tcpx_rng_below(&rng, 400), cap = tcpx_ctrl_room(c, &room);

			check_random(seed, cap > 0);
			for (size_t k = 0; k < len && k < cap; k++)
				room[k] = tcpx_rng_below(&rng, 3) ? 0 : (uint8_t)tcpx_rng_next(&rng);
			tcpx_ctrl_arrived(c, len < cap ? len : cap);
			do
				rc = tcpx_ctrl_next(c, &h, &payload);
			while (rc == 1);
		}
		tcpx_ctrl_free(c);
	}
}

/* The stream is made wide while a payload is borrowed, which stays, as does the part of a frame behind it. */
TEST(long_frames_come_once_it_is_wide)
{
	struct tcpx_ctrl *from = ctrl_new(), *narrow = ctrl_new(), *wide = ctrl_new();
	struct tcpx_frame_head h;
	const uint8_t *payload;
	uint8_t *at;

	assert_int_equal(tcpx_ctrl_put(from, TCPX_FR_DONE, "before", 6), 0);
	assert_int_equal(tcpx_ctrl_put(from, TCPX_FR_DONE, "behind", 6), 0);
	move(from, wide, 2 * (TCPX_FRAME_HEAD + 6) - 3);
	assert_int_equal(tcpx_ctrl_next(wide, &h, &payload), 1);
	assert_int_equal(tcpx_ctrl_widen(wide), 0);
	assert_memory_equal(payload, "before", 6);
	move(from, wide, SIZE_MAX);
	assert_int_equal(tcpx_ctrl_next(wide, &h, &payload), 1);
	assert_memory_equal(payload, "behind", 6);

	assert_int_equal(tcpx_ctrl_begin(from, TCPX_FR_LANE_DATA, TCPX_LANE_DATA_MAX, &at), 0);
	memset(at, 0x5a, TCPX_LANE_DATA_MAX);
	tcpx_ctrl_commit(from, TCPX_FR_LANE_DATA, TCPX_LANE_DATA_MAX);
	while (move(from, wide, 10000))
		assert_in_range(tcpx_ctrl_next(wide, &h, &payload), 0, 1);
	assert_int_equal(h.type, TCPX_FR_LANE_DATA);
	assert_int_equal(h.len, TCPX_FRAME_HEAD + TCPX_LANE_DATA_MAX);
	assert_int_equal(payload[TCPX_LANE_DATA_MAX - 1], 0x5a);

	tcpx_ctrl_cut(from);
	assert_int_equal(tcpx_ctrl_resume(from, 0), 0);
	move(from, narrow, SIZE_MAX);
	for (int i = 0; i < 2; i++)
		assert_int_equal(tcpx_ctrl_next(narrow, &h, &payload), 1);
	assert_int_equal(tcpx_ctrl_next(narrow, &h, &payload), TCPX_EPROTO);
	tcpx_ctrl_free(from);
	tcpx_ctrl_free(narrow);
	tcpx_ctrl_free(wide);
}

int
main(void)
{
	tcpx_log_setup("NONE", NULL, NULL); /* refusals are what is tested */
	return run_cases(NULL, NULL);
}
