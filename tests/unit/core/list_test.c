/* SPDX-License-Identifier: Apache-2.0 */
/* Lists as they are made, travel and are checked. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "core/memory/builder.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"

#define REGIONS 11 /* more than a list has room for at first */
#define LEN     (1u << 20)
#define ENTRIES 3000

struct bed {
	struct rig *rig;
	struct mem mem[REGIONS]; /* of b; named at a */
	struct tcpx_rng rng;
	struct tcpx_desc local[ENTRIES], remote[ENTRIES]; /* for b, for a */
	size_t count;
	uint64_t total;
};

static struct bed *
bed_new(struct rig *r)
{
	struct bed *d = calloc(1, sizeof(*d));

	d->rig = r;
	d->rng = tcpx_rng_seed(getenv("TCPX_TEST_SEED") ? strtoull(getenv("TCPX_TEST_SEED"), NULL, 10)
							: 20261122);
	for (int i = 0; i < REGIONS; i++) {
		mem_open(&d->mem[i], r->b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
		d->mem[i].far = mem_tell(&d->mem[i], r->b, r->a);
	}
	return d;
}

static void
bed_free(struct bed *d)
{
	for (int i = 0; i < REGIONS; i++)
		mem_close(&d->mem[i]);
	free(d);
}

/* Pages, neighbours, empty ones, any lengths: of one region mostly, or of any. */
static void
bed_fill(struct bed *d, size_t count, bool any)
{
	uint64_t at, len, page = 1ull << tcpx_rng_below(&d->rng, 13);
	size_t i, one = tcpx_rng_below(&d->rng, REGIONS);

	d->total = 0;
	for (i = 0; i < count; i++) {
		size_t m = any || !tcpx_rng_below(&d->rng, 50) ? tcpx_rng_below(&d->rng, REGIONS) : one;

		len = tcpx_rng_below(&d->rng, 10) ? page : tcpx_rng_below(&d->rng, 3 * page);
		at = tcpx_rng_below(&d->rng, LEN / page) * page;
		if (i && !tcpx_rng_below(&d->rng, 3))
			at = d->local[i - 1].offset + d->local[i - 1].len;
		if (at + len > LEN)
			at = LEN - len;
		d->local[i] = (struct tcpx_desc){ d->mem[m].id, at, len };
		d->remote[i] = (struct tcpx_desc){ d->mem[m].far, at, len };
		d->total += len;
	}
	d->count = count;
}

/* Reads what was fed, in one turn of @turn or, 0, in turns of any cost. */
static int
read_fed(struct bed *d, struct list_builder *b, uint32_t turn)
{
	uint32_t cost, most;
	int rc;

	do {
		most = cost = turn ? turn : tcpx_rng_below(&d->rng, 4) ? 1 + tcpx_rng_below(&d->rng, 40) :
							       tcpx_rng_below(&d->rng, ENTRIES);
		rc = tcpx_builder_read(b, &cost);
		assert_true(cost <= most);
		assert_false(rc == 1 && cost);
	} while (rc == 1);
	return rc;
}

/* Sends it to b, announced as @entries, in frames of any size, of which each is read in turns. */
static int
arrive_as(struct bed *d, const struct tcpx_list *r, uint32_t entries, uint32_t turn,
	  struct tcpx_list **out)
{
	struct list_builder *b;
	uint8_t frame[8192];
	size_t at = 0;
	bool done;
	int rc;

	assert_ok(tcpx_builder_new(d->rig->b, TCPX_MEM_REMOTE_WRITE, entries, r->total, &b));
	do {
		struct tcpx_buf buf;

		tcpx_buf_init(&buf, frame, tcpx_rng_between(&d->rng, TCPX_PACKED_CELL, sizeof(frame)));
		done = tcpx_packed_copy(&r->ops, &at, &buf);
		tcpx_builder_feed(b, frame, buf.pos);
		rc = read_fed(d, b, turn);
	} while (rc == 0 && !done);
	if (rc == 0)
		rc = tcpx_builder_finish(b, out);
	tcpx_builder_free(b);
	return rc;
}

static int
arrive(struct bed *d, const struct tcpx_list *r, uint32_t turn, struct tcpx_list **out)
{
	return arrive_as(d, r, (uint32_t)r->entry_count, turn, out);
}

TEST_WITH(a_list_arrives_as_if_made_there, rig_setup, rig_teardown)
{
	struct bed *d = bed_new(*state);

	for (int round = 0; round < 60; round++) {
		struct tcpx_list *here, *far, *there;

		bed_fill(d, tcpx_rng_below(&d->rng, round % 2 ? 20 : ENTRIES), round % 3);
		assert_ok(tcpx_list_new(d->rig->b, d->local, d->count, false, &here));
		assert_ok(tcpx_list_new(d->rig->a, d->remote, d->count, true, &far));
		assert_ok(arrive(d, far, round % 4 ? 0 : UINT32_MAX, &there));
		assert_int_equal(here->total, d->total);
		assert_int_equal(far->total, d->total);
		assert_int_equal(there->total, d->total);
		assert_int_equal(there->frag_count, here->frag_count);
		assert_memory_equal(there->frag, here->frag, here->frag_count * sizeof(*here->frag));
		assert_memory_equal(there->start, here->start,
				    (here->frag_count + 1) * sizeof(*here->start));
		for (int i = 0; i < REGIONS; i++)
			assert_int_equal(tcpx_list_names(here, d->mem[i].id),
					 tcpx_list_names(far, d->mem[i].far));
		tcpx_list_put(here);
		tcpx_list_put(far);
		tcpx_list_put(there);
	}
	bed_free(d);
}

/* A list of equal steps, in one operation of a few bytes. */
TEST_WITH(a_turn_reads_what_it_may_cost, rig_setup, rig_teardown)
{
	static const uint32_t turn[] = { 1, 2, 7, 100, ENTRIES - 1, ENTRIES, ENTRIES + 100, UINT32_MAX };
	struct bed *d = bed_new(*state);

	for (size_t i = 0; i < ENTRIES; i++)
		d->remote[i] = (struct tcpx_desc){ d->mem[0].far, i * 300, 200 };
	for (size_t k = 0; k < sizeof(turn) / sizeof(turn[0]); k++) {
		struct tcpx_list *far, *there;
		struct list_builder *b;
		uint32_t turns = 0, cost;
		uint8_t frame[TCPX_PACKED_CELL];
		struct tcpx_buf buf;
		size_t at = 0;
		int rc;

		assert_ok(tcpx_list_new(d->rig->a, d->remote, ENTRIES, true, &far));
		tcpx_buf_init(&buf, frame, sizeof(frame));
		assert_true(tcpx_packed_copy(&far->ops, &at, &buf));
		assert_ok(tcpx_builder_new(d->rig->b, TCPX_MEM_REMOTE_WRITE, ENTRIES, far->total, &b));
		cost = 0;
		assert_int_equal(tcpx_builder_read(b, &cost), 0); /* nothing was fed */
		tcpx_builder_feed(b, frame, buf.pos);
		assert_int_equal(tcpx_builder_read(b, &cost), 1);
		do {
			cost = turn[k];
			rc = tcpx_builder_read(b, &cost);
			turns++;
		} while (rc == 1);
		assert_ok(rc);
		assert_in_range(turns, ENTRIES / turn[k], (ENTRIES + LIST_REGION_COST) / turn[k] + 1);
		assert_ok(tcpx_builder_finish(b, &there));
		tcpx_builder_free(b);
		assert_int_equal(there->frag_count, ENTRIES);
		tcpx_list_put(there);
		tcpx_list_put(far);
	}
	bed_free(d);
}

/* The peer believes that the region is longer than it is. */
TEST_WITH(the_first_entry_outside_is_named, rig_setup, rig_teardown)
{
	struct bed *d = bed_new(*state);
	struct tcpx_list *far, *there = NULL;
	char text[256], want[80];
	size_t i, bad;

	for (bad = 0; bad < 200; bad += 17) {
		for (i = 0; i < 200; i++)
			d->remote[i] = (struct tcpx_desc){ d->mem[0].far, (i * 37 % 200) * 4096, 4096 };
		d->remote[bad].offset = LEN - 4096;
		assert_ok(tcpx_list_new(d->rig->a, d->remote, 200, true, &far));
		/* b takes a page from the region's end: that one entry is outside now */
		d->rig->b->memory->regions.page[0][(uint32_t)d->mem[0].id - 1].len = LEN - 1;
		assert_code(arrive(d, far, 1 + (uint32_t)bad, &there), TCPX_ERANGE);
		d->rig->b->memory->regions.page[0][(uint32_t)d->mem[0].id - 1].len = LEN;
		tcpx_last_error(d->rig->b, text, sizeof(text));
		snprintf(want, sizeof(want), "descriptor %zu: offset %u length 4096,", bad, LEN - 4096);
		assert_non_null(strstr(text, want));
		tcpx_list_put(far);
	}
	assert_null(there);
	bed_free(d);
}

/* Memory exists for the announced entries alone. */
TEST_WITH(more_entries_than_were_announced_are_refused, rig_setup, rig_teardown)
{
	static const uint32_t announced[] = { 1, 2, 100, 199 };
	struct bed *d = bed_new(*state);
	struct tcpx_list *far, *there = NULL;

	for (size_t i = 0; i < 200; i++)
		d->remote[i] = (struct tcpx_desc){ d->mem[0].far, (i * 37 % 200) * 4096, 4096 };
	assert_ok(tcpx_list_new(d->rig->a, d->remote, 200, true, &far));
	for (size_t i = 0; i < sizeof(announced) / sizeof(announced[0]); i++)
		assert_code(arrive_as(d, far, announced[i], UINT32_MAX, &there), TCPX_EPROTO);
	assert_code(arrive_as(d, far, 201, UINT32_MAX, &there), TCPX_EPROTO);
	assert_null(there);
	tcpx_list_put(far);
	bed_free(d);
}

/* The initiator's own limit allows the list. Other transfers of the session go on. */
TEST(a_list_that_the_peer_never_takes_ends_its_transfer_alone)
{
	enum { MANY = 8000 }; /* three times 64 KiB */
	const char *const few[] = { "TCPX_CREDIT_LIST_BYTES=64K", NULL };
	struct tcpx_desc near = { .len = MANY }, *far = calloc(MANY, sizeof(*far));
	tcpx_xfer *x;
	struct rig r;

	assert_non_null(far);
	rig_begin(&r, NULL, few);
	rig_memory(&r, 2 * MANY, 2 * MANY);
	near.region = r.near.id;
	for (uint32_t i = 0; i < MANY; i++)
		far[i] = (struct tcpx_desc){ r.far.far, 2ull * i, 1 };
	assert_ok(tcpx_write(r.to_b, &near, 1, far, MANY, NULL, 0, &x));
	assert_code(finish(x), TCPX_ELIMIT);
	near.len = MANY / 4;
	assert_ok(tcpx_write(r.to_b, &near, 1, far, MANY / 4, NULL, 0, &x));
	assert_ok(finish(x));
	assert_int_equal(counters_of(r.a).sessions, 1);
	rig_end(&r);
	free(far);
}
