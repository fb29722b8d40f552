/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of long lists goes a part in a turn, and all of it when the engine closes. */
#include "nic_lab.h"

#include <stdlib.h>

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

static void
a_long_list_goes_in_parts(void **state)
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

static void
an_engine_closes_with_some_left(void **state)
{
	struct scene c;

	scene_open(&c);
	freed(&c, LONG);
	tcpx_engine_step(c.lab.a);
	assert_true(freed(&c, LONG) > LONG * 48);
	scene_close(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_list_goes_in_parts),
		cmocka_unit_test(an_engine_closes_with_some_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
