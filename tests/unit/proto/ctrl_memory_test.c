/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a control stream without a connection: its limits, and that it goes back. */
#include <errno.h>

#include "ctrl_pipe.h"

TEST(peer_that_never_acknowledges_meets_the_limits)
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
		while (tcpx_ctrl_next(b, &h, &payload) == 1)
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

/* A queue has at most twice its bytes, and what it grew out of, at most half as much, until the writer gives
 * that back. */
TEST(answers_take_at_most_three_times_their_bytes)
{
	static const size_t len[] = { 0, 100, 1000, 8192, 16000 };
	static const int loans[] = { 1, 7, 64, 1 << 30 }; /* one in so many puts */
	uint64_t most = 0;

	for (size_t i = 0; i < ARRAY_LEN(len); i++)
		for (size_t k = 0; k < ARRAY_LEN(loans); k++) {
			struct tcpx_quota quota = { .limit = 64 << 20 };
			struct tcpx_ctrl *a = ctrl_new();
			const uint8_t *data;

			tcpx_ctrl_charge(a, &quota);
			for (int n = 0; tcpx_ctrl_put(a, TCPX_FR_DONE, zeros, len[i]) == 0; n++) {
				uint64_t used = tcpx_quota_used(&quota);

				most = used > most ? used : most;
				if (n % loans[k] == 0)
					assert_true(tcpx_ctrl_pending(a, &data) > 0);
			}
			tcpx_ctrl_free(a);
			assert_int_equal(tcpx_quota_used(&quota), 0);
		}
	assert_in_range(most, 2 * TCPX_CTRL_MAX + 1, 3 * TCPX_CTRL_MAX);
}

TEST(memory_goes_back_when_all_is_acknowledged)
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

/* Loans between random puts and acks: what was lent stays where and what it was. */
TEST(bytes_lent_do_not_move)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	static uint8_t copy[TCPX_CTRL_MAX];
	char types[4096];

	for (int i = 0; i < 20; i++)
		put_ok(a, TCPX_FR_NOTE, 1000);
	for (int round = 0; round < 500; round++) {
		const uint8_t *data;
		size_t len = tcpx_ctrl_pending(a, &data), put = 0;

		memcpy(copy, data, len);
		for (uint64_t i = tcpx_rng_below(&rng, 6); i > 0; i--) {
			size_t bytes = tcpx_rng_below(&rng, 1500);

			put_ok(a, TCPX_FR_NOTE, bytes);
			put += TCPX_FRAME_HEAD + bytes;
		}
		check_random(seed, !memcmp(copy, data, len));
		tcpx_ctrl_written(a, 0);
		move(a, b, put); /* so that as much waits as before */
		while (tcpx_ctrl_next(b, &(struct tcpx_frame_head){ 0 }, &data) == 1)
			;
		tcpx_ctrl_put_ack(b);
		take_types(b, a, types, sizeof(types));
	}
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

/* What has room is put; what has none yet may have some when others have gone. */
TEST(bulk_asks_for_room_before_it_begins)
{
	struct tcpx_quota quota = { .limit = 1 << 20, .reserve = 1 << 17 };
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	char types[64];

	tcpx_ctrl_charge(a, &quota);
	assert_int_equal(tcpx_ctrl_bulk_room(a, 200000), 0);
	for (int i = 0; i < 26; i++) {
		assert_int_equal(tcpx_ctrl_bulk_room(a, 15020), 0);
		bulk_ok(a, TCPX_FR_LIST, 15000);
	}
	assert_in_range(tcpx_quota_used(&quota), 1, (1 << 20) - (1 << 17));
	assert_int_equal(tcpx_ctrl_bulk_room(a, 1 << 20), TCPX_ELIMIT);
	assert_int_equal(tcpx_ctrl_bulk_room(a, TCPX_CTRL_QUEUE + 1), TCPX_ELIMIT);
	assert_int_equal(tcpx_ctrl_bulk_room(a, 200000), -EAGAIN);
	for (int i = 0; i < 4; i++) { /* the log is short of memory, too, until the peer has it */
		take_types(a, b, types, sizeof(types));
		assert_int_equal(tcpx_ctrl_put_ack(b), 0);
		take_types(b, a, types, sizeof(types));
	}
	assert_false(tcpx_ctrl_bulk_due(a));
	assert_int_equal(tcpx_ctrl_bulk_room(a, 200000), 0);
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
	assert_int_equal(tcpx_quota_used(&quota), 0);
}

TEST(freeing_with_bytes_lent_leaks_nothing)
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
	tcpx_log_setup("NONE", NULL, NULL); /* refusals are what is tested */
	return run_cases(NULL, NULL);
}
