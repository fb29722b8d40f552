/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lies about lanes, and on them. A lie in a frame ends the session with its code, or has no effect; a lie on
 * a channel costs that channel and nothing else.
 */
#include "lane_lies.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/engine/engine.h"
#include "core/session/peer.h"
#include "proto/ctrl.h"
#include "proto/lane.h"

#define UNIT  TCPX_LANE_UNIT
#define ROOM  LANE_ROOM

/* ---- frames ---- */

TEST(in_lane_open)
{
	static const struct {
		const char *what;
		uint64_t lane;
		int want;
	} lies[] = {
		{ "lane 0", TCPX_LANE_BIT, TCPX_EPROTO },
		{ "a number left out", TCPX_LANE_BIT | 2ull << 42, TCPX_EPROTO },
		{ "the greatest number", TCPX_LANE_BIT | (uint64_t)TCPX_LANES_MAX << 42, TCPX_EPROTO },
		{ "no lane's word", 1ull << 42, TCPX_EPROTO },
		{ "a word with a message", TCPX_LANE_BIT | 1ull << 42 | 1, TCPX_EPROTO },
		{ "a lane of the host's", OURS | TCPX_LANE_BIT | 1ull << 42, TCPX_EPROTO },
		{ "a key that nobody listens by", TCPX_LANE_BIT | 1ull << 42, LIVES },
	};
	static const uint8_t key[TCPX_LANE_KEY] = { 7 };

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct liar l;

		liar_open(&l, lies_world()->host);
		say_open(&l, lies[i].lane, key);
		if (lies[i].want == LIVES)
			assert_verdict(lies[i].what, answer(&l), -ENOENT);
		judge(&l, lies[i].what, lies[i].want);
		liar_close(&l);
	}
	assert_witness_is_well();
}

/* A listener is for one sender, and a number for one lane. */
TEST(opened_twice)
{
	uint8_t key[TCPX_LANE_KEY], wrong[TCPX_LANE_KEY];
	tcpx_lane *lane;
	struct liar l;

	assert_ok(tcpx_lane_listen(lies_world()->host, key, &lane));
	liar_open(&l, lies_world()->host);
	memcpy(wrong, key, sizeof(wrong));
	wrong[TCPX_LANE_KEY - 1] ^= 1;
	say_open(&l, word(1), wrong);
	assert_verdict("a bit of the key wrong", answer(&l), -ENOENT);
	say_open(&l, word(2), key);
	assert_verdict("the right key", answer(&l), 0);
	say_open(&l, word(3), key);
	assert_verdict("the same key again", answer(&l), -ENOENT);
	assert_ok(tcpx_lane_ready(lane));
	say_open(&l, word(2), key);
	assert_verdict("a number again", liar_verdict(&l, 0), TCPX_EPROTO);
	liar_close(&l);
	tcpx_lane_close(lane);
	assert_witness_is_well();
}

TEST(in_lane_post)
{
	static const struct {
		const char *what;
		uint64_t lane, first, len;
		uint16_t count;
		int want;
	} lies[] = {
		{ "64 receives", OURS | 1, 1, UNIT, 64, LIVES },
		{ "65 receives", OURS | 1, 1, UNIT, 65, TCPX_EPROTO },
		{ "receives that begin at 0", OURS | 1, 0, UNIT, 1, TCPX_EPROTO },
		{ "receives left out", OURS | 1, 2, UNIT, 1, TCPX_EPROTO },
		{ "receives at the end of numbers", OURS | 1, UINT64_MAX, UNIT, 1, TCPX_EPROTO },
		{ "none, at another place", OURS | 1, 5, UNIT, 0, TCPX_EPROTO },
		{ "a longer one than there is", OURS | 1, 1, TCPX_LANE_LEN_MAX + 1, 1, TCPX_EPROTO },
		{ "a lane never opened", OURS | 2, 1, UNIT, 1, TCPX_EPROTO },
		{ "its own lane", 1, 1, UNIT, 1, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct spoken s;

		spoken_open(&s);
		say_posts(&s.l, (lies[i].lane & OURS) | word((uint32_t)lies[i].lane), lies[i].first,
			  lies[i].count, lies[i].len);
		judge(&s.l, lies[i].what, lies[i].want);
		if (lies[i].want == LIVES) {
			say_posts(&s.l, OURS | word(1), 65, 1, UNIT);
			assert_verdict("a 65th", liar_verdict(&s.l, 0), TCPX_EPROTO);
		}
		spoken_close(&s);
	}
	assert_witness_is_well();
}

TEST(in_lane_fail)
{
	static const struct {
		const char *what;
		uint64_t lane;
		uint8_t sending;
		int32_t code;
		int want;
	} lies[] = {
		{ "an honest one", OURS | 1, 0, TCPX_ECLOSED, LIVES },
		{ "a code that is none", OURS | 1, 0, -99999, LIVES },
		{ "code 0", OURS | 1, 0, 0, TCPX_EPROTO },
		{ "an end that is none", OURS | 1, 2, TCPX_ECLOSED, TCPX_EPROTO },
		{ "the host's end", OURS | 1, 1, TCPX_ECLOSED, TCPX_EPROTO },
		{ "a lane never opened", OURS | 2, 0, TCPX_ECLOSED, TCPX_EPROTO },
		{ "its own, never opened", 1, 1, TCPX_ECLOSED, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		uint64_t lane = (lies[i].lane & OURS) | word((uint32_t)lies[i].lane);
		struct spoken s;

		spoken_open(&s);
		say_failure(&s.l, lane, lies[i].sending, lies[i].code);
		judge(&s.l, lies[i].what, lies[i].want);
		if (lies[i].want == LIVES)
			assert_int_equal(tcpx_lane_ready(s.lane),
					 lies[i].code == TCPX_ECLOSED ? TCPX_ECLOSED : TCPX_EPROTO);
		spoken_close(&s);
	}
	assert_witness_is_well();
}

TEST(in_lane_close)
{
	static const struct {
		const char *what;
		uint64_t word;
		int want;
	} lies[] = {
		{ "an honest one", OURS | TCPX_LANE_BIT | 1ull << 42, LIVES },
		{ "a lane never opened", OURS | TCPX_LANE_BIT | 2ull << 42, TCPX_EPROTO },
		{ "its own, never opened", TCPX_LANE_BIT | 1ull << 42, TCPX_EPROTO },
		{ "a word with a message", OURS | TCPX_LANE_BIT | 1ull << 42 | 1, TCPX_EPROTO },
		{ "no lane's word", OURS | 1ull << 42, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct spoken s;

		spoken_open(&s);
		liar_put_u64(&s.l, TCPX_FR_LANE_CLOSE, lies[i].word);
		judge(&s.l, lies[i].what, lies[i].want);
		if (lies[i].want == LIVES) { /* what comes later is of nothing */
			liar_put_u64(&s.l, TCPX_FR_LANE_CLOSE, lies[i].word);
			say_posts(&s.l, OURS | word(1), 1, 1, UNIT);
			assert_goes_on(&s.l, "words after the end");
		}
		spoken_close(&s);
	}
	assert_witness_is_well();
}

TEST(in_lane_done)
{
	static const struct {
		const char *what;
		uint64_t lane, done, finished;
		int want;
	} lies[] = {
		{ "none of none", OURS | 1, 0, 0, LIVES },
		{ "one that was never sent", OURS | 1, 1, 0, TCPX_EPROTO },
		{ "one of a set that was never sent", OURS | 1, 0, 2, TCPX_EPROTO },
		{ "the last of a set", OURS | 1, 0, 1, TCPX_EPROTO },
		{ "more than there are numbers", OURS | 1, UINT64_MAX, UINT64_MAX, TCPX_EPROTO },
		{ "a lane never opened", OURS | 2, 0, 0, TCPX_EPROTO },
		{ "its own, never opened", 1, 0, 0, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_lane_progress p = { (lies[i].lane & OURS) | word((uint32_t)lies[i].lane),
						lies[i].done, lies[i].finished };
		uint8_t room[32];
		struct spoken s;
		struct tcpx_buf b;

		spoken_open(&s);
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_lane_progress_write(&b, &p);
		liar_put(&s.l, TCPX_FR_LANE_DONE, &b);
		judge(&s.l, lies[i].what, lies[i].want);
		spoken_close(&s);
	}
	assert_witness_is_well();
}

TEST(in_a_payload)
{
	static const struct {
		const char *what;
		uint8_t type;
		size_t len;
	} lies[] = {
		{ "LANE_OPEN of nothing", TCPX_FR_LANE_OPEN, 0 },
		{ "LANE_OPEN without a whole key", TCPX_FR_LANE_OPEN, 23 },
		{ "LANE_OPEN with more", TCPX_FR_LANE_OPEN, 25 },
		{ "LANE_POST of 3 bytes", TCPX_FR_LANE_POST, 3 },
		{ "LANE_POST without its lengths", TCPX_FR_LANE_POST, 18 },
		{ "LANE_FAIL without a text", TCPX_FR_LANE_FAIL, 13 },
		{ "LANE_CLOSE of 7 bytes", TCPX_FR_LANE_CLOSE, 7 },
		{ "LANE_CLOSE of 9 bytes", TCPX_FR_LANE_CLOSE, 9 },
		{ "LANE_DONE of 23 bytes", TCPX_FR_LANE_DONE, 23 },
		{ "LANE_DONE of 25 bytes", TCPX_FR_LANE_DONE, 25 },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		uint8_t bytes[64] = { 0 };
		struct spoken s;
		struct tcpx_buf b;

		spoken_open(&s);
		tcpx_buf_init(&b, bytes, sizeof(bytes));
		tcpx_buf_put_u64(&b, (lies[i].type == TCPX_FR_LANE_OPEN ? 0 : OURS) | word(1));
		bytes[15] = bytes[17] = 1; /* first, count: of LANE_POST */
		liar_put_as(&s.l, lies[i].type, ++s.l.number, bytes, lies[i].len);
		assert_verdict(lies[i].what, liar_verdict(&s.l, 0), TCPX_EPROTO);
		spoken_close(&s);
	}
	assert_witness_is_well();
}

/* Frames of transfers must not name a message of a lane, be it the host's send or its receive. */
TEST(as_of_a_transfer)
{
	static const uint8_t types[] = { TCPX_FR_DONE, TCPX_FR_CANCEL, TCPX_FR_MATCHED };

	for (size_t i = 0; i < 2 * ITEMS(types); i++) {
		struct tcpx_done d = { .id = word(1) | 1 };
		uint8_t room[512], type = types[i / 2];
		struct spoken s;
		struct heard w;
		struct tcpx_buf b;
		tcpx_xfer *x = NULL;
		struct liar *l;

		if (i % 2) {
			heard_open(&w);
			l = &w.l;
		} else {
			spoken_open(&s);
			l = &s.l;
			d.id |= OURS;
			say_posts(l, OURS | word(1), 1, 1, CHUNK);
			assert_ok(tcpx_lane_post(s.lane, lies_world()->far.id, 0, CHUNK, &x));
			assert_goes_on(l, "a send that is under way");
		}
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_done_write(&b, &d);
		if (type == TCPX_FR_DONE)
			liar_put(l, type, &b);
		else
			liar_put_u64(l, type, d.id);
		assert_verdict(tcpx_frame_name(type), liar_verdict(l, 0), TCPX_EPROTO);
		if (i % 2) {
			heard_close(&w);
		} else {
			assert_verdict("the send", finish(x), TCPX_EPROTO);
			spoken_close(&s);
		}
	}
	assert_witness_is_well();
}

/* ---- on channels ---- */

TEST(in_a_chunk)
{
	static const struct {
		const char *what;
		uint64_t add; /* to the word of message 1 */
		uint32_t chunk, len;
	} lies[] = {
		{ "a message never announced", 1, TCPX_LANE_LAST, 100 },
		{ "message 64", 63, TCPX_LANE_LAST, 100 },
		{ "message 65, in the slot of 1", 64, TCPX_LANE_LAST, 100 },
		{ "message 0", UINT64_MAX, TCPX_LANE_LAST, 100 },
		{ "a lane never opened", 1ull << 42, TCPX_LANE_LAST, 100 },
		{ "a lane of the host's", OURS, TCPX_LANE_LAST, 100 },
		{ "a byte too long", 0, TCPX_LANE_LAST, ROOM + 1 },
		{ "far beyond the receive", 0, 100 | TCPX_LANE_LAST, 100 },
		{ "at the end of offsets", 0, UINT32_MAX, 100 },
		{ "no whole unit, and not the last", 0, 0, 100 },
		{ "nothing, and not the last", 0, 0, 0 },
		{ "nothing behind something", 0, 1 | TCPX_LANE_LAST, 0 },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct tcpx_head lie = { .chunk = lies[i].chunk, .len = lies[i].len, .generation = 1,
					 .seq = 1 };
		struct tcpx_head h = { .chunk = TCPX_LANE_LAST, .len = ROOM, .generation = 1,
				       .channel = 1, .seq = 1 };
		struct heard w;

		heard_open(&w);
		h.xfer = word(1) | 1;
		lie.xfer = h.xfer + lies[i].add;
		liar_send(&w.l, 0, &lie, lie.len);
		assert_closed(lies[i].what, w.l.tx[0]);
		liar_send(&w.l, 1, &h, h.len);
		assert_verdict(lies[i].what, finish(w.recv), 0);
		w.recv = NULL;
		assert_goes_on(&w.l, lies[i].what);
		heard_close(&w);
	}
	assert_witness_is_well();
}

/* Nothing comes for a message that the host sends, however long the receives are that it knows of. */
TEST(in_a_chunk_of_the_hosts_send)
{
	struct tcpx_head h = { .len = ROOM, .generation = 1, .seq = 1 };
	tcpx_xfer *x;
	struct spoken s;

	for (int last = 0; last < 2; last++) {
		spoken_open(&s);
		say_posts(&s.l, OURS | word(1), 1, 8, 1 << 30);
		assert_ok(tcpx_lane_post(s.lane, lies_world()->far.id, 0, CHUNK, &x));
		assert_goes_on(&s.l, "a send that is under way");
		memset(lies_world()->far.at, 0xff, CHUNK);
		h.xfer = OURS | word(1) | 1;
		h.chunk = last ? TCPX_LANE_LAST : 0;
		liar_send(&s.l, 0, &h, h.len);
		assert_closed("a chunk of the host's send", s.l.tx[0]);
		for (size_t k = 0; k < CHUNK; k++)
			assert_int_equal(lies_world()->far.at[k], 0xff);
		tcpx_xfer_free(x);
		spoken_close(&s);
	}
	assert_witness_is_well();
}

/* The receiver may still take what is on its way, and acknowledge it. */
TEST(a_close_leaves_sends_that_are_under_way)
{
	struct spoken s;
	tcpx_xfer *x[2];

	spoken_open(&s);
	say_posts(&s.l, OURS | word(1), 1, 1, 1 << 30);
	for (int i = 0; i < 2; i++) /* the second has no receive */
		assert_ok(tcpx_lane_post(s.lane, lies_world()->far.id, 0, CHUNK, &x[i]));
	liar_put_u64(&s.l, TCPX_FR_LANE_CLOSE, OURS | word(1));
	assert_goes_on(&s.l, "a close by the receiver");
	assert_code(tcpx_test(x[0]), -EAGAIN);
	assert_code(tcpx_test(x[1]), TCPX_ECLOSED);
	tcpx_xfer_free(x[0]);
	tcpx_xfer_free(x[1]);
	spoken_close(&s);
	assert_witness_is_well();
}

/* Longer than what the session's chunks may be, and than a staging buffer perhaps. */
TEST(in_the_length_of_a_chunk)
{
	struct tcpx_head h = { .len = CHUNK + UNIT, .chunk = TCPX_LANE_LAST, .generation = 1, .seq = 1 };
	tcpx_xfer *large;
	struct heard w;

	heard_open(&w);
	assert_ok(tcpx_lane_post(w.lane, lies_world()->far.id, 0, 2 * CHUNK, &large));
	assert_goes_on(&w.l, "a receive of two chunks");
	h.xfer = word(1) | 2;
	liar_send(&w.l, 0, &h, 0);
	assert_closed("a chunk longer than any", w.l.tx[0]);
	h.channel = 1;
	h.len = CHUNK;
	liar_send(&w.l, 1, &h, CHUNK);
	assert_verdict("a chunk as long as any", finish(large), 0);
	heard_close(&w);
	assert_witness_is_well();
}

/* More bytes than its last chunk has said, and its last chunk twice. */
TEST(in_the_sum_of_chunks)
{
	static const uint32_t second[] = { 1, TCPX_LANE_LAST }; /* of one that ends with its first unit */

	for (size_t i = 0; i < ITEMS(second); i++) {
		struct tcpx_head h = { .chunk = 0, .len = UNIT, .generation = 1, .seq = 1 };
		struct heard w;

		heard_open(&w);
		h.xfer = word(1) | 1;
		liar_send(&w.l, 0, &h, h.len);
		h.chunk = 1 | TCPX_LANE_LAST;
		h.seq = 2;
		liar_send(&w.l, 0, &h, h.len);
		assert_verdict("an honest message", finish(w.recv), 0);
		w.recv = NULL;
		h.chunk = second[i];
		h.channel = 1;
		h.seq = 1;
		liar_send(&w.l, 1, &h, h.len);
		assert_closed("a chunk of a message that has ended", w.l.tx[1]);
		assert_goes_on(&w.l, "a chunk of a message that has ended");
		heard_close(&w);
	}
	assert_witness_is_well();
}

int
main(void)
{
	return run_cases(lies_begin, lies_end);
}
