/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of every type: what is written is read and written again as the same bytes; frames
 * cut, lengthened or flipped are refused or read within their bounds.
 */
#include "base_test.h"
#include "base/err.h"
#include "frame_codec.h"

static size_t
encode(const struct codec *c, const union any *a, uint8_t *room, size_t cap)
{
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, cap);
	c->put(&b, a);
	return b.bad ? SIZE_MAX : b.pos;
}

/* From memory of exactly that size, so that ASan sees every byte too far. On success
 * *again is what the value read looks like when written. */
static int
decode(const struct codec *c, const uint8_t *data, size_t len, uint8_t *again, size_t *again_len)
{
	uint8_t *exact = malloc(len ? len : 1);
	union any *a = malloc(sizeof(*a));
	struct tcpx_buf b;
	int rc;

	memset(a, 0xee, sizeof(*a));
	memcpy(exact, data, len);
	tcpx_buf_init_const(&b, exact, len);
	rc = c->get(&b, a);
	if (!rc)
		*again_len = encode(c, a, again, PAYLOAD_MAX);
	else if (((uint8_t *)a)[0] != 0xee)
		rc = 1; /* written on failure */
	free(exact);
	free(a);
	return rc;
}

static size_t
random_frame(const struct codec *c, struct tcpx_rng *rng, uint8_t *room)
{
	union any *a = calloc(1, sizeof(*a));
	size_t len;

	c->fill(a, rng);
	len = encode(c, a, room, PAYLOAD_MAX);
	free(a);
	return len;
}

TEST(every_type_is_read_as_written)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	uint8_t room[PAYLOAD_MAX], again[PAYLOAD_MAX];

	for (size_t i = 0; i < CODECS; i++) {
		for (int round = 0; round < 100; round++) {
			size_t len = random_frame(&codecs[i], &rng, room), again_len = 0;

			check_random(seed, len <= PAYLOAD_MAX);
			check(codecs[i].name, "rc",
			      decode(&codecs[i], room, len, again, &again_len), 0);
			check(codecs[i].name, "length", again_len, len);
			check(codecs[i].name, "bytes", memcmp(room, again, len), 0);
		}
	}
}

TEST(fields_are_the_ones_written)
{
	uint8_t room[PAYLOAD_MAX];
	struct tcpx_open o = { .id = 5, .op = TCPX_WIRE_WRITE, .flags = TCPX_OPEN_NOTE,
			       .total = 3, .chunk = 65536, .tag = 9, .entry_count = 2,
			       .note = (const uint8_t *)"note", .note_len = 4 }, got;
	struct tcpx_done d = { .id = 6, .code = TCPX_ERANGE, .bytes = 77, .text = "out of\nrange" };
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_open_write(&b, &o);
	tcpx_buf_put_bytes(&b, "list!", 5);
	tcpx_open_finish(&b, TCPX_OPEN_INLINE, "abc", 3);
	tcpx_buf_init_const(&b, room, b.pos);
	assert_int_equal(tcpx_open_read(&b, &got), 0);
	assert_int_equal(got.id, 5);
	assert_int_equal(got.flags, TCPX_OPEN_NOTE | TCPX_OPEN_INLINE);
	assert_int_equal(got.entry_count, 2);
	assert_int_equal(got.tag, 9);
	assert_int_equal(got.note_len, 4);
	assert_memory_equal(got.note, "note", 4);
	assert_int_equal(got.list_len, 5);
	assert_memory_equal(got.list, "list!", 5);
	assert_memory_equal(got.payload, "abc", 3);

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_done_write(&b, &d);
	tcpx_buf_init_const(&b, room, b.pos);
	assert_int_equal(tcpx_done_read(&b, &d), 0);
	assert_int_equal(d.code, TCPX_ERANGE);
	assert_int_equal(d.bytes, 77);
	assert_null(d.payload);
	check_text("a log line stays a line", d.text, "out of?range");
}

TEST(frames_cut_anywhere_are_refused)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	uint8_t room[PAYLOAD_MAX + 1], again[PAYLOAD_MAX];

	for (size_t i = 0; i < CODECS; i++) {
		size_t len = random_frame(&codecs[i], &rng, room), unused;

		for (size_t cut = 0; cut < len; cut += cut < 300 ? 1 : 97)
			check(codecs[i].name, "cut", decode(&codecs[i], room, cut, again, &unused),
			      codecs[i].may_lack && cut + codecs[i].may_lack == len ? 0 : TCPX_EPROTO);
		check(codecs[i].name, "cut at its last byte",
		      decode(&codecs[i], room, len - 1, again, &unused), TCPX_EPROTO);
		check(codecs[i].name, "one byte more",
		      decode(&codecs[i], room, len + 1, again, &unused),
		      codecs[i].grows ? 0 : TCPX_EPROTO);
	}
}

TEST(writers_stop_at_the_end_of_the_buffer)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	union any *a = calloc(1, sizeof(*a));
	uint8_t room[PAYLOAD_MAX];

	for (size_t i = 0; i < CODECS; i++) {
		size_t len;

		memset(a, 0, sizeof(*a));
		codecs[i].fill(a, &rng);
		len = encode(&codecs[i], a, room, sizeof(room));
		for (size_t cap = 0; cap < len; cap += cap < 300 ? 1 : 97) {
			uint8_t *exact = malloc(cap ? cap : 1);

			check(codecs[i].name, "fits", encode(&codecs[i], a, exact, cap), SIZE_MAX);
			free(exact);
		}
	}
	free(a);
}

TEST(flipped_bits_are_refused_or_read_whole)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	uint8_t room[PAYLOAD_MAX], again[PAYLOAD_MAX];

	for (size_t i = 0; i < CODECS; i++) {
		for (int round = 0; round < 300; round++) {
			size_t len = random_frame(&codecs[i], &rng, room), again_len = 0;
			size_t span = round % 2 ? len : len < 64 ? len : 64;
			int rc;

			for (uint64_t n = tcpx_rng_between(&rng, 1, 3); n > 0; n--)
				room[tcpx_rng_below(&rng, span)] ^= 1u << tcpx_rng_below(&rng, 8);
			rc = decode(&codecs[i], room, len, again, &again_len);
			check_random(seed, rc == 0 || rc == TCPX_EPROTO);
			check_random(seed, rc || again_len == len || codecs[i].grows);
		}
	}
}

/* One byte of an otherwise good frame is set to a value that is not allowed. */
static const struct {
	const char *name;
	size_t codec, at;
	uint8_t value;
} wrong_cases[] = {
	{ "START from version 0", START, 1, 0 },
	{ "START, versions backward", START, 0, 1 },
	{ "START, sealed 2", START, 4, 2 },
	{ "START, kind 0", START, 5, 0 },
	{ "START, kind 4", START, 5, 4 },
	{ "HELLO, role 0", HELLO, 8, 0 },
	{ "HELLO, role 3", HELLO, 8, 3 },
	{ "HELLO, address of family 5", HELLO, 27, 5 },
	{ "HELLO, control character in its name", HELLO, 56, '\n' },
	{ "HANDLES, zero at the end of a handle", HANDLES, 37, 0 },
	{ "HANDLES, handle of 129 bytes", HANDLES, 36, 129 },
	{ "HANDLES, too many", HANDLES, 32, 1 },
	{ "OPEN, operation 0", OPEN, 8, 0 },
	{ "OPEN, operation 4", OPEN, 8, 4 },
	{ "OPEN, unknown flag", OPEN, 9, 8 },
	{ "OPEN, 2^56 bytes", OPEN, 10, 1 },
	{ "LIST, more 2", LIST, 8, 2 },
	{ "DONE, positive code", DONE, 8, 0 },
	{ "CHANNEL_DOWN, direction 2", CHANNEL_DOWN, 0, 2 },
	{ "CHANNEL_DOWN, channel 64", CHANNEL_DOWN, 2, 64 },
	{ "CHANNEL_HANDLE, direction 2", CHANNEL_HANDLE, 0, 2 },
	{ "CHANNEL_HANDLE, channel 64", CHANNEL_HANDLE, 2, 64 },
	{ "CHANNEL_HANDLE, 129 bytes", CHANNEL_HANDLE, 21, 129 },
	{ "REFUSE, positive code", REFUSE, 0, 0 },
};

TEST(values_not_allowed_are_refused)
{
	static const union any good[CODECS] = {
		[START].start = { .version_min = 1, .version_max = 1, .kind = TCPX_START_NEW },
		[HELLO].hello = { .role = TCPX_ROLE_OPENER, .incarnation = 1, .name = "name",
			      .provider = "sock", .channels = 1, .window = 1, .chunk_max = 1 },
		[HANDLES].handles = { .count = 2, .usable = { true }, .handle = { { 5 } } },
		[OPEN].open = { .op = TCPX_WIRE_WRITE, .total = 5, .chunk = 1 },
		[DONE].done = { .code = -1 },
		[REFUSE].refuse = { .code = -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(wrong_cases); i++) {
		const struct codec *c = &codecs[wrong_cases[i].codec];
		uint8_t room[PAYLOAD_MAX], again[PAYLOAD_MAX];
		size_t unused, len = encode(c, &good[wrong_cases[i].codec], room, sizeof(room));

		check(wrong_cases[i].name, "as it was", decode(c, room, len, again, &unused), 0);
		room[wrong_cases[i].at] = wrong_cases[i].value;
		check(wrong_cases[i].name, "rc", decode(c, room, len, again, &unused),
		      TCPX_EPROTO);
	}
}

static const struct {
	const char *name;
	struct tcpx_open o;
	uint16_t payload;
} odd_opens[] = {
	{ "READ with payload", { .op = TCPX_WIRE_READ, .total = 3, .chunk = 9,
				 .flags = TCPX_OPEN_INLINE }, 3 },
	{ "SEND with entries", { .op = TCPX_WIRE_SEND, .chunk = 9, .entry_count = 1 }, 0 },
	{ "SEND with more to come", { .op = TCPX_WIRE_SEND, .chunk = 9,
				      .flags = TCPX_OPEN_MORE }, 0 },
	{ "payload shorter than total", { .op = TCPX_WIRE_WRITE, .total = 4, .chunk = 9,
					  .flags = TCPX_OPEN_INLINE }, 3 },
	{ "payload without its flag", { .op = TCPX_WIRE_WRITE, .total = 3, .chunk = 9 }, 3 },
	{ "note of 8193 bytes", { .op = TCPX_WIRE_WRITE, .chunk = 9, .flags = TCPX_OPEN_NOTE,
				  .note = filler, .note_len = TCPX_NOTE_MAX + 1 }, 0 },
	{ "no chunk size", { .op = TCPX_WIRE_WRITE, .total = 3 }, 0 },
};

TEST(opens_that_make_no_sense_are_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(odd_opens); i++) {
		uint8_t room[PAYLOAD_MAX];
		struct tcpx_open got;
		struct tcpx_buf b;

		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_open_write(&b, &odd_opens[i].o);
		tcpx_open_finish(&b, odd_opens[i].o.flags, filler, odd_opens[i].payload);
		tcpx_buf_init_const(&b, room, b.pos);
		check(odd_opens[i].name, "rc", tcpx_open_read(&b, &got), TCPX_EPROTO);
	}
}

TEST(counts_not_allowed_do_not_travel)
{
	union any *a = calloc(1, sizeof(*a));
	uint8_t room[PAYLOAD_MAX];
	size_t unused;

	a->hello.nic_count = TCPX_NICS_MAX + 1;
	assert_true(encode(&codecs[HELLO], a, room, sizeof(room)) == SIZE_MAX);
	memset(a, 0, sizeof(*a));
	a->handles.count = 2 * TCPX_CHANNELS_MAX + 2;
	assert_true(encode(&codecs[HANDLES], a, room, sizeof(room)) == SIZE_MAX);
	memset(a, 0, sizeof(*a));
	a->handles.count = 1; /* as many backward as forward */
	assert_int_equal(decode(&codecs[HANDLES], room, encode(&codecs[HANDLES], a, room, sizeof(room)), room,
				&unused),
			 TCPX_EPROTO);
	free(a);
}
