/* SPDX-License-Identifier: Apache-2.0 */
/* Memory is registered once, however often NCCL registers it. The hub is this file's own. */
#include "cases.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "nccl/region.h"

enum { PLACES = 16 };

/* What the hub has: index + 1 is the id. */
static struct {
	void *addr;
	size_t len;
	bool there;
} place[PLACES];
static uint64_t made;
static int refusal;

static uint8_t memory[4096];
static struct hub *const hub = (struct hub *)memory;
static struct regions all = { .lock = PTHREAD_MUTEX_INITIALIZER };

int
tcpx_nccl_hub_register(struct hub *h, void *addr, size_t len, uint64_t *region)
{
	assert_ptr_equal(h, hub);
	if (refusal)
		return refusal;
	assert_true(made < PLACES);
	place[made].addr = addr;
	place[made].len = len;
	place[made].there = true;
	*region = ++made;
	return 0;
}

void
tcpx_nccl_hub_deregister(struct hub *h, uint64_t region)
{
	assert_ptr_equal(h, hub);
	assert_true(region >= 1 && region <= made && place[region - 1].there);
	place[region - 1].there = false;
}

static int
begin(void **state)
{
	memset(place, 0, sizeof(place));
	made = 0;
	refusal = 0;
	return 0;
}

static struct region *
get(size_t at, size_t len)
{
	struct region *r;

	assert_int_equal(tcpx_nccl_region_get(&all, hub, memory + at, len, &r), 0);
	assert_true(place[r->id - 1].there);
	assert_ptr_equal(place[r->id - 1].addr, memory + at);
	assert_int_equal(place[r->id - 1].len, len);
	return r;
}

static void
put(struct region *r)
{
	tcpx_nccl_region_put(&all, hub, r);
}

static bool
is_there(uint64_t id)
{
	return place[id - 1].there;
}

TEST_WITH(the_same_place_is_one_region_until_its_last_user, begin, NULL)
{
	struct region *first = get(64, 512), *second = get(64, 512), *third;
	uint64_t id = first->id;

	assert_ptr_equal(first, second);
	assert_int_equal(made, 1);
	put(first);
	assert_true(is_there(id));
	third = get(64, 512);
	assert_ptr_equal(third, second);
	put(second);
	assert_true(is_there(id));
	put(third);
	assert_false(is_there(id));
	assert_null(all.first);
	first = get(64, 512); /* it may be other memory by now */
	assert_int_equal(first->id, 2);
	put(first);
}

/* Also where they begin at the same address, or end there. */
TEST_WITH(places_that_overlap_are_regions_of_their_own, begin, NULL)
{
	static const struct {
		size_t at, len;
	} of[] = { { 0, 1024 }, { 0, 512 }, { 512, 512 }, { 256, 512 }, { 0, 1025 } };
	enum { COUNT = sizeof(of) / sizeof(of[0]) };
	struct region *r[COUNT];
	static const int order[] = { 2, 4, 0, 3, 1 };

	for (int i = 0; i < COUNT; i++)
		r[i] = get(of[i].at, of[i].len);
	assert_int_equal(made, COUNT);
	for (int i = 0; i < COUNT; i++) {
		put(r[order[i]]);
		for (int k = 0; k < COUNT; k++)
			assert_int_equal(is_there((uint64_t)order[k] + 1), k > i);
		for (int k = i + 1; k < COUNT; k++)
			assert_ptr_equal(r[order[k]], get(of[order[k]].at, of[order[k]].len));
		for (int k = i + 1; k < COUNT; k++)
			put(r[order[k]]);
	}
	assert_null(all.first);
}

TEST_WITH(what_cannot_be_registered_leaves_nothing, begin, NULL)
{
	struct region *r = get(0, 64), *other = NULL;

	refusal = -EFAULT;
	assert_int_equal(tcpx_nccl_region_get(&all, hub, memory + 128, 64, &other), -EFAULT);
	assert_ptr_equal(get(0, 64), r); /* it is there already */
	put(r);
	put(r);
	assert_null(all.first);
}
