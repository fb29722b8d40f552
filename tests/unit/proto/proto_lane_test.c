/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a lane's two ends. */
#include "base_test.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "proto/lane.h"

TEST(test_words)
{
	uint64_t w = tcpx_lane_word(true, TCPX_LANES_MAX) | TCPX_LANE_SEQ;

	assert_int_equal(w, UINT64_MAX);
	assert_int_equal(tcpx_lane_number(w), TCPX_LANES_MAX);
	assert_int_equal(tcpx_lane_seq(w), TCPX_LANE_SEQ);
	w = tcpx_lane_word(false, 1) | 7;
	assert_true(tcpx_lane_is(w) && !(w >> 63));
	assert_int_equal(tcpx_lane_number(w), 1);
	assert_int_equal(tcpx_lane_seq(w), 7);
	assert_false(tcpx_lane_is(1ull << 63 | 12345));
}

TEST(test_a_ring_holds_no_more_than_its_slots)
{
	struct tcpx_lane_ring r = { 0 };
	uint64_t seq;

	for (uint64_t i = 1; i <= TCPX_LANE_SLOTS; i++) {
		assert_int_equal(tcpx_lane_ring_post(&r, &seq), 0);
		assert_int_equal(seq, i);
	}
	assert_int_equal(tcpx_lane_ring_post(&r, &seq), TCPX_ELIMIT);
	assert_int_equal(tcpx_lane_ring_open(&r), TCPX_LANE_SLOTS);
	for (uint64_t i = TCPX_LANE_SLOTS; i > 1; i--) {
		tcpx_lane_ring_finish(&r, i);
		assert_int_equal(tcpx_lane_ring_open(&r), i - 1);
	}
	assert_int_equal(tcpx_lane_ring_post(&r, &seq), TCPX_ELIMIT); /* the oldest is open */
	tcpx_lane_ring_finish(&r, 1);
	assert_int_equal(r.done, TCPX_LANE_SLOTS);
	assert_int_equal(tcpx_lane_ring_open(&r), 0);
	assert_int_equal(tcpx_lane_ring_post(&r, &seq), 0);
	assert_true(tcpx_lane_ring_has(&r, seq));
	assert_false(tcpx_lane_ring_has(&r, seq - 1));
	assert_false(tcpx_lane_ring_has(&r, seq + 1));
}

TEST(test_a_lane_streams_until_it_is_empty)
{
	struct tcpx_lane_tx t = { .announced = 0 };
	uint64_t seq;

	for (uint64_t i = 1; i <= 5; i++) {
		assert_int_equal(tcpx_lane_send(&t, &seq), 0);
		assert_int_equal(seq, i);
		assert_int_equal(t.streams, i > TCPX_LANE_FEW);
	}
	for (uint64_t i = 1; i <= 4; i++)
		tcpx_lane_ring_finish(&t.ring, i);
	assert_int_equal(tcpx_lane_send(&t, &seq), 0);
	assert_true(t.streams); /* two are open */
	tcpx_lane_ring_finish(&t.ring, 5);
	tcpx_lane_ring_finish(&t.ring, 6);
	assert_int_equal(tcpx_lane_send(&t, &seq), 0);
	assert_false(t.streams);
	assert_int_equal(tcpx_lane_send(&t, &seq), 0);
	assert_false(t.streams);
}

TEST(test_announcements_in_turn)
{
	uint64_t len[TCPX_LANE_SLOTS] = { 10, 20, 30 }, seq, room;
	struct tcpx_lane_tx t = { .announced = 0 };

	assert_int_equal(tcpx_lane_announced(&t, 2, len, 1), TCPX_EPROTO);
	assert_int_equal(tcpx_lane_announced(&t, 1, len, 3), 0);
	assert_int_equal(tcpx_lane_announced(&t, 3, len, 1), TCPX_EPROTO);
	assert_int_equal(tcpx_lane_announced(&t, 4, len, 0), 0);
	assert_int_equal(tcpx_lane_announced(&t, 4, len, TCPX_LANE_SLOTS - 2), TCPX_EPROTO);
	assert_false(tcpx_lane_next(&t, &seq, &room)); /* none is posted */
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(tcpx_lane_ring_post(&t.ring, &seq), 0);
		assert_true(tcpx_lane_next(&t, &seq, &room));
		assert_int_equal(seq, i);
		assert_int_equal(room, 10 * i);
		tcpx_lane_launched(&t);
	}
	assert_int_equal(tcpx_lane_ring_post(&t.ring, &seq), 0);
	assert_true(tcpx_lane_next(&t, &seq, &room));
	assert_int_equal(room, TCPX_LANE_UNKNOWN);
	tcpx_lane_launched(&t); /* before its receive is announced */
	assert_int_equal(tcpx_lane_announced(&t, 4, len, TCPX_LANE_SLOTS), 0);
	assert_int_equal(tcpx_lane_announced(&t, 4 + TCPX_LANE_SLOTS, len, 1), 0);
	assert_int_equal(tcpx_lane_announced(&t, 5 + TCPX_LANE_SLOTS, len, 1), TCPX_EPROTO);
	assert_true(tcpx_lane_near(&t, 4 + 2 * TCPX_LANE_SLOTS));
	assert_false(tcpx_lane_near(&t, 5 + 2 * TCPX_LANE_SLOTS));
}

TEST(test_a_receiver_finishes_what_has_gone)
{
	static const struct {
		uint64_t done, finished, first_open;
		int rc;
	} cases[] = {
		{ 0, 0, 1, 0 },           { 2, 0, 3, 0 },
		{ 3, 0, 4, 0 },           { 4, 0, 0, TCPX_EPROTO },
		{ 1, 1 << 3, 2, 0 },      { 1, 1 << 4, 0, TCPX_EPROTO },
		{ 0, 1 << 2, 1, 0 },      { 0, 1, 0, TCPX_EPROTO },
		{ UINT64_MAX, 0, 0, TCPX_EPROTO },
	};
	const struct tcpx_lane_tx t = { .ring = { .posted = 5 }, .launched = 3 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tcpx_lane_ring there;

		assert_int_equal(tcpx_lane_finished(&t, cases[i].done, cases[i].finished, &there),
				 cases[i].rc);
		for (uint64_t seq = 1; cases[i].rc == 0 && seq <= 3; seq++)
			assert_int_equal(tcpx_lane_ring_has(&there, seq),
					 seq >= cases[i].first_open &&
						 !(cases[i].finished >> seq & 1));
	}
}

/* Chunks that no sender may send, of a message for a receive of 10000 bytes. */
TEST(test_chunks_that_do_not_fit)
{
	static const struct {
		const char *what;
		uint64_t seq, offset;
		bool last;
		uint32_t len;
		int want;
	} row[] = {
		{ "the whole receive", 1, 0, true, 10000, 0 },
		{ "less", 1, 0, true, 1, 0 },
		{ "nothing", 1, 0, true, 0, 0 },
		{ "a first chunk", 1, 0, false, 8192, 0 },
		{ "a last one", 1, 8192, true, 1808, 0 },
		{ "one byte too many", 1, 0, true, 10001, TCPX_ELENGTH },
		{ "a last one too long", 1, 8192, true, 1809, TCPX_ELENGTH },
		{ "one behind the end", 1, 12288, true, 1, TCPX_ELENGTH },
		{ "far behind the end", 1, TCPX_LANE_LEN_MAX - 4096, true, 4096, TCPX_ELENGTH },
		{ "not in units", 1, 0, false, 100, TCPX_EFRAME },
		{ "empty, not last", 1, 0, false, 0, TCPX_EFRAME },
		{ "empty, behind others", 1, 4096, true, 0, TCPX_EFRAME },
		{ "not announced", 2, 0, true, 1, TCPX_EFRAME },
		{ "never posted", 3, 0, true, 1, TCPX_EFRAME },
		{ "message 0", 0, 0, true, 1, TCPX_EFRAME },
		{ "its namesake, 64 on", 65, 0, true, 1, TCPX_EFRAME },
	};
	struct tcpx_lane_rx r = { .announced = 0 };
	uint64_t seq, first, len[TCPX_LANE_SLOTS];

	assert_int_equal(tcpx_lane_receive(&r, 10000, &seq), 0);
	assert_int_equal(tcpx_lane_tell(&r, &first, len), 1);
	assert_int_equal(tcpx_lane_receive(&r, 10000, &seq), 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint32_t chunk = tcpx_lane_chunk(row[i].offset, row[i].last);
		int rc = tcpx_lane_fits(&r, row[i].seq, chunk, row[i].len);

		if (rc != row[i].want)
			fail_msg("%s: %d, not %d", row[i].what, rc, row[i].want);
	}
	assert_int_equal(tcpx_lane_receive(&r, TCPX_LANE_LEN_MAX + 1, &seq), -EINVAL);
}

TEST(test_chunks_that_contradict)
{
	struct tcpx_lane_rx r = { .announced = 0 };
	uint64_t seq, first, len[TCPX_LANE_SLOTS];

	assert_int_equal(tcpx_lane_receive(&r, 1 << 20, &seq), 0);
	(void)tcpx_lane_tell(&r, &first, len);
	assert_int_equal(tcpx_lane_applied(&r, 1, tcpx_lane_chunk(8192, true), 5), 0);
	assert_int_equal(tcpx_lane_fits(&r, 1, tcpx_lane_chunk(4096, true), 5), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_fits(&r, 1, tcpx_lane_chunk(8192, false), 4096), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_applied(&r, 1, tcpx_lane_chunk(0, false), 4096), 0);
	assert_int_equal(tcpx_lane_applied(&r, 1, tcpx_lane_chunk(4096, false), 4096), 1);
	tcpx_lane_ring_finish(&r.ring, 1);
	assert_int_equal(tcpx_lane_fits(&r, 1, tcpx_lane_chunk(0, true), 5), TCPX_EFRAME);
}

/* Chunks come for a message that a frame has brought, and more of them than the message has. */
TEST(test_chunks_beyond_their_message)
{
	struct tcpx_lane_rx r = { .announced = 0 };
	uint64_t seq, first, len[TCPX_LANE_SLOTS];

	for (int i = 0; i < 2; i++)
		assert_int_equal(tcpx_lane_receive(&r, 1 << 20, &seq), 0);
	(void)tcpx_lane_tell(&r, &first, len);
	assert_int_equal(tcpx_lane_early(&r, 1, true), 0);
	tcpx_lane_ring_finish(&r.ring, 1);
	assert_int_equal(tcpx_lane_fits(&r, 1, tcpx_lane_chunk(0, true), 5), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_applied(&r, 2, tcpx_lane_chunk(0, false), 4096), 0);
	assert_int_equal(tcpx_lane_applied(&r, 2, tcpx_lane_chunk(0, false), 4096), 0);
	assert_int_equal(tcpx_lane_applied(&r, 2, tcpx_lane_chunk(4096, true), 5), TCPX_EFRAME);
}

TEST(test_announcements_end_with_the_numbers)
{
	static const uint64_t len[2] = { 1, 1 };
	struct tcpx_lane_tx t = { .announced = TCPX_LANE_SEQ - 1, .launched = TCPX_LANE_SEQ - 1 };

	assert_int_equal(tcpx_lane_announced(&t, TCPX_LANE_SEQ, len, 2), TCPX_EPROTO);
	assert_int_equal(tcpx_lane_announced(&t, TCPX_LANE_SEQ, len, 1), 0);
	assert_int_equal(tcpx_lane_announced(&t, TCPX_LANE_SEQ + 1, len, 1), TCPX_EPROTO);
}

static void
post_many(struct tcpx_lane_rx *r, int count)
{
	uint64_t seq;

	while (count-- > 0)
		assert_int_equal(tcpx_lane_receive(r, 1 << 20, &seq), 0);
}

/* A sender of small messages does not wait for announcements; the first large one ends that. */
TEST(test_receives_of_small_messages_are_announced_later)
{
	struct tcpx_lane_rx r = { .announced = 0 };
	uint64_t first, len[TCPX_LANE_SLOTS];

	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOT);
	for (uint64_t seq = 1; seq <= 8; seq++) {
		post_many(&r, 1);
		assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOW);
		assert_int_equal(tcpx_lane_early(&r, seq, false), 0);
		tcpx_lane_ring_finish(&r.ring, seq);
		assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOT);
	}
	post_many(&r, 1);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_SOON);
	post_many(&r, 22);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_SOON);
	post_many(&r, 1);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOW);
	assert_int_equal(tcpx_lane_tell(&r, &first, len), 32);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOT);
	assert_int_equal(tcpx_lane_applied(&r, 9, tcpx_lane_chunk(0, true), 100000), 1);
	for (uint64_t seq = 9; seq <= 30; seq++)
		tcpx_lane_ring_finish(&r.ring, seq);
	post_many(&r, 1);
	assert_int_equal(tcpx_lane_due(&r), TCPX_LANE_NOW);
}

/* Eight in a row by channels make a lane large; one that is not, or that comes in a frame, ends that. */
TEST(test_lanes_of_large_messages)
{
	static const struct {
		uint32_t len;
		bool frame, large;
	} row[] = {
		{ TCPX_LANE_LARGE + 1, false, true }, { TCPX_LANE_LARGE + 1, false, true },
		{ TCPX_LANE_LARGE, false, false },    { 1 << 20, false, true },
		{ 100, true, false },                 { 1 << 20, false, true },
	};
	struct tcpx_lane_rx r = { .announced = 0 };
	uint64_t first, len[TCPX_LANE_SLOTS], seq = 0;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		for (int k = 0; k < (row[i].large ? 8 : 1); k++) {
			post_many(&r, 1);
			(void)tcpx_lane_tell(&r, &first, len);
			seq++;
			if (row[i].frame)
				assert_int_equal(tcpx_lane_early(&r, seq, true), 0);
			else
				assert_int_equal(tcpx_lane_applied(&r, seq, tcpx_lane_chunk(0, true),
								   row[i].len), 1);
			tcpx_lane_ring_finish(&r.ring, seq);
			if (i > 0 && row[i - 1].large)
				assert_int_equal(tcpx_lane_is_large(&r), row[i].large);
			else
				assert_int_equal(tcpx_lane_is_large(&r), k == 7);
		}
	}
}

/* What may come before its receive is known, with five receives posted and three of them announced. The
 * first is whole, the second has begun by a channel, and message @kept is here or on its way. */
TEST(test_early_messages_out_of_turn)
{
	static const struct {
		const char *what;
		uint64_t kept, seq;
		bool known;
		int want;
	} row[] = {
		{ "one that is announced", 9, 3, true, 0 },
		{ "... on credit", 9, 3, false, 0 },
		{ "one that is posted", 9, 4, false, 0 },
		{ "... said to be announced", 9, 4, true, TCPX_EPROTO },
		{ "the next to be posted", 9, 6, false, 0 },
		{ "... said to be announced", 9, 6, true, TCPX_EPROTO },
		{ "one that overtakes others", 9, 8, false, 0 },
		{ "one that is overtaken", 9, 7, false, 0 },
		{ "the farthest", 9, 67, false, 0 },
		{ "one too far", 9, 68, false, TCPX_EPROTO },
		{ "the same again", 9, 9, false, TCPX_EPROTO },
		{ "what is coming to its receive", 3, 3, false, TCPX_EPROTO },
		{ "... by a frame, too", 3, 3, true, TCPX_EPROTO },
		{ "64 ahead of what is coming to its receive", 3, 67, false, TCPX_EPROTO },
		{ "one that is whole", 9, 1, true, TCPX_EPROTO },
		{ "one that has begun", 9, 2, true, TCPX_EPROTO },
		{ "message 0", 9, 0, true, TCPX_EPROTO },
		{ "far away", 9, TCPX_LANE_SEQ, false, TCPX_EPROTO },
	};
	struct tcpx_lane_rx r = { .announced = 0 }, now;
	uint64_t seq, first, len[TCPX_LANE_SLOTS];

	for (int i = 0; i < 5; i++) {
		assert_int_equal(tcpx_lane_receive(&r, 10000, &seq), 0);
		if (i == 2)
			(void)tcpx_lane_tell(&r, &first, len);
	}
	assert_int_equal(tcpx_lane_applied(&r, 1, TCPX_LANE_LAST, 5), 1);
	tcpx_lane_ring_finish(&r.ring, 1);
	assert_int_equal(tcpx_lane_applied(&r, 2, 0, 4096), 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int rc;

		now = r;
		now.kept = 1ull << row[i].kept;
		rc = tcpx_lane_early(&now, row[i].seq, row[i].known);
		if (rc != row[i].want || !tcpx_lane_keeps(&now, row[i].kept) ||
		    (rc == 0 && tcpx_lane_keeps(&now, row[i].seq) != (row[i].seq > 5)))
			fail_msg("%s: %d, not %d", row[i].what, rc, row[i].want);
		tcpx_lane_forget(&now, row[i].kept);
		assert_false(tcpx_lane_keeps(&now, row[i].kept));
	}
}

/* On credit a chunk may come for a receive that is not announced, and only one. */
TEST(test_an_early_chunk_and_its_receive)
{
	const uint32_t whole = TCPX_LANE_LAST | TCPX_LANE_EARLY;
	struct tcpx_lane_rx r = { .announced = 0 };
	uint64_t seq;

	assert_int_equal(tcpx_lane_offset(whole), 0);
	assert_int_equal(tcpx_lane_receive(&r, 1000, &seq), 0);
	assert_int_equal(tcpx_lane_fits(&r, 1, TCPX_LANE_LAST, 1000), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_fits(&r, 1, whole, 1001), TCPX_ELENGTH);
	assert_int_equal(tcpx_lane_fits(&r, 2, whole, 1000), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_applied(&r, 1, whole, 1000), 1);
	assert_int_equal(tcpx_lane_applied(&r, 1, whole, 1000), TCPX_EFRAME);
	assert_int_equal(tcpx_lane_early(&r, 1, false), TCPX_EPROTO);
}
