/* SPDX-License-Identifier: Apache-2.0 */
/* A heap against a plain search: the first is the least, whatever was added and taken out. */
#include "base_test.h"

#include "base/heap.h"

#define NODES 300
#define STEPS 20000

static uint64_t
least(const struct tcpx_heap_node *n)
{
	uint64_t key = UINT64_MAX;

	for (int i = 0; i < NODES; i++)
		if (n[i].linked && n[i].key < key)
			key = n[i].key;
	return key;
}

TEST(the_first_is_the_least)
{
	struct tcpx_heap_node n[NODES] = { 0 };
	struct tcpx_heap h = { NULL };
	struct tcpx_rng rng = tcpx_rng_seed(4711);

	for (int i = 0; i < STEPS; i++) {
		struct tcpx_heap_node *at = &n[tcpx_rng_below(&rng, NODES)];

		if (i % 3 == 2 && h.first)
			at = h.first;
		if (at->linked)
			tcpx_heap_remove(&h, at);
		else
			tcpx_heap_add(&h, at, tcpx_rng_below(&rng, 1000));
		check("heap", "least", h.first ? h.first->key : UINT64_MAX, least(n));
	}
}

TEST(all_come_out_in_order)
{
	struct tcpx_heap_node n[NODES] = { 0 };
	struct tcpx_heap h = { NULL };
	uint64_t last = 0;

	for (uint64_t i = 0; i < NODES; i++)
		tcpx_heap_add(&h, &n[i], i * 7919 % NODES);
	for (int i = 0; i < NODES; i++) {
		assert_true(h.first->key >= last);
		last = h.first->key;
		tcpx_heap_remove(&h, h.first);
	}
	assert_null(h.first);
	tcpx_heap_remove(&h, &n[0]);
	assert_null(h.first);
}
