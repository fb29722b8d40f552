/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control stream without a connection. The main test joins two of them by a wire
 * that delivers pieces, breaks and is resumed: every numbered frame comes once, in order.
 */
#include <errno.h>

#include "base_test.h"
#include "proto/ctrl.h"

#define PAYLOAD_MAX (TCPX_FRAME_MAX - TCPX_FRAME_HEAD)

static const uint8_t zeros[TCPX_FRAME_MAX];

static struct tcpx_ctrl *
ctrl_new(void)
{
	struct tcpx_ctrl *c = NULL;

	assert_int_equal(tcpx_ctrl_new(&c), 0);
	return c;
}

/* Moves at most @len bytes from one to the other; returns how many. */
static size_t
move(struct tcpx_ctrl *from, struct tcpx_ctrl *to, size_t len)
{
	const uint8_t *data;
	size_t have = tcpx_ctrl_pending(from, &data);
	uint8_t *room;
	size_t cap = tcpx_ctrl_room(to, &room);

	len = len < have ? len : have;
	len = len < cap ? len : cap;
	if (have)
		memcpy(room, data, len);
	tcpx_ctrl_arrived(to, len);
	tcpx_ctrl_written(from, len);
	return len;
}

/* Types of all frames that @to takes, moved whole, one digit or letter each. */
static void
take_types(struct tcpx_ctrl *from, struct tcpx_ctrl *to, char *types, size_t cap)
{
	struct tcpx_frame_head h;
	const uint8_t *payload;
	size_t n = 0;

	do {
		while (tcpx_ctrl_take(to, &h, &payload) == 1 && n + 1 < cap)
			types[n++] = tcpx_frame_name(h.type)[0];
	} while (move(from, to, SIZE_MAX));
	types[n] = '\0';
}

static void
put_ok(struct tcpx_ctrl *c, uint8_t type, size_t len)
{
	assert_int_equal(tcpx_ctrl_put(c, type, zeros, len), 0);
}

static void
bulk_ok(struct tcpx_ctrl *c, uint8_t type, size_t len)
{
	assert_int_equal(tcpx_ctrl_put_bulk(c, type, zeros, len, NULL), 0);
}

/* ---- the wire that breaks ---------------------------------------------------------- */

struct end {
	struct tcpx_ctrl *ctrl;
	uint64_t put, put_bulk; /* frames put so far, each kind with its own count */
	uint64_t got, got_bulk; /* frames taken, likewise                          */
	uint64_t ticket;
	size_t most_memory;
};

/* A frame tells its count and fills the rest with what follows from it. */
static void
frame_fill(uint8_t *payload, uint64_t count, size_t len)
{
	memcpy(payload, &count, sizeof(count));
	memset(payload + sizeof(count), (int)(count & 0xff), len - sizeof(count));
}

static bool
frame_is(const uint8_t *payload, uint64_t count, size_t len)
{
	uint8_t want[TCPX_FRAME_MAX];

	frame_fill(want, count, len);
	return len >= sizeof(count) && !memcmp(payload, want, len);
}

static void
end_put(struct end *e, struct tcpx_rng *rng)
{
	uint8_t payload[TCPX_FRAME_MAX];
	bool bulk = tcpx_rng_below(rng, 2), large = tcpx_rng_below(rng, 20) == 0;
	size_t len = tcpx_rng_between(rng, 8, bulk ? PAYLOAD_MAX : large ? 2000 : 60);
	uint64_t ticket;

	switch (tcpx_rng_below(rng, 8)) {
	case 0:
		assert_int_equal(tcpx_ctrl_put_raw(e->ctrl, TCPX_FR_PING, NULL, 0), 0);
		break;
	case 1:
		assert_int_equal(tcpx_ctrl_put_ack(e->ctrl), 0);
		break;
	default:
		frame_fill(payload, bulk ? e->put_bulk : e->put, len);
		if (!bulk) {
			assert_int_equal(tcpx_ctrl_put(e->ctrl, TCPX_FR_DONE, payload, len), 0);
			e->put++;
			break;
		}
		assert_int_equal(
			tcpx_ctrl_put_bulk(e->ctrl, TCPX_FR_LIST, payload, len, &ticket), 0);
		assert_int_equal(ticket, ++e->put_bulk);
	}
}

static bool
end_take(struct end *e)
{
	struct tcpx_frame_head h;
	const uint8_t *payload;
	int rc;

	while ((rc = tcpx_ctrl_take(e->ctrl, &h, &payload)) == 1) {
		size_t len = h.len - TCPX_FRAME_HEAD;

		if (h.type == TCPX_FR_LIST && !frame_is(payload, e->got_bulk++, len))
			return false;
		if (h.type == TCPX_FR_DONE && !frame_is(payload, e->got++, len))
			return false;
		if (tcpx_ctrl_ack_due(e->ctrl))
			assert_int_equal(tcpx_ctrl_put_ack(e->ctrl), 0);
	}
	return rc == 0;
}

/* A writer that was lent bytes sends them although more frames are put meanwhile, and
 * although what it sends is answered before it says so. */
static bool
move_slowly(struct end *from, struct end *to, struct tcpx_rng *rng)
{
	const uint8_t *data;
	size_t len = tcpx_ctrl_pending(from->ctrl, &data);
	uint8_t *room, copy[4096];

	if (!len)
		return true;
	len = len < sizeof(copy) ? len : sizeof(copy);
	memcpy(copy, data, len);
	for (int i = 0; i < 5; i++)
		end_put(from, rng);
	if (memcmp(copy, data, len))
		return false;
	len = tcpx_ctrl_room(to->ctrl, &room) < len ? 0 : len;
	memcpy(room, copy, len);
	tcpx_ctrl_arrived(to->ctrl, len);
	if (!end_take(to) || tcpx_ctrl_put_ack(to->ctrl))
		return false;
	move(to->ctrl, from->ctrl, SIZE_MAX);
	if (!end_take(from))
		return false;
	tcpx_ctrl_written(from->ctrl, len);
	return true;
}

static void
cut_and_resume(struct end *a, struct end *b, struct tcpx_rng *rng)
{
	tcpx_ctrl_cut(a->ctrl);
	for (uint64_t i = tcpx_rng_below(rng, 3); i > 0; i--)
		end_put(a, rng);
	tcpx_ctrl_cut(b->ctrl);
	if (tcpx_rng_below(rng, 4) == 0)
		return; /* it breaks again before it is resumed */
	assert_int_equal(tcpx_ctrl_resume(a->ctrl, tcpx_ctrl_received(b->ctrl)), 0);
	assert_int_equal(tcpx_ctrl_resume(b->ctrl, tcpx_ctrl_received(a->ctrl)), 0);
}

static void
every_frame_arrives_once_in_order(void **state)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 12; round++) {
		struct end end[2] = { { .ctrl = ctrl_new() }, { .ctrl = ctrl_new() } };

		for (int i = 0; i < 1500; i++) {
			struct end *from = &end[tcpx_rng_below(&rng, 2)];
			struct end *to = from == end ? end + 1 : end;
			uint64_t dice = tcpx_rng_below(&rng, 100);

			if (dice < 30)
				end_put(from, &rng);
			else if (dice < 92)
				move(from->ctrl, to->ctrl, tcpx_rng_below(&rng, 20000));
			else if (dice < 97)
				check_random(seed, move_slowly(from, to, &rng));
			else if (round % 3)
				cut_and_resume(from, to, &rng);
			check_random(seed, end_take(to));
			check_random(seed, tcpx_ctrl_bulk_written(from->ctrl) >= to->got_bulk);
		}
		tcpx_ctrl_cut(end[0].ctrl);
		tcpx_ctrl_cut(end[1].ctrl);
		assert_int_equal(
			tcpx_ctrl_resume(end[0].ctrl, tcpx_ctrl_received(end[1].ctrl)), 0);
		assert_int_equal(
			tcpx_ctrl_resume(end[1].ctrl, tcpx_ctrl_received(end[0].ctrl)), 0);
		while (move(end[0].ctrl, end[1].ctrl, SIZE_MAX) +
		       move(end[1].ctrl, end[0].ctrl, SIZE_MAX)) {
			check_random(seed, end_take(&end[0]));
			check_random(seed, end_take(&end[1]));
		}
		for (int i = 0; i < 2; i++) {
			check_random(seed, end[i].got == end[1 - i].put);
			check_random(seed, end[i].got_bulk == end[1 - i].put_bulk);
			check_random(seed, tcpx_ctrl_bulk_written(end[i].ctrl) == end[i].put_bulk);
			tcpx_ctrl_free(end[i].ctrl);
		}
	}
}

/* ---- order ------------------------------------------------------------------------- */

static void
urgent_frames_overtake_waiting_bulk(void **state)
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

static void
tickets_tell_when_bulk_is_written(void **state)
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

static void
raw_frames_come_first_and_die_with_their_connection(void **state)
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

static void
cut_before_the_first_byte_holds_nothing_back(void **state)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	char types[16];

	assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_HELLO, zeros, 100), 0);
	move(a, b, 50);
	tcpx_ctrl_cut(a);
	tcpx_ctrl_cut(b);
	assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_HELLO, zeros, 100), 0);
	put_ok(a, TCPX_FR_READY, 16);
	take_types(a, b, types, sizeof(types));
	assert_string_equal(types, "HR");
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

/* ---- acks -------------------------------------------------------------------------- */

static void
acks_are_due_after_64_frames_or_32_kib(void **state)
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
	for (int i = 0; i < 3; i++)
		put_ok(a, TCPX_FR_NOTE, 11000);
	take_types(a, b, types, sizeof(types));
	assert_true(tcpx_ctrl_ack_due(b));
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

static void
ack_that_waits_is_made_newer(void **state)
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
	return tcpx_ctrl_take(c, &h, &got);
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

static void
incoming_frames_follow_the_table(void **state)
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

static void
wrong_frames_are_not_put(void **state)
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

static void
random_bytes_are_refused_or_wait(void **state)
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
				rc = tcpx_ctrl_take(c, &h, &payload);
			while (rc == 1);
		}
		tcpx_ctrl_free(c);
	}
}

/* ---- memory ------------------------------------------------------------------------ */

static void
peer_that_never_acknowledges_meets_the_limits(void **state)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	struct tcpx_frame_head h;
	const uint8_t *payload;
	size_t bulk = 0, urgent = 0, raw = 0;
	int rc;

	while ((rc = tcpx_ctrl_put_bulk(a, TCPX_FR_LIST, zeros, 16000, NULL)) == 0)
		bulk += 16020;
	assert_int_equal(rc, TCPX_ELIMIT);
	assert_true(bulk <= TCPX_CTRL_QUEUE && bulk + 16020 > TCPX_CTRL_QUEUE);
	while (move(a, b, SIZE_MAX)) {
		while (tcpx_ctrl_take(b, &h, &payload) == 1)
			;
	}
	/* bulk stops at TCPX_CTRL_LOG, so that urgent frames still have room */
	assert_true(tcpx_ctrl_bulk_written(a) * 16020 <= TCPX_CTRL_LOG + 16020);
	while ((rc = tcpx_ctrl_put(a, TCPX_FR_DONE, zeros, 1000)) == 0)
		urgent += 1020;
	assert_int_equal(rc, TCPX_ELIMIT);
	assert_true(urgent >= TCPX_CTRL_MAX - TCPX_CTRL_LOG - 2 * 16020);
	while ((rc = tcpx_ctrl_put_raw(a, TCPX_FR_PONG, NULL, 0)) == 0)
		raw += 20;
	assert_int_equal(rc, TCPX_ELIMIT);
	assert_true(raw <= TCPX_CTRL_RAW);
	assert_true(tcpx_ctrl_memory(a) <= 2 * (TCPX_CTRL_QUEUE + TCPX_CTRL_MAX + 2 * TCPX_CTRL_RAW));
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

static void
memory_goes_back_when_all_is_acknowledged(void **state)
{
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	size_t before = tcpx_ctrl_memory(a), most = 0;
	char types[4096];

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 60; i++)
			bulk_ok(a, TCPX_FR_LIST, 16000);
		take_types(a, b, types, sizeof(types));
		most = tcpx_ctrl_memory(a) > most ? tcpx_ctrl_memory(a) : most;
		assert_int_equal(tcpx_ctrl_put_ack(b), 0);
		take_types(b, a, types, sizeof(types));
		assert_true(tcpx_ctrl_memory(a) <= before + 4 * (64 << 10));
	}
	assert_true(most <= 4u << 20);
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

static void
freeing_with_bytes_lent_leaks_nothing(void **state)
{
	struct tcpx_ctrl *c = ctrl_new();
	const uint8_t *data;

	put_ok(c, TCPX_FR_NOTE, 100);
	assert_true(tcpx_ctrl_pending(c, &data) > 0);
	for (int i = 0; i < 100; i++)
		put_ok(c, TCPX_FR_NOTE, 8000);
	assert_int_equal(data[4], TCPX_FR_NOTE);
	tcpx_ctrl_free(c);
	tcpx_ctrl_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_arrives_once_in_order),
		cmocka_unit_test(urgent_frames_overtake_waiting_bulk),
		cmocka_unit_test(tickets_tell_when_bulk_is_written),
		cmocka_unit_test(raw_frames_come_first_and_die_with_their_connection),
		cmocka_unit_test(cut_before_the_first_byte_holds_nothing_back),
		cmocka_unit_test(acks_are_due_after_64_frames_or_32_kib),
		cmocka_unit_test(ack_that_waits_is_made_newer),
		cmocka_unit_test(incoming_frames_follow_the_table),
		cmocka_unit_test(wrong_frames_are_not_put),
		cmocka_unit_test(random_bytes_are_refused_or_wait),
		cmocka_unit_test(peer_that_never_acknowledges_meets_the_limits),
		cmocka_unit_test(memory_goes_back_when_all_is_acknowledged),
		cmocka_unit_test(freeing_with_bytes_lent_leaks_nothing),
	};

	tcpx_log_setup("NONE", NULL, NULL); /* refusals are what is tested */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
