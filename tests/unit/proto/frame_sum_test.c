/* SPDX-License-Identifier: Apache-2.0 */
/* Frames with sums: every wrong bit is found, and whole streams of them pass. */
#include <errno.h>

#include "ctrl_pipe.h"
#include "proto/frame_sum.h"

static size_t
make(uint8_t *frame, uint8_t type, size_t payload)
{
	tcpx_frame_head_write(frame, type, tcpx_frame_numbered(type) ? 0x1234567890ull : 0,
			      (uint32_t)payload);
	for (size_t i = 0; i < payload; i++)
		frame[TCPX_FRAME_HEAD + i] = (uint8_t)(7 * i);
	tcpx_frame_sum(frame, TCPX_FRAME_HEAD + payload);
	return TCPX_FRAME_HEAD + payload;
}

TEST(every_wrong_bit_is_found)
{
	static const uint8_t types[] = { TCPX_FR_PING, TCPX_FR_ACK, TCPX_FR_OPEN, TCPX_FR_DONE };
	struct tcpx_frame_head h;
	uint8_t frame[200];

	for (size_t i = 0; i < sizeof(types); i++) {
		size_t len = make(frame, types[i], 60 * i);

		assert_int_equal(tcpx_frame_sum_read(frame, len, &h), 0);
		assert_int_equal(h.type, types[i]);
		assert_int_equal(h.len, len);
		for (size_t bit = 0; bit < 8 * len; bit++) {
			frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_equal(tcpx_frame_sum_read(frame, len, &h), TCPX_EDATA);
			frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

/* A wrong length would have its reader wait for bytes that nobody sends. */
TEST(a_head_is_judged_before_the_rest_is_there)
{
	struct tcpx_frame_head h;
	uint8_t frame[200];
	size_t len = make(frame, TCPX_FR_NOTE, 100);

	assert_int_equal(tcpx_frame_sum_read(frame, TCPX_FRAME_HEAD - 1, &h), -EAGAIN);
	assert_int_equal(tcpx_frame_sum_read(frame, len - 1, &h), 0);
	for (size_t bit = 0; bit < 8 * 16; bit++) {
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(tcpx_frame_sum_read(frame, TCPX_FRAME_HEAD, &h), TCPX_EDATA);
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

TEST(frames_of_a_handshake_are_not_summed)
{
	static const uint8_t types[] = { TCPX_FR_HELLO, TCPX_FR_START, TCPX_FR_RESUME,
					 TCPX_FR_RESUMED, TCPX_FR_REFUSE };
	uint8_t head[TCPX_FRAME_HEAD];
	struct tcpx_frame_head h;

	for (size_t i = 0; i < sizeof(types); i++) {
		assert_false(tcpx_frame_is_summed(types[i]));
		tcpx_frame_head_write(head, types[i], 0, 40);
		assert_int_equal(tcpx_frame_sum_read(head, sizeof(head), &h), 0);
		head[6] ^= 1;
		assert_int_equal(tcpx_frame_sum_read(head, sizeof(head), &h), TCPX_EDATA);
	}
}

/* Small and large ones, urgent, bulk and raw; an ACK changes while it waits. */
TEST(streams_of_summed_frames_pass)
{
	static uint8_t data[TCPX_FRAME_MAX];
	struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
	struct tcpx_frame_head h;
	const uint8_t *payload;
	uint32_t frames = 0;

	tcpx_ctrl_sum(a);
	tcpx_ctrl_sum(b);
	for (size_t i = 0; i < 40; i++) {
		memset(data, (int)i, sizeof(data));
		assert_int_equal(tcpx_ctrl_put(a, TCPX_FR_DONE, data, i), 0);
		assert_int_equal(tcpx_ctrl_put_bulk(a, TCPX_FR_LIST, data,
						    i % 8 ? 500 * (i % 8) : PAYLOAD_MAX, NULL), 0);
		assert_int_equal(tcpx_ctrl_put_raw(a, TCPX_FR_PING, NULL, 0), 0);
		while (move(a, b, 3001))
			while (tcpx_ctrl_next(b, &h, &payload) == 1)
				frames++;
		assert_int_equal(tcpx_ctrl_put_ack(b), 0);
		if (i % 3 == 0)
			while (move(b, a, 7))
				assert_int_equal(tcpx_ctrl_next(a, &h, &payload), 0);
	}
	assert_int_equal(frames, 120);
	tcpx_ctrl_free(a);
	tcpx_ctrl_free(b);
}

/* What came before the wrong byte counts, the rest comes again. */
TEST(a_wrong_byte_costs_a_connection)
{
	uint8_t data[100] = { 0 }, *room;
	struct tcpx_frame_head h;
	const uint8_t *payload, *out;

	for (size_t at = 0; at < 3 * 120; at++) {
		struct tcpx_ctrl *a = ctrl_new(), *b = ctrl_new();
		uint64_t got = at / 120;

		tcpx_ctrl_sum(a);
		tcpx_ctrl_sum(b);
		for (int i = 0; i < 3; i++)
			assert_int_equal(tcpx_ctrl_put(a, TCPX_FR_NOTE, data, sizeof(data)), 0);
		assert_int_equal(tcpx_ctrl_pending(a, &out), 360);
		assert_true(tcpx_ctrl_room(b, &room) >= 360);
		memcpy(room, out, 360);
		room[at] ^= 0x20;
		tcpx_ctrl_arrived(b, 360);
		tcpx_ctrl_written(a, 360);
		for (uint64_t i = 0; i < got; i++)
			assert_int_equal(tcpx_ctrl_next(b, &h, &payload), 1);
		assert_int_equal(tcpx_ctrl_next(b, &h, &payload), TCPX_EDATA);
		tcpx_ctrl_cut(a);
		tcpx_ctrl_cut(b);
		assert_int_equal(tcpx_ctrl_resume(a, tcpx_ctrl_received(b)), 0);
		assert_int_equal(move(a, b, SIZE_MAX), 360 - 120 * got);
		for (uint64_t i = got; i < 3; i++)
			assert_int_equal(tcpx_ctrl_next(b, &h, &payload), 1);
		tcpx_ctrl_free(a);
		tcpx_ctrl_free(b);
	}
}

/* What only a session that sums, or wants to, says. */
TEST(hello_and_headers_say_whether_there_are_sums)
{
	struct tcpx_hello hello = { .session = 1, .role = TCPX_ROLE_OPENER, .incarnation = 2,
				    .name = "a", .provider = "sock", .channels = 1, .window = 1,
				    .chunk_max = 1 };
	struct tcpx_message m = { .seq = 1, .len = 5, .sum = 0x01020304 }, back;
	size_t plain[2] = { 0 };
	uint8_t room[1000];
	struct tcpx_hello h;
	struct tcpx_buf b;

	for (int sums = 0; sums < 2; sums++) {
		hello.sums = m.summed = sums;
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_hello_write(&b, &hello);
		assert_int_equal(b.pos, sums ? plain[0] + 1 : b.pos);
		plain[0] = b.pos;
		tcpx_buf_init_const(&b, room, plain[0]);
		assert_int_equal(tcpx_hello_read(&b, &h), 0);
		assert_int_equal(h.sums, sums);
		tcpx_buf_init(&b, room + 500, 500);
		tcpx_message_write(&b, &m);
		assert_int_equal(b.pos, sums ? plain[1] + 4 : b.pos);
		plain[1] = b.pos;
		tcpx_buf_init_const(&b, room + 500, plain[1]);
		assert_int_equal(tcpx_message_read(&b, &back), 0);
		assert_int_equal(back.summed, sums);
		assert_int_equal(back.sum, sums ? m.sum : 0);
	}
	for (int wishes = 0; wishes < 256; wishes++) {
		room[plain[0] - 1] = (uint8_t)wishes;
		tcpx_buf_init_const(&b, room, plain[0]);
		assert_int_equal(tcpx_hello_read(&b, &h), wishes >= 1 && wishes <= 3 ? 0 : TCPX_EPROTO);
	}
	tcpx_buf_init_const(&b, room + 500, plain[1] - 1);
	assert_int_equal(tcpx_message_read(&b, &back), TCPX_EPROTO);
}
