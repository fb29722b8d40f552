/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of long lists goes a part in a turn, and all of it when the engine closes. */
#include "nic_lab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory/memory.h"

#define LONG  600000u /* entries: 14 MB */
#define SHORT 1000u

static const char *const settings[] = { "TCPX_CHANNELS=1", "TCPX_THREADS=1", "TCPX_PORT=0", NULL };

struct scene {
	struct lab lab;
	struct mem mine;
	struct tcpx_desc *desc;
};

static void
scene_open(struct scene *c)
{
	lab_open(&c->lab, &tcpx_net_loop, settings);
	c->lab.p = NULL;
	mem_open(&c->mine, c->lab.a, 2 * LONG, TCPX_MEM_LOCAL);
	c->desc = calloc(LONG, sizeof(*c->desc));
	for (uint32_t i = 0; i < LONG; i++)
		c->desc[i] = (struct tcpx_desc){ c->mine.id, 2 * i, 1 };
}

static void
scene_close(struct scene *c)
{
	lab_close(&c->lab);
	mem_close(&c->mine);
	free(c->desc);
}

/* Bytes that wait after a list of so many entries was freed. */
static size_t
freed(struct scene *c, uint32_t entries)
{
	tcpx_list *l;

	assert_ok(tcpx_list_prepare(c->lab.a, c->desc, entries, &l));
	tcpx_list_free(l);
	return c->lab.a->memory->release.bytes;
}

TEST(a_long_list_goes_in_parts)
{
	struct scene c;
	unsigned turns = 0;
	size_t bytes;

	scene_open(&c);
	assert_int_equal(freed(&c, SHORT), 0);
	bytes = freed(&c, LONG);
	assert_in_range(bytes, LONG * 24, LONG * 25);
	for (; c.lab.a->memory->release.bytes; turns++)
		tcpx_engine_step(c.lab.a);
	assert_in_range(turns, bytes / RELEASE_STEP / 2, bytes / RELEASE_STEP + 1);
	scene_close(&c);
}

/* Bytes of the block of so many that are not given back. */
static size_t
resident(const uint8_t *block, size_t bytes)
{
	uintptr_t from = (uintptr_t)block & ~(uintptr_t)4095;
	size_t pages = ((uintptr_t)block + bytes - from) / 4096, sum = 0;
	uint8_t *in = calloc(pages, 1);

	assert_non_null(in);
	assert_int_equal(mincore((void *)from, pages * 4096, in), 0);
	for (size_t i = 0; i < pages; i++)
		sum += (in[i] & 1) * 4096ull;
	free(in);
	return sum;
}

TEST(a_part_goes_back_to_the_system_in_each_turn)
{
	struct scene c;
	struct release *r;
	size_t bytes = LONG * 24, left, now;
	uint8_t *block = malloc(bytes);

	scene_open(&c);
	r = &c.lab.a->memory->release;
	memset(block, 1, bytes);
	tcpx_release(c.lab.a, block, bytes);
	left = resident(block, bytes);
	assert_true(left > bytes - 8192);
	for (int turns = 0; turns < 16; turns++, left = now) {
		tcpx_engine_step(c.lab.a);
		assert_int_equal(r->bytes, bytes);
		now = resident(block, bytes);
		assert_in_range(left - now, RELEASE_STEP, 2 * RELEASE_STEP);
	}
	scene_close(&c);
}

/* The parts are the larger, the more waits. */
TEST(many_long_lists_go_in_no_more_turns_than_a_few)
{
	enum { LISTS = 10 };
	struct scene c;
	struct release *r;
	unsigned turns = 0;
	size_t bytes = 0, one;

	scene_open(&c);
	r = &c.lab.a->memory->release;
	for (int i = 0; i < LISTS; i++)
		bytes = freed(&c, LONG);
	one = bytes / LISTS;
	assert_int_equal(bytes, one * LISTS);
	for (; r->bytes == bytes; turns++)
		tcpx_engine_step(c.lab.a);
	assert_int_equal(r->bytes, bytes - one);
	assert_in_range(turns, 2, one / RELEASE_STEP / 4);
	while (r->bytes) {
		tcpx_engine_step(c.lab.a);
		assert_int_equal(r->bytes % one, 0);
	}
	scene_close(&c);
}

/* ... and one that the application has not freed: that is done when no loop is left. */
TEST(an_engine_closes_with_some_left)
{
	struct scene c;
	tcpx_list *kept;

	scene_open(&c);
	assert_ok(tcpx_list_prepare(c.lab.a, c.desc, LONG, &kept));
	freed(&c, LONG);
	tcpx_engine_step(c.lab.a);
	assert_true(freed(&c, LONG) > LONG * 48);
	scene_close(&c);
}
