/* SPDX-License-Identifier: Apache-2.0 */
/* Packed lists: for any sizes of memory and frames, what is read is what was written. */
#include "base_test.h"
#include "proto/packed.h"

#define ENTRIES_MAX 3000
#define FRAME       16384

static const struct tcpx_region_ref region[2] = { { .id = 1 }, { .id = 2 } };

struct lists {
	struct tcpx_run_entry entry[ENTRIES_MAX];
	size_t count;
	uint8_t plain[64 * ENTRIES_MAX]; /* the operations without cells */
	size_t plain_len;
};

/* Operations of all sizes. */
static void
lists_init(struct lists *l, struct tcpx_rng *rng, size_t count)
{
	struct tcpx_runs_writer w;
	uint8_t *at = l->plain;

	tcpx_runs_write_init(&w);
	l->count = count;
	for (size_t i = 0; i < count; i++) {
		l->entry[i] = (struct tcpx_run_entry){
			.region = (uint32_t)!tcpx_rng_below(rng, 20),
			.offset = tcpx_rng_next(rng) >> tcpx_rng_between(rng, 8, 63),
			.len = tcpx_rng_below(rng, 3) ? 4096 : tcpx_rng_next(rng) >> 20,
		};
		assert_true(tcpx_runs_write(&w, region, &l->entry[i], &at,
					    l->plain + sizeof(l->plain)));
	}
	assert_true(tcpx_runs_write(&w, region, NULL, &at, l->plain + sizeof(l->plain)));
	l->plain_len = (size_t)(at - l->plain);
}

static void
fill(struct tcpx_packed *o, const struct lists *l, void *room, size_t bytes)
{
	tcpx_packed_init(o, room, bytes);
	for (size_t i = 0; i < l->count; i++)
		assert_int_equal(tcpx_packed_add(o, region, &l->entry[i]), 0);
	assert_int_equal(tcpx_packed_add(o, region, NULL), 0);
}

/* Each frame must be of whole operations: it is read by itself. */
static size_t
read_frame(struct tcpx_runs_reader *r, const struct tcpx_buf *frame, const struct lists *l,
	   size_t seen)
{
	struct tcpx_region_ref intro;
	struct tcpx_run_entry e;
	struct tcpx_buf b;
	int rc;

	tcpx_buf_init_const(&b, frame->data, frame->pos);
	while ((rc = tcpx_runs_read(r, &b, &e, &intro)) > 0) {
		if (rc == 2)
			continue;
		assert_in_range(seen, 0, l->count - 1);
		assert_int_equal(e.region, l->entry[seen].region);
		assert_int_equal(e.offset, l->entry[seen].offset);
		assert_int_equal(e.len, l->entry[seen++].len);
	}
	assert_int_equal(rc, 0);
	return seen;
}

TEST(what_is_kept_is_what_was_written)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct lists *l = malloc(sizeof(*l));
	uint8_t *data = malloc(FRAME);

	for (int round = 0; round < 60; round++) {
		size_t bytes = tcpx_rng_between(&rng, TCPX_PACKED_MIN, 5000), at = 0, seen = 0, sum = 0;
		uint8_t *room = malloc(bytes);
		struct tcpx_runs_reader r;
		struct tcpx_packed o;
		bool done;

		lists_init(l, &rng, tcpx_rng_below(&rng, round % 2 ? 40 : ENTRIES_MAX));
		fill(&o, l, room, bytes);
		for (int again = 0; again < 2; again++, at = seen = sum = 0) {
			tcpx_runs_read_init(&r, 2);
			do {
				struct tcpx_buf b;

				tcpx_buf_init(&b, data, tcpx_rng_between(&rng, TCPX_PACKED_CELL, FRAME));
				done = tcpx_packed_copy(&o, &at, &b);
				check_random(seed, !b.bad && (done || b.pos > 0));
				check_random(seed, !memcmp(data, l->plain + sum, b.pos));
				sum += b.pos;
				seen = read_frame(&r, &b, l, seen);
			} while (!done);
			check_random(seed, seen == l->count);
			check_random(seed, sum == l->plain_len);
		}
		tcpx_packed_fini(&o);
		free(room);
	}
	free(l);
	free(data);
}

TEST(a_list_of_nothing_is_one_empty_cell)
{
	uint8_t room[TCPX_PACKED_MIN], byte;
	struct tcpx_packed o;
	struct tcpx_buf b;
	size_t at = 0;

	tcpx_packed_init(&o, room, sizeof(room));
	assert_int_equal(tcpx_packed_add(&o, region, NULL), 0);
	tcpx_buf_init(&b, &byte, 0);
	assert_true(tcpx_packed_copy(&o, &at, &b));
	assert_int_equal(b.pos, 0);
	tcpx_packed_fini(&o);
}

TEST(nothing_is_written_where_no_cell_fits)
{
	struct tcpx_run_entry e = { 0, 4096, 4096 };
	uint8_t room[TCPX_PACKED_MIN], frame[40] = { 0 };
	struct tcpx_packed o;
	struct tcpx_buf b;
	size_t at = 0;

	tcpx_packed_init(&o, room, sizeof(room));
	assert_int_equal(tcpx_packed_add(&o, region, &e), 0);
	assert_int_equal(tcpx_packed_add(&o, region, NULL), 0);
	tcpx_buf_init(&b, frame, 10);
	assert_false(tcpx_packed_copy(&o, &at, &b));
	assert_int_equal(b.pos + at + frame[0], 0);
	assert_false(b.bad);
	tcpx_buf_init(&b, frame, sizeof(frame));
	assert_true(tcpx_packed_copy(&o, &at, &b));
	tcpx_packed_fini(&o);
}

/* What is said of memory in packed.h. */
TEST(a_shuffled_list_costs_at_most_5_bytes_an_entry)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	size_t count = 100000;
	uint8_t *room = malloc(5 * count + TCPX_PACKED_MIN);
	struct tcpx_packed o;

	tcpx_packed_init(&o, room, 5 * count + TCPX_PACKED_MIN);
	for (size_t i = 0; i < count; i++) {
		struct tcpx_run_entry e = { 0, tcpx_rng_below(&rng, count) * 4096, 4096 };

		assert_int_equal(tcpx_packed_add(&o, region, &e), 0);
	}
	assert_int_equal(tcpx_packed_add(&o, region, NULL), 0);
	check_random(seed, o.data == room && o.pos < 5 * count);
	tcpx_packed_fini(&o);
	free(room);
}
