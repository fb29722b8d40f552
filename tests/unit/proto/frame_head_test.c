/* SPDX-License-Identifier: Apache-2.0 */
/* The 20 bytes in front of every frame: valid heads and others. */
#include <errno.h>

#include "base_test.h"
#include "proto/frame.h"

#define PAYLOAD_MAX (TCPX_FRAME_MAX - TCPX_FRAME_HEAD)

TEST(every_head_is_read_as_written)
{
	for (unsigned type = 0; type < 256; type++) {
		bool known = strcmp(tcpx_frame_name((uint8_t)type), "?") != 0;
		uint64_t number = tcpx_frame_numbered((uint8_t)type) ? 0x1234567890ull : 0;
		uint8_t head[TCPX_FRAME_HEAD];
		struct tcpx_frame_head h;

		tcpx_frame_head_write(head, (uint8_t)type, number, 300);
		check(tcpx_frame_name((uint8_t)type), "rc",
		      tcpx_frame_head_read(head, sizeof(head), &h), known ? 0 : TCPX_EPROTO);
		if (!known)
			continue;
		assert_int_equal(h.type, type);
		assert_int_equal(h.number, number);
		assert_int_equal(h.len, TCPX_FRAME_HEAD + 300);
	}
}

static const struct {
	const char *name;
	uint8_t type;
	uint64_t number;
	uint32_t payload;
	int rc;
} head_cases[] = {
	{ "empty", TCPX_FR_PING, 0, 0, 0 },
	{ "largest", TCPX_FR_NOTE, 1, PAYLOAD_MAX, 0 },
	{ "too large", TCPX_FR_NOTE, 1, PAYLOAD_MAX + 1, TCPX_EPROTO },
	{ "shorter than a head", TCPX_FR_NOTE, 1, UINT32_MAX, TCPX_EPROTO },
	{ "of 4 GiB", TCPX_FR_NOTE, 1, UINT32_MAX - TCPX_FRAME_HEAD, TCPX_EPROTO },
	{ "numbered type without a number", TCPX_FR_NOTE, 0, 0, TCPX_EPROTO },
	{ "number on a type without", TCPX_FR_PING, 1, 0, TCPX_EPROTO },
	{ "unknown type", 20, 0, 0, TCPX_EPROTO },
};

TEST(heads_follow_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(head_cases); i++) {
		uint8_t head[TCPX_FRAME_HEAD];
		struct tcpx_frame_head h;

		tcpx_frame_head_write(head, head_cases[i].type, head_cases[i].number,
				      head_cases[i].payload);
		check(head_cases[i].name, "rc", tcpx_frame_head_read(head, sizeof(head), &h),
		      head_cases[i].rc);
		check(head_cases[i].name, "rc of a part",
		      tcpx_frame_head_read(head, sizeof(head) - 1, &h), -EAGAIN);
	}
}

/* All but the upper half of the number, which the order of numbers guards. */
TEST(any_flipped_bit_of_a_head_is_refused)
{
	uint8_t head[TCPX_FRAME_HEAD];
	struct tcpx_frame_head h;

	tcpx_frame_head_write(head, TCPX_FR_NOTE, 7, 40);
	for (size_t bit = 0; bit < 8 * sizeof(head); bit++) {
		if (bit / 8 >= 8 && bit / 8 < 12)
			continue;
		head[bit / 8] ^= 1u << bit % 8;
		assert_int_equal(tcpx_frame_head_read(head, sizeof(head), &h), TCPX_EPROTO);
		head[bit / 8] ^= 1u << bit % 8;
	}
	assert_int_equal(tcpx_frame_head_read(head, sizeof(head), &h), 0);
}
