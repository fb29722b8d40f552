/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces never touch each other or the edges, iovecs cover the stream, and a byte in the
 * wrong place is distinguished from a missing one.
 */
#include "cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/perf/layout.h"
#include "tool/tool.h"

static const struct {
	uint64_t total, count;
} shapes[] = {
	{ 0, 1 }, { 1, 1 }, { 1000003, 1 }, { 64, 64 }, { 65, 64 }, { 100003, 7 }, { 1 << 20, 128 },
};

TEST(pieces_do_not_overlap_and_leave_gaps)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct layout l;
		uint64_t sum = 0;
		uint8_t *used;

		assert_int_equal(layout_init(&l, shapes[i].total, shapes[i].count, i), 0);
		assert_int_equal(l.span, layout_span(l.total, l.count));
		used = calloc(1, l.span);
		for (uint64_t k = 0; k < l.count; k++) {
			uint64_t at = layout_piece_at(&l, k), len = layout_piece_len(&l, k);

			assert_true(at > 0 && at + len < l.span);
			assert_int_equal(layout_piece_start(&l, k), sum);
			assert_int_equal(used[at - 1], 0);
			assert_int_equal(used[at + len], 0);
			for (uint64_t b = at; b < at + len; b++)
				assert_int_equal(used[b]++, 0);
			sum += len;
		}
		assert_int_equal(sum, l.total);
		free(used);
		layout_fini(&l);
	}
}

TEST(pieces_and_gaps_are_all_of_the_span)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct layout l;
		uint8_t *used;

		assert_int_equal(layout_init(&l, shapes[i].total, shapes[i].count, i), 0);
		used = calloc(1, l.span);
		for (uint64_t k = 0; k < l.count; k++)
			memset(used + layout_piece_at(&l, k), 1, layout_piece_len(&l, k));
		for (uint64_t k = 0; k <= l.count; k++) {
			uint64_t at, len;

			layout_gap(&l, k, &at, &len);
			for (uint64_t b = at; b < at + len; b++)
				assert_int_equal(used[b]++, 0);
		}
		for (uint64_t b = 0; b < l.span; b++)
			assert_int_equal(used[b], 1);
		free(used);
		layout_fini(&l);
	}
}

TEST(iovecs_follow_the_stream)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct pattern p = pattern_of(i, 0);
		struct layout l;
		struct iovec iov[3];
		uint64_t pos = 0, bytes, first;
		uint8_t *mem;

		assert_int_equal(layout_init(&l, shapes[i].total, shapes[i].count, 9), 0);
		mem = calloc(1, l.span);
		layout_fill(&l, mem, p);
		while (pos < l.total) {
			int n = layout_iov(&l, mem, pos, 1234, iov, 3, &bytes);
			uint64_t sum = 0;

			assert_in_range(n, 1, 3);
			for (int k = 0; k < n; k++) {
				assert_int_equal(pattern_check(p, pos + sum, iov[k].iov_base,
							       iov[k].iov_len, &first), 0);
				sum += iov[k].iov_len;
			}
			assert_int_equal(sum, bytes);
			assert_true(bytes <= 1234);
			pos += bytes;
		}
		assert_int_equal(layout_iov(&l, mem, l.total, 100, iov, 3, &bytes), 0);
		free(mem);
		layout_fini(&l);
	}
}

TEST(more_pieces_than_bytes_are_refused)
{
	struct layout l;

	assert_int_equal(layout_init(&l, 3, 4, 0), -EINVAL);
	assert_int_equal(layout_init(&l, 3, 0, 0), -EINVAL);
	assert_int_equal(layout_init(&l, 1ull << 40, 1 << 25, 0), -EINVAL);
}

static const struct {
	const char *name;
	uint64_t move_from, move_to, len; /* stream offsets; from UINT64_MAX: poison stays */
	const char *says;
} damages[] = {
	{ "moved", 0, 4096, 64, "it belongs to transfer 0 offset 0" },
	{ "missing", UINT64_MAX, 8192, 64, "nothing was written here" },
};

TEST(a_wrong_byte_is_explained)
{
	for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
		struct layout_verdict v;
		struct layout l;
		uint8_t *mem, *copy;
		char where[64];

		assert_int_equal(layout_init(&l, 65536, 1, 0), 0);
		mem = malloc(l.span);
		layout_poison(&l, mem, 20);
		copy = malloc(l.span);
		memcpy(copy, mem, l.span);
		layout_fill(&l, mem, pattern_of(10, 0));
		layout_verify(&l, mem, 10, 0, 1, 20, 4096, &v);
		assert_int_equal(v.wrong, 0);

		memcpy(mem + layout_piece_at(&l, 0) + damages[i].move_to,
		       damages[i].move_from == UINT64_MAX
			       ? copy + layout_piece_at(&l, 0) + damages[i].move_to
			       : mem + layout_piece_at(&l, 0) + damages[i].move_from,
		       damages[i].len);
		layout_verify(&l, mem, 10, 0, 1, 20, 4096, &v);
		assert_in_range(v.wrong, 50, 64);
		snprintf(where, sizeof(where), "transfer 0 chunk %d offset %d",
			 (int)damages[i].move_to / 4096, (int)damages[i].move_to);
		if (!strstr(v.text, where) || !strstr(v.text, damages[i].says))
			fail_msg("%s: \"%s\" lacks \"%s\" or \"%s\"", damages[i].name, v.text, where,
				 damages[i].says);
		free(copy);
		free(mem);
		layout_fini(&l);
	}
}

TEST(a_byte_in_a_gap_is_found)
{
	struct layout_verdict v;
	struct layout l;
	uint8_t *mem;

	assert_int_equal(layout_init(&l, 1000, 10, 1), 0);
	mem = malloc(l.span);
	for (uint64_t at = 0; at < l.span; at += 13) {
		bool gap = true;

		for (uint64_t k = 0; k < l.count; k++)
			gap &= at < layout_piece_at(&l, k) ||
			       at >= layout_piece_at(&l, k) + layout_piece_len(&l, k);
		layout_poison(&l, mem, 2);
		layout_fill(&l, mem, pattern_of(1, 3));
		mem[at] ^= 1;
		layout_verify(&l, mem, 1, 3, 4, 2, 0, &v);
		assert_int_equal(v.wrong, 1);
		assert_int_equal(strstr(v.text, "belongs to no piece") != NULL, gap);
	}
	free(mem);
	layout_fini(&l);
}
