/* SPDX-License-Identifier: Apache-2.0 */
/* Items found by tag: in order within each, whatever else waits and whatever is taken out. */
#include "base_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/tags.h"

enum { MANY = 10000, STEPS = 200000, ITEMS = 300 };

struct item {
	struct tcpx_tagged tagged;
	uint64_t order; /* 0: not in the table */
};

/* Items that a search passes at most. */
static uint32_t
longest_walk(const struct tcpx_tags *t)
{
	uint32_t longest = 0;

	for (uint32_t i = 0; i < t->size; i++) {
		uint32_t n = 0;

		tcpx_chain_each(node, after, &t->bucket[i])
			n++;
		longest = n > longest ? n : longest;
	}
	return longest;
}

TEST(those_of_a_tag_come_in_order)
{
	struct tcpx_tags t;
	struct item i[6];

	tcpx_tags_init(&t);
	for (int k = 0; k < 6; k++)
		tcpx_tags_add(&t, &i[k].tagged, (uint64_t)k % 2);
	assert_null(tcpx_tags_find(&t, 2));
	for (int k = 0; k < 6; k++) {
		int next = k < 3 ? 2 * k + 1 : 2 * (k - 3);

		assert_ptr_equal(tcpx_tags_find(&t, k < 3), &i[next].tagged);
		tcpx_tags_remove(&t, &i[next].tagged);
	}
	assert_null(tcpx_tags_find(&t, 0));
	assert_null(tcpx_tags_find(&t, 1));
	tcpx_tags_fini(&t);
}

TEST(those_of_a_tag_are_walked_from_the_newest)
{
	struct tcpx_tagged *at, none;
	struct tcpx_tags t;
	struct item i[6];

	tcpx_tags_init(&t);
	for (int k = 0; k < 6; k++)
		tcpx_tags_add(&t, &i[k].tagged, (uint64_t)k % 2);
	for (int taken = 0; taken < 2; taken++) {
		at = tcpx_tags_newest(&t, 1);
		for (int k = 5; k > 0; k -= 2) {
			if (taken && k == 3)
				continue;
			assert_ptr_equal(at, &i[k].tagged);
			at = tcpx_tags_older(at);
		}
		assert_null(at);
		tcpx_tags_remove(&t, &i[3].tagged);
	}
	assert_null(tcpx_tags_newest(&t, 2));
	tcpx_tagged_init(&none);
	tcpx_tags_remove(&t, &none); /* is in no table */
	assert_int_equal(t.count, 2);
	tcpx_tags_fini(&t);
}

TEST(many_tags_are_no_long_walk)
{
	struct tcpx_tagged *all = calloc(MANY, sizeof(*all));
	struct tcpx_rng rng = tcpx_rng_seed(3);
	struct tcpx_tags t;

	assert_non_null(all);
	for (int way = 0; way < 4; way++) {
		tcpx_tags_init(&t);
		for (uint64_t i = 0; i < MANY; i++)
			tcpx_tags_add(&t, &all[i],
				      way == 0 ? i : way == 1 ? i << 48 : way == 2 ? i << 20 | 7
									: tcpx_rng_next(&rng));
		assert_int_equal(t.count, MANY);
		assert_in_range(t.size, MANY / 2, 2 * MANY);
		assert_in_range(longest_walk(&t), 1, 12);
		for (uint64_t i = 0; i < MANY; i++)
			tcpx_tags_remove(&t, &all[i]);
		assert_int_equal(t.size, TCPX_TAGS_FEW); /* the allocation is gone */
	}
	free(all);
}

TEST(many_of_one_tag_are_no_walk)
{
	struct tcpx_tagged *all = calloc(MANY, sizeof(*all));
	struct tcpx_tags t;

	assert_non_null(all);
	tcpx_tags_init(&t);
	for (int i = 0; i < MANY; i++)
		tcpx_tags_add(&t, &all[i], 5);
	assert_int_equal(longest_walk(&t), 1);
	assert_int_equal(t.size, TCPX_TAGS_FEW);
	tcpx_tags_fini(&t);
	free(all);
}

/* The same by a walk over all. */
static struct item *
oldest(struct item *i, uint64_t tag)
{
	struct item *found = NULL;

	for (int k = 0; k < ITEMS; k++)
		if (i[k].order && i[k].tagged.tag == tag && (!found || i[k].order < found->order))
			found = &i[k];
	return found;
}

TEST(random_steps_are_as_a_walk_finds_them)
{
	static struct item i[ITEMS];
	struct tcpx_rng rng = tcpx_rng_seed(4);
	struct tcpx_tags t;

	tcpx_tags_init(&t);
	for (uint64_t step = 1; step <= STEPS; step++) {
		uint64_t tags = step / 5000 % 2 ? 5 : 1000;
		uint64_t tag = tcpx_rng_below(&rng, tags) << (step / 10000 % 5 * 12);
		struct item *k = &i[tcpx_rng_below(&rng, ITEMS)], *want;

		if (k->order) {
			tcpx_tags_remove(&t, &k->tagged);
			k->order = 0;
		} else {
			tcpx_tags_add(&t, &k->tagged, tag);
			k->order = step;
		}
		tag = tcpx_rng_below(&rng, 2) ? tag : k->tagged.tag;
		want = oldest(i, tag);
		assert_ptr_equal(tcpx_tags_find(&t, tag), want ? &want->tagged : NULL);
	}
	for (int k = 0; k < ITEMS; k++)
		if (i[k].order)
			tcpx_tags_remove(&t, &i[k].tagged);
	assert_int_equal(t.count, 0);
	assert_ptr_equal(t.bucket, t.few);
}
