/* SPDX-License-Identifier: Apache-2.0 */
/* The byte cursor: values put are values got, and never a byte beyond. */
#include "base_test.h"

#include "base/buf.h"

TEST(integers_are_big_endian)
{
	static const uint8_t want[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	uint8_t bytes[15];
	struct tcpx_buf b;

	tcpx_buf_init(&b, bytes, sizeof(bytes));
	tcpx_buf_put_u8(&b, 0x01);
	tcpx_buf_put_u16(&b, 0x0203);
	tcpx_buf_put_u32(&b, 0x04050607);
	tcpx_buf_put_u64(&b, 0x08090a0b0c0d0e0f);
	assert_false(b.bad);
	assert_int_equal(tcpx_buf_left(&b), 0);
	assert_memory_equal(bytes, want, sizeof(want));
}

TEST(access_that_does_not_fit_does_nothing_and_marks_bad)
{
	uint8_t bytes[4] = { 9, 9, 9, 9 };
	uint8_t dst[3] = { 7, 7, 7 };
	struct tcpx_buf b;

	tcpx_buf_init(&b, bytes, 3);
	tcpx_buf_put_u32(&b, 0);
	assert_true(b.bad);
	tcpx_buf_put_u8(&b, 0); /* would fit, but the cursor is bad */
	assert_int_equal(bytes[0], 9);
	assert_int_equal(b.pos, 0);
	assert_int_equal(tcpx_buf_left(&b), 0);
	assert_int_equal(tcpx_buf_get_u8(&b), 0);
	tcpx_buf_get_bytes(&b, dst, sizeof(dst));
	assert_int_equal(dst[0] | dst[1] | dst[2], 0);
	assert_null(tcpx_buf_borrow(&b, 0));
}

TEST(length_near_the_largest_does_not_wrap)
{
	uint8_t bytes[8] = { 0 };
	struct tcpx_buf b;

	tcpx_buf_init(&b, bytes, sizeof(bytes));
	tcpx_buf_get_u32(&b);
	assert_null(tcpx_buf_borrow(&b, SIZE_MAX));
	assert_true(b.bad);
}

TEST(nothing_at_all_is_a_buffer)
{
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, NULL, 0);
	tcpx_buf_put_bytes(&b, NULL, 0);
	tcpx_buf_get_bytes(&b, NULL, 0);
	assert_false(b.bad);
	tcpx_buf_get_u8(&b);
	assert_true(b.bad);
}

static const struct {
	const char *name;
	const char *bytes;
	size_t len;
	bool bad;
	uint64_t value;
} vars[] = {
	{ "zero", "\0", 1, false, 0 },
	{ "127", "\x7f", 1, false, 127 },
	{ "128", "\x80\x01", 2, false, 128 },
	{ "300", "\xac\x02", 2, false, 300 },
	{ "largest", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, false, UINT64_MAX },
	{ "one bit too many", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, true, 0 },
	{ "eleven bytes", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, true, 0 },
	{ "padded", "\x81\0", 2, true, 0 },
	{ "padded zero", "\x80\0", 2, true, 0 },
	{ "cut off", "\x80", 1, true, 0 },
	{ "empty", "", 0, true, 0 },
};

TEST(var_table)
{
	for (size_t i = 0; i < ARRAY_LEN(vars); i++) {
		struct tcpx_buf b;
		uint64_t v;

		tcpx_buf_init_const(&b, vars[i].bytes, vars[i].len);
		v = tcpx_buf_get_var(&b);
		check(vars[i].name, "bad", b.bad, vars[i].bad);
		check(vars[i].name, "value", v, vars[i].value);
		if (!b.bad)
			check(vars[i].name, "left", tcpx_buf_left(&b), 0);
	}
}

static const struct {
	const char *name;
	const char *bytes;
	size_t len, cap;
	bool bad;
} strings[] = {
	{ "fits exactly", "\0\003abc", 5, 4, false },
	{ "empty", "\0\0", 2, 1, false },
	{ "no room for the NUL", "\0\003abc", 5, 3, true },
	{ "no room at all", "\0\0", 2, 0, true },
	{ "NUL inside", "\0\003a\0c", 5, 8, true },
	{ "cut off", "\0\004abc", 5, 8, true },
	{ "length cut off", "\0", 1, 8, true },
};

TEST(string_table)
{
	for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
		char dst[8] = "?";
		struct tcpx_buf b;
		size_t len;

		tcpx_buf_init_const(&b, strings[i].bytes, strings[i].len);
		len = tcpx_buf_get_str(&b, dst, strings[i].cap);
		check(strings[i].name, "bad", b.bad, strings[i].bad);
		if (strings[i].cap)
			check(strings[i].name, "length", strlen(dst), len);
	}
}

TEST(string_that_does_not_fit_leaves_no_half)
{
	static char longer[65536];
	uint8_t bytes[4] = { 9, 9, 9, 9 };
	struct tcpx_buf b;

	tcpx_buf_init(&b, bytes, sizeof(bytes));
	tcpx_buf_put_str(&b, "abc", 3);
	assert_true(b.bad);
	assert_int_equal(bytes[0], 9);

	tcpx_buf_init(&b, longer, sizeof(longer));
	tcpx_buf_put_str(&b, longer, 65536);
	assert_true(b.bad);
}

enum { U8, U16, U32, U64, VAR, BYTES, STR, KINDS };

struct item {
	unsigned kind;
	uint64_t v;
	char text[16];
	size_t len;
};

static struct item
item_random(struct tcpx_rng *rng)
{
	static const uint64_t mask[] = { 0xff, 0xffff, 0xffffffff, UINT64_MAX, UINT64_MAX };
	struct item it = { .kind = (unsigned)tcpx_rng_below(rng, KINDS) };

	if (it.kind <= VAR)
		it.v = tcpx_rng_next(rng) >> tcpx_rng_below(rng, 64) & mask[it.kind];
	it.len = tcpx_rng_below(rng, sizeof(it.text));
	for (size_t i = 0; i < it.len; i++)
		it.text[i] = (char)tcpx_rng_between(rng, 1, 127);
	return it;
}

static void
put_var(struct tcpx_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		tcpx_buf_put_u8(b, (uint8_t)(v | 0x80));
	tcpx_buf_put_u8(b, (uint8_t)v);
}

static void
item_put(struct tcpx_buf *b, const struct item *it)
{
	switch (it->kind) {
	case U8: tcpx_buf_put_u8(b, (uint8_t)it->v); break;
	case U16: tcpx_buf_put_u16(b, (uint16_t)it->v); break;
	case U32: tcpx_buf_put_u32(b, (uint32_t)it->v); break;
	case U64: tcpx_buf_put_u64(b, it->v); break;
	case VAR: put_var(b, it->v); break;
	case BYTES: tcpx_buf_put_bytes(b, it->text, it->len); break;
	default: tcpx_buf_put_str(b, it->text, it->len);
	}
}

static bool
item_same(struct tcpx_buf *b, const struct item *it)
{
	char text[16] = "";

	switch (it->kind) {
	case U8: return tcpx_buf_get_u8(b) == it->v;
	case U16: return tcpx_buf_get_u16(b) == it->v;
	case U32: return tcpx_buf_get_u32(b) == it->v;
	case U64: return tcpx_buf_get_u64(b) == it->v;
	case VAR: return tcpx_buf_get_var(b) == it->v;
	case BYTES: tcpx_buf_get_bytes(b, text, it->len); break;
	default:
		if (tcpx_buf_get_str(b, text, sizeof(text)) != it->len)
			return false;
	}
	return !memcmp(text, it->text, it->len);
}

/* Any sequence of items reads back; cut anywhere before its end it turns bad. */
TEST(what_is_put_is_got)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 300; round++) {
		struct item items[20];
		uint8_t bytes[20 * 18];
		struct tcpx_buf b;
		size_t len;

		tcpx_buf_init(&b, bytes, sizeof(bytes));
		for (size_t i = 0; i < ARRAY_LEN(items); i++) {
			items[i] = item_random(&rng);
			item_put(&b, &items[i]);
		}
		check_random(seed, !b.bad);
		len = b.pos;

		tcpx_buf_init_const(&b, bytes, len);
		for (size_t i = 0; i < ARRAY_LEN(items); i++)
			check_random(seed, item_same(&b, &items[i]));
		check_random(seed, !b.bad && tcpx_buf_left(&b) == 0);

		if (!len)
			continue;
		tcpx_buf_init_const(&b, bytes, tcpx_rng_below(&rng, len));
		for (size_t i = 0; i < ARRAY_LEN(items); i++)
			item_same(&b, &items[i]);
		check_random(seed, b.bad);
	}
}

/* A value has one form: bytes that are accepted are the bytes that would be written. */
TEST(var_has_one_form)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[12], again[12];
		struct tcpx_buf b, w;
		uint64_t v;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)(tcpx_rng_next(&rng) |
					     (tcpx_rng_below(&rng, 8) ? 0x80 : 0));
		tcpx_buf_init_const(&b, bytes, sizeof(bytes));
		v = tcpx_buf_get_var(&b);
		if (b.bad)
			continue;
		tcpx_buf_init(&w, again, sizeof(again));
		put_var(&w, v);
		check_random(seed, w.pos == b.pos && !memcmp(bytes, again, w.pos));
	}
}
