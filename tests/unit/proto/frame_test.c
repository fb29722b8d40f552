/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of every type: what is written is read and written again as the same bytes;
 * frames cut, lengthened or flipped are refused or read without a look outside.
 */
#include <errno.h>

#include "base_test.h"
#include "proto/frame.h"

#define PAYLOAD_MAX (TCPX_FRAME_MAX - TCPX_FRAME_HEAD)

static const uint8_t filler[PAYLOAD_MAX] = { 7, 7, 7 };

struct refusal {
	int32_t code;
	char text[TCPX_TEXT_MAX];
};

union any {
	struct tcpx_hello hello;
	struct tcpx_resume resume;
	struct tcpx_handles handles;
	struct tcpx_readiness ready;
	struct tcpx_open open;
	struct tcpx_listframe list;
	struct tcpx_done done;
	struct tcpx_chan_event event;
	struct refusal refuse;
};

static void
fill_bytes(struct tcpx_rng *rng, void *dst, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)dst)[i] = (uint8_t)tcpx_rng_next(rng);
}

static void
fill_text(struct tcpx_rng *rng, char *dst, size_t cap)
{
	size_t len = tcpx_rng_below(rng, cap);

	memset(dst, 0, cap);
	for (size_t i = 0; i < len; i++)
		dst[i] = (char)tcpx_rng_between(rng, 0x20, 0x7e);
}

static void
hello_fill(union any *a, struct tcpx_rng *rng)
{
	struct tcpx_hello *h = &a->hello;

	fill_bytes(rng, &h->session, offsetof(struct tcpx_hello, wants_auth) -
					     offsetof(struct tcpx_hello, session));
	h->version_min = 1;
	h->version_max = (uint16_t)tcpx_rng_between(rng, 1, 9);
	h->wants_auth = (uint8_t)tcpx_rng_below(rng, 2);
	fill_text(rng, h->name, sizeof(h->name));
	fill_text(rng, h->provider, sizeof(h->provider));
	h->channels = (uint16_t)tcpx_rng_between(rng, 1, TCPX_CHANNELS_MAX);
	h->window = (uint16_t)tcpx_rng_between(rng, 1, UINT16_MAX);
	h->chunk_max = (uint32_t)tcpx_rng_between(rng, 1, UINT32_MAX);
	h->credit_xfers = (uint32_t)tcpx_rng_next(rng);
	h->credit_list_bytes = tcpx_rng_next(rng);
	h->nic_count = (uint16_t)tcpx_rng_below(rng, TCPX_NICS_MAX + 1);
	for (uint16_t i = 0; i < h->nic_count; i++) {
		struct tcpx_hello_nic *n = &h->nic[i];

		fill_text(rng, n->name, sizeof(n->name));
		n->addr.family = tcpx_rng_below(rng, 2) ? 4 : 6;
		n->addr.prefix = (uint8_t)tcpx_rng_below(rng, n->addr.family == 4 ? 33 : 129);
		fill_bytes(rng, n->addr.ip, n->addr.family == 4 ? 4 : 16);
		n->scope = (uint32_t)tcpx_rng_next(rng);
		n->port = (uint16_t)tcpx_rng_next(rng);
	}
}

static void
resume_fill(union any *a, struct tcpx_rng *rng)
{
	fill_bytes(rng, &a->resume, sizeof(a->resume));
}

static void
ready_fill(union any *a, struct tcpx_rng *rng)
{
	fill_bytes(rng, &a->ready, sizeof(a->ready));
}

static void
handles_fill(union any *a, struct tcpx_rng *rng)
{
	struct tcpx_handles *h = &a->handles;

	fill_bytes(rng, h->token, sizeof(h->token));
	h->count = (uint16_t)(2 * tcpx_rng_below(rng, TCPX_CHANNELS_MAX + 1));
	for (uint16_t i = 0; i < h->count; i++) {
		h->usable[i] = tcpx_rng_below(rng, 4) > 0;
		h->far_nic[i] = (uint16_t)tcpx_rng_below(rng, TCPX_NICS_MAX);
		if (h->usable[i])
			fill_bytes(rng, h->handle[i], tcpx_rng_below(rng, TCPX_HANDLE_MAX - 8));
	}
}

static void
open_fill(union any *a, struct tcpx_rng *rng)
{
	struct tcpx_open *o = &a->open;

	o->id = tcpx_rng_next(rng);
	o->op = (uint8_t)tcpx_rng_between(rng, TCPX_WIRE_WRITE, TCPX_WIRE_SEND);
	o->flags = (uint8_t)tcpx_rng_below(rng, 8);
	if (o->op == TCPX_WIRE_READ)
		o->flags &= ~TCPX_OPEN_INLINE;
	if (o->op == TCPX_WIRE_SEND)
		o->flags &= ~TCPX_OPEN_MORE;
	o->total = tcpx_rng_below(rng, 3000);
	o->chunk = (uint32_t)tcpx_rng_between(rng, 1, UINT32_MAX);
	o->tag = tcpx_rng_next(rng);
	if (o->flags & TCPX_OPEN_NOTE) {
		o->note = filler;
		o->note_len = (uint16_t)tcpx_rng_below(rng, TCPX_NOTE_MAX + 1);
	}
	if (o->op != TCPX_WIRE_SEND) {
		o->entry_count = (uint32_t)tcpx_rng_next(rng);
		o->list = filler;
		o->list_len = (uint16_t)tcpx_rng_below(rng, 4000);
	}
	if (o->flags & TCPX_OPEN_INLINE)
		o->payload = filler;
}

static void
list_fill(union any *a, struct tcpx_rng *rng)
{
	a->list.id = tcpx_rng_next(rng);
	a->list.more = tcpx_rng_below(rng, 2);
	a->list.list = filler;
	a->list.list_len = (uint16_t)tcpx_rng_below(rng, 16000);
}

static void
done_fill(union any *a, struct tcpx_rng *rng)
{
	a->done.id = tcpx_rng_next(rng);
	a->done.code = -(int32_t)tcpx_rng_below(rng, 2000);
	a->done.bytes = tcpx_rng_next(rng);
	fill_text(rng, a->done.text, sizeof(a->done.text));
	if (tcpx_rng_below(rng, 2)) {
		a->done.payload = filler;
		a->done.payload_len = (uint16_t)tcpx_rng_below(rng, 16000);
	}
}

static void
event_fill(union any *a, struct tcpx_rng *rng)
{
	a->event.backward = (uint8_t)tcpx_rng_below(rng, 2);
	a->event.channel = (uint16_t)tcpx_rng_below(rng, TCPX_CHANNELS_MAX);
	a->event.generation = (uint16_t)tcpx_rng_next(rng);
	a->event.seq = tcpx_rng_next(rng);
	a->event.applied = tcpx_rng_next(rng);
	fill_text(rng, a->event.text, sizeof(a->event.text));
}

static void
refuse_fill(union any *a, struct tcpx_rng *rng)
{
	a->refuse.code = -(int32_t)tcpx_rng_below(rng, INT32_MAX);
	fill_text(rng, a->refuse.text, sizeof(a->refuse.text));
}

/* The type's own pair of functions behind one shape. */
#define CODEC(noun)                                                                        \
	static void noun##_put(struct tcpx_buf *b, const union any *a)                     \
	{                                                                                  \
		tcpx_##noun##_write(b, &a->noun);                                          \
	}                                                                                  \
	static int noun##_get(struct tcpx_buf *b, union any *a)                            \
	{                                                                                  \
		return tcpx_##noun##_read(b, &a->noun);                                    \
	}
#define tcpx_event_write tcpx_chan_event_write
#define tcpx_event_read  tcpx_chan_event_read
CODEC(hello)
CODEC(resume)
CODEC(handles)
CODEC(ready)
CODEC(done)
CODEC(event)

static void
open_put(struct tcpx_buf *b, const union any *a)
{
	const struct tcpx_open *o = &a->open;

	tcpx_open_write(b, o);
	tcpx_buf_put_bytes(b, o->list, o->list_len);
	tcpx_open_finish(b, o->flags, o->payload, o->payload ? (uint16_t)o->total : 0);
}

static int
open_get(struct tcpx_buf *b, union any *a)
{
	return tcpx_open_read(b, &a->open);
}

static void
list_put(struct tcpx_buf *b, const union any *a)
{
	tcpx_listframe_write(b, a->list.id);
	tcpx_buf_put_bytes(b, a->list.list, a->list.list_len);
	tcpx_listframe_finish(b, a->list.more);
}

static int
list_get(struct tcpx_buf *b, union any *a)
{
	return tcpx_listframe_read(b, &a->list);
}

static void
refuse_put(struct tcpx_buf *b, const union any *a)
{
	tcpx_refuse_write(b, a->refuse.code, a->refuse.text);
}

static int
refuse_get(struct tcpx_buf *b, union any *a)
{
	return tcpx_refuse_read(b, &a->refuse.code, a->refuse.text);
}

static const struct codec {
	const char *name;
	void (*fill)(union any *a, struct tcpx_rng *rng);
	void (*put)(struct tcpx_buf *b, const union any *a);
	int (*get)(struct tcpx_buf *b, union any *a);
	bool grows; /* later versions may append */
} codecs[] = {
	{ "HELLO", hello_fill, hello_put, hello_get, true },
	{ "RESUME", resume_fill, resume_put, resume_get, false },
	{ "HANDLES", handles_fill, handles_put, handles_get, false },
	{ "READY", ready_fill, ready_put, ready_get, false },
	{ "OPEN", open_fill, open_put, open_get, false },
	{ "LIST", list_fill, list_put, list_get, false },
	{ "DONE", done_fill, done_put, done_get, false },
	{ "CHANNEL_DOWN", event_fill, event_put, event_get, false },
	{ "REFUSE", refuse_fill, refuse_put, refuse_get, false },
};

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

static void
every_type_is_read_as_written(void **state)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	uint8_t room[PAYLOAD_MAX], again[PAYLOAD_MAX];

	for (size_t i = 0; i < ARRAY_LEN(codecs); i++) {
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

static void
fields_are_the_ones_written(void **state)
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

static void
frames_cut_anywhere_are_refused(void **state)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	uint8_t room[PAYLOAD_MAX + 1], again[PAYLOAD_MAX];

	for (size_t i = 0; i < ARRAY_LEN(codecs); i++) {
		size_t len = random_frame(&codecs[i], &rng, room), unused;

		for (size_t cut = 0; cut < len; cut += cut < 300 ? 1 : 97)
			check(codecs[i].name, "cut",
			      decode(&codecs[i], room, cut, again, &unused), TCPX_EPROTO);
		check(codecs[i].name, "cut at its last byte",
		      decode(&codecs[i], room, len - 1, again, &unused), TCPX_EPROTO);
		check(codecs[i].name, "one byte more",
		      decode(&codecs[i], room, len + 1, again, &unused),
		      codecs[i].grows ? 0 : TCPX_EPROTO);
	}
}

static void
writers_stop_at_the_end_of_the_buffer(void **state)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	union any *a = calloc(1, sizeof(*a));
	uint8_t room[PAYLOAD_MAX];

	for (size_t i = 0; i < ARRAY_LEN(codecs); i++) {
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

static void
flipped_bits_are_refused_or_read_whole(void **state)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	uint8_t room[PAYLOAD_MAX], again[PAYLOAD_MAX];

	for (size_t i = 0; i < ARRAY_LEN(codecs); i++) {
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
	{ "HELLO from version 0", 0, 1, 0 },
	{ "HELLO, versions backward", 0, 0, 1 },
	{ "HELLO, auth 2", 0, 44, 2 },
	{ "HELLO, control character in its name", 0, 47, '\n' },
	{ "HANDLES, odd count", 2, 17, 1 },
	{ "HANDLES, too many", 2, 16, 1 },
	{ "OPEN, operation 0", 4, 8, 0 },
	{ "OPEN, operation 4", 4, 8, 4 },
	{ "OPEN, unknown flag", 4, 9, 8 },
	{ "OPEN, 2^56 bytes", 4, 10, 1 },
	{ "OPEN, note longer than allowed", 4, 34, 0x40 },
	{ "LIST, more 2", 5, 8, 2 },
	{ "DONE, positive code", 6, 8, 0 },
	{ "CHANNEL_DOWN, direction 2", 7, 0, 2 },
	{ "CHANNEL_DOWN, channel 64", 7, 2, 64 },
	{ "REFUSE, positive code", 8, 0, 0 },
};

static void
values_not_allowed_are_refused(void **state)
{
	static const union any good[ARRAY_LEN(codecs)] = {
		[0].hello = { .version_min = 1, .version_max = 1, .name = "name",
			      .provider = "sock", .channels = 1, .window = 1, .chunk_max = 1 },
		[4].open = { .op = TCPX_WIRE_WRITE, .total = 5, .chunk = 1 },
		[6].done = { .code = -1 },
		[8].refuse = { .code = -1 },
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
	{ "no chunk size", { .op = TCPX_WIRE_WRITE, .total = 3 }, 0 },
};

static void
opens_that_make_no_sense_are_refused(void **state)
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

static void
counts_above_the_limit_are_not_written(void **state)
{
	union any *a = calloc(1, sizeof(*a));
	uint8_t room[PAYLOAD_MAX];

	a->hello.nic_count = TCPX_NICS_MAX + 1;
	assert_true(encode(&codecs[0], a, room, sizeof(room)) == SIZE_MAX);
	memset(a, 0, sizeof(*a));
	a->handles.count = 2 * TCPX_CHANNELS_MAX + 2;
	assert_true(encode(&codecs[2], a, room, sizeof(room)) == SIZE_MAX);
	free(a);
}

/* ---- heads ------------------------------------------------------------------------- */

static void
every_head_is_read_as_written(void **state)
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

static void
heads_follow_the_table(void **state)
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
static void
any_flipped_bit_of_a_head_is_refused(void **state)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_read_as_written),
		cmocka_unit_test(fields_are_the_ones_written),
		cmocka_unit_test(frames_cut_anywhere_are_refused),
		cmocka_unit_test(writers_stop_at_the_end_of_the_buffer),
		cmocka_unit_test(flipped_bits_are_refused_or_read_whole),
		cmocka_unit_test(values_not_allowed_are_refused),
		cmocka_unit_test(opens_that_make_no_sense_are_refused),
		cmocka_unit_test(counts_above_the_limit_are_not_written),
		cmocka_unit_test(every_head_is_read_as_written),
		cmocka_unit_test(heads_follow_the_table),
		cmocka_unit_test(any_flipped_bit_of_a_head_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
