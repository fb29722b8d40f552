/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lies about messages of lanes that come before their receives, and about credit for them. A lie ends the
 * session with its code, or its channel, or has no effect; nobody's memory is written but that of a receive.
 */
#include "lane_lies.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "core/engine/engine.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "proto/eager.h"

#define EARLY (TCPX_LANE_EARLY | TCPX_LANE_LAST)
#define MOST 16000 /* bytes of a message in a frame, about */

static void
say_data(struct liar *l, uint64_t message, bool known, uint16_t len)
{
	static uint8_t payload[TCPX_FRAME_MAX];
	struct tcpx_lane_data d = { message, known, payload, len };
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	struct tcpx_buf b;

	memset(payload, 0x5a, len);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_data_write(&b, &d);
	liar_put(l, TCPX_FR_LANE_DATA, &b);
}

/* The host has announced receive 1, and a message of 100 bytes may have come before the lie. */
TEST(in_lane_data)
{
	static const struct {
		const char *what;
		uint64_t before, message;
		bool known;
		uint16_t len;
		int want;
	} lies[] = {
		{ "an honest one", 0, 1, true, 100, LIVES },
		{ "an honest one on credit", 0, 1, false, 100, LIVES },
		{ "one before its receive", 1, 2, false, 100, LIVES },
		{ "... said to be announced", 1, 2, true, 100, TCPX_EPROTO },
		{ "the same again", 1, 1, false, 100, TCPX_EPROTO },
		{ "one that was kept again", 2, 2, false, 100, TCPX_EPROTO },
		{ "one that overtakes another", 0, 3, false, 100, LIVES },
		{ "one too far", 0, 66, false, 100, TCPX_EPROTO },
		{ "the greatest number", 0, TCPX_LANE_SEQ, false, 100, TCPX_EPROTO },
		{ "message 0", 0, 0, true, 100, TCPX_EPROTO },
		{ "a lane never opened", 0, 1ull << 42 | 1, true, 100, TCPX_EPROTO },
		{ "a lane of the host's", 0, OURS | 1, true, 100, TCPX_EPROTO },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct heard w;

		heard_open(&w);
		if (lies[i].before)
			say_data(&w.l, word(1) | 1, true, 100);
		if (lies[i].before > 1)
			say_data(&w.l, word(1) | 2, false, 100);
		say_data(&w.l, word(1) + lies[i].message, lies[i].known, lies[i].len);
		judge(&w.l, lies[i].what, lies[i].want);
		heard_close(&w);
	}
	assert_witness_is_well();
}

TEST(in_its_length)
{
	uint8_t room[64] = { 0 }, payload[20] = { 0 };
	struct tcpx_lane_data d = { word(1) | 1, true, payload, sizeof(payload) };
	struct tcpx_buf b;
	struct heard w;

	for (int add = -1; add <= 1; add += 2) {
		heard_open(&w);
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_lane_data_write(&b, &d);
		liar_put_as(&w.l, TCPX_FR_LANE_DATA, ++w.l.number, room, b.pos + (size_t)add);
		assert_verdict("a length that is not its own", liar_verdict(&w.l, 0), TCPX_EPROTO);
		heard_close(&w);
	}
	/* longer than the receive: the lane ends, and the session goes on */
	heard_open(&w);
	say_data(&w.l, word(1) | 1, true, LANE_ROOM + 1);
	assert_verdict("a message longer than its receive", finish(w.recv), TCPX_ELENGTH);
	w.recv = NULL;
	say_data(&w.l, word(1) | 2, false, 100);
	assert_goes_on(&w.l, "a message after the end of its lane");
	heard_close(&w);
	assert_witness_is_well();
}

/* Before the first lane there is no credit, and with one there is so much. */
TEST(beyond_its_credit)
{
	uint64_t used = 0, number = 1;
	tcpx_peer *from;
	struct liar l;
	struct heard w;

	liar_open(&l, lies_world()->host);
	say_data(&l, word(1) | 1, false, 0);
	assert_verdict("a message of no lane", liar_verdict(&l, 0), TCPX_EPROTO);
	liar_close(&l);

	heard_open(&w);
	assert_ok(tcpx_peer_find(lies_world()->host, "liar", &from));
	say_data(&w.l, word(1) | 1, true, 100);
	while (used + tcpx_eager_cost(MOST) <= TCPX_EAGER_FIRST) {
		say_data(&w.l, word(1) | ++number, false, MOST);
		used += tcpx_eager_cost(MOST);
	}
	assert_goes_on(&w.l, "all that is granted");
	assert_in_range(tcpx_quota_used(&from->kept), TCPX_EAGER_FIRST, 2 * TCPX_EAGER_FIRST);
	say_data(&w.l, word(1) | ++number, false, MOST);
	assert_verdict("more than is granted", liar_verdict(&w.l, 0), TCPX_EPROTO);
	heard_close(&w);
	assert_in_range(tcpx_quota_used(&from->kept), 0, TCPX_EAGER_FIRST - 1);
	tcpx_peer_free(from);
	assert_witness_is_well();
}

static void
say_chunk(struct liar *l, int channel, uint64_t message, uint32_t chunk, uint32_t len)
{
	struct tcpx_head h = { .xfer = message, .chunk = chunk, .len = len, .generation = 1, .seq = 1,
			       .channel = (uint16_t)channel };

	liar_send(l, channel, &h, len);
}

/* The host has announced receive 1. Message 3 may have come. A lie costs its channel. */
TEST(in_an_early_chunk)
{
	static const struct {
		const char *what;
		uint64_t message;
		uint32_t chunk, len;
		bool before;
	} lies[] = {
		{ "not the last", 2, TCPX_LANE_EARLY, 20480, false },
		{ "not the first", 2, EARLY | 1, 20000, false },
		{ "small enough for a frame", 2, EARLY, TCPX_EAGER_FRAME, false },
		{ "one too long", 2, EARLY, TCPX_EAGER_MOST + 1, false },
		{ "one too far", 66, EARLY, 20000, false },
		{ "the greatest number", TCPX_LANE_SEQ, EARLY, 20000, false },
		{ "message 0", 0, EARLY, 20000, false },
		{ "the same again", 3, EARLY, 20000, true },
		{ "a lane never opened", 1ull << 42 | 1, EARLY, 20000, false },
		{ "a lane of the host's", OURS | 1, EARLY, 20000, false },
	};

	for (size_t i = 0; i < ITEMS(lies); i++) {
		struct heard w;

		heard_open(&w);
		if (lies[i].before)
			say_chunk(&w.l, 1, word(1) | 3, EARLY, 20000);
		assert_goes_on(&w.l, "an honest one");
		say_chunk(&w.l, 0, word(1) + lies[i].message, lies[i].chunk, lies[i].len);
		assert_closed(lies[i].what, w.l.tx[0]);
		assert_goes_on(&w.l, lies[i].what);
		heard_close(&w);
	}
	assert_witness_is_well();
}

/* Of four that are as long as any, the last one has no credit. */
TEST(early_chunks_beyond_their_credit)
{
	struct tcpx_head h = { .chunk = EARLY, .len = TCPX_EAGER_MOST, .generation = 1, .channel = 1 };
	struct heard w;

	heard_open(&w);
	for (h.seq = 1; h.seq <= 3; h.seq++) {
		h.xfer = (word(1) | 1) + h.seq;
		liar_send(&w.l, 1, &h, h.len);
	}
	assert_goes_on(&w.l, "three that are granted");
	h.xfer = word(1) | 5;
	liar_send(&w.l, 1, &h, h.len);
	assert_closed("more than is granted", w.l.tx[1]);
	heard_close(&w);
	assert_witness_is_well();
}

/* Three that are kept use the credit up, also for one that has its receive. */
TEST(an_early_chunk_beyond_the_credit_for_its_receive)
{
	struct tcpx_head h = { .chunk = EARLY, .len = TCPX_EAGER_MOST, .generation = 1, .channel = 1 };
	uint8_t payload[TCPX_FRAME_MAX];
	struct heard w;
	tcpx_xfer *x;
	size_t len;

	heard_open(&w);
	assert_ok(tcpx_lane_post(w.lane, lies_world()->far.id, LANE_ROOM, TCPX_EAGER_MOST, &x));
	assert_true(foe_get(&w.l.f, TCPX_FR_LANE_POST, payload, &len));
	for (h.seq = 1; h.seq <= 3; h.seq++) {
		h.xfer = word(1) + 2 + h.seq;
		liar_send(&w.l, 1, &h, h.len);
	}
	assert_goes_on(&w.l, "three that are granted");
	h.xfer = word(1) | 2;
	liar_send(&w.l, 1, &h, h.len);
	assert_closed("more than is granted", w.l.tx[1]);
	assert_goes_on(&w.l, "more than is granted");
	assert_code(tcpx_test(x), -EAGAIN);
	tcpx_xfer_free(x);
	heard_close(&w);
	assert_witness_is_well();
}

/* Until the host has the beginning of a message that it will keep, or no more. */
static void
wait_begun(bool want)
{
	struct session *s = NULL;
	bool begun = !want;

	while (begun != want) {
		begun = false;
		sched_yield();
		while ((s = tcpx_session_after(lies_world()->host, s))) {
			pthread_mutex_lock(&s->lock);
			begun |= s->lanes.kept.coming > 0;
			pthread_mutex_unlock(&s->lock);
		}
	}
}

/* The host has posted the receive of a message that has begun to come. Nothing else comes for it. */
TEST(beside_an_early_chunk)
{
	struct tcpx_head h = { .chunk = EARLY, .len = 20000, .generation = 1, .channel = 1, .seq = 1 };
	uint8_t payload[TCPX_FRAME_MAX];
	struct heard w;
	tcpx_xfer *x;
	size_t len;

	for (int by_frame = 0; by_frame < 2; by_frame++) {
		heard_open(&w);
		h.xfer = word(1) | 2;
		liar_send(&w.l, 1, &h, 1000);
		wait_begun(true);
		assert_ok(tcpx_lane_post(w.lane, lies_world()->far.id, LANE_ROOM, 30000, &x));
		assert_true(foe_get(&w.l.f, TCPX_FR_LANE_POST, payload, &len));
		if (by_frame) {
			say_data(&w.l, word(1) | 2, true, 100);
			assert_verdict("a frame", liar_verdict(&w.l, 0), TCPX_EPROTO);
		} else {
			say_chunk(&w.l, 0, word(1) | 2, TCPX_LANE_LAST, 100);
			assert_closed("a chunk of its receive", w.l.tx[0]);
			assert_code(tcpx_test(x), -EAGAIN);
			assert_goes_on(&w.l, "a chunk of its receive");
		}
		tcpx_xfer_free(x);
		heard_close(&w);
	}
	assert_witness_is_well();
}

/* A channel ends in the middle of it, with its receive posted or not. It comes again by another. */
TEST(an_early_chunk_begins_again)
{
	struct tcpx_head h = { .chunk = EARLY, .len = 20000, .generation = 1, .channel = 1, .seq = 1 };
	struct heard w;
	tcpx_xfer *x;

	for (int posted = 0; posted < 2; posted++) {
		heard_open(&w);
		h.xfer = word(1) | 2;
		liar_send(&w.l, 1, &h, 1000);
		wait_begun(true);
		if (posted)
			assert_ok(tcpx_lane_post(w.lane, lies_world()->far.id, LANE_ROOM, 30000, &x));
		shutdown(w.l.tx[1], SHUT_RDWR);
		wait_begun(false);
		say_chunk(&w.l, 0, h.xfer, EARLY, h.len);
		if (!posted)
			assert_ok(tcpx_lane_post(w.lane, lies_world()->far.id, LANE_ROOM, 30000, &x));
		assert_verdict("the second time", finish(x), 0);
		assert_goes_on(&w.l, "the second time");
		heard_close(&w);
	}
	assert_witness_is_well();
}

/* Longer than the receive: the lane ends, and the session goes on. */
TEST(an_early_chunk_too_long_for_its_receive)
{
	struct heard w;

	heard_open(&w);
	say_chunk(&w.l, 0, word(1) | 1, EARLY, 20000);
	assert_verdict("a message longer than its receive", finish(w.recv), TCPX_ELENGTH);
	w.recv = NULL;
	say_chunk(&w.l, 1, word(1) | 2, EARLY, 20000);
	assert_goes_on(&w.l, "a message after the end of its lane");
	heard_close(&w);
	assert_witness_is_well();
}

TEST(in_lane_grant)
{
	static const struct {
		const char *what;
		uint64_t first, second;
		int want;
	} lies[] = {
		{ "honest ones", 1000, 2000, LIVES },
		{ "nothing new", 1000, 1000, LIVES },
		{ "all there is", 1000, UINT64_MAX, LIVES },
		{ "one that takes back", 1000, 999, TCPX_EPROTO },
		{ "one of nothing", 1000, 0, TCPX_EPROTO },
	};
	uint8_t nine[9] = { 0 };
	struct spoken s;
	struct liar l;

	for (size_t i = 0; i < ITEMS(lies); i++) {
		spoken_open(&s);
		liar_put_u64(&s.l, TCPX_FR_LANE_GRANT, lies[i].first);
		liar_put_u64(&s.l, TCPX_FR_LANE_GRANT, lies[i].second);
		judge(&s.l, lies[i].what, lies[i].want);
		spoken_close(&s);
	}
	for (size_t len = 7; len <= 9; len += 2) {
		spoken_open(&s);
		liar_put_as(&s.l, TCPX_FR_LANE_GRANT, ++s.l.number, nine, len);
		assert_verdict("no 8 bytes", liar_verdict(&s.l, 0), TCPX_EPROTO);
		spoken_close(&s);
	}
	liar_open(&l, lies_world()->host);
	liar_put_u64(&l, TCPX_FR_LANE_GRANT, 1000);
	assert_verdict("a grant for no lane", liar_verdict(&l, 0), TCPX_EPROTO);
	liar_close(&l);
	assert_witness_is_well();
}

/* A liar that grants without end, and takes nothing: the host keeps no more than of any frames. */
TEST(a_grant_without_end)
{
	uint64_t before;
	struct spoken s;
	tcpx_xfer *x;
	int sent = 0;

	spoken_open(&s);
	before = tcpx_quota_used(&s.to->kept);
	liar_put_u64(&s.l, TCPX_FR_LANE_GRANT, UINT64_MAX);
	say_posts(&s.l, OURS | word(1), 1, 0, 0);
	for (;; sent++) {
		assert_ok(tcpx_lane_post(s.lane, lies_world()->far.id, 0, 8192, &x));
		if (tcpx_wait(x, 50) == -EAGAIN)
			break;
		tcpx_xfer_free(x);
	}
	assert_in_range(sent, 1, TCPX_LANE_SLOTS); /* no more may be ahead of its receives */
	tcpx_cancel(x);
	tcpx_xfer_free(x);
	assert_in_range(tcpx_quota_used(&s.to->kept), 0, before + (2 << 20));
	spoken_close(&s);
	assert_witness_is_well();
}

int
main(void)
{
	return run_cases(lies_begin, lies_end);
}
