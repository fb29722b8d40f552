/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: first in, first out, never more than it holds, across two threads. */
#include "base_test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/ring.h"

TEST(size_must_be_a_power_of_two)
{
	static const uint32_t bad[] = { 0, 3, 6, 7, 0xffffffff };
	struct tcpx_ring ring;
	void *slots[8];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(tcpx_ring_init(&ring, slots, bad[i]), -EINVAL);
	assert_int_equal(tcpx_ring_init(&ring, NULL, 8), -EINVAL);
	assert_int_equal(tcpx_ring_init(&ring, slots, 8), 0);
	assert_int_equal(tcpx_ring_init(&ring, slots, 1), 0);
}

TEST(full_refuses_and_empty_gives_nothing)
{
	struct tcpx_ring ring;
	void *slots[2];
	int a, b, c;

	assert_int_equal(tcpx_ring_init(&ring, slots, 2), 0);
	assert_null(tcpx_ring_get(&ring));
	assert_true(tcpx_ring_put(&ring, &a));
	assert_true(tcpx_ring_put(&ring, &b));
	assert_false(tcpx_ring_put(&ring, &c));
	assert_int_equal(tcpx_ring_count(&ring), 2);
	assert_ptr_equal(tcpx_ring_get(&ring), &a);
	assert_true(tcpx_ring_put(&ring, &c));
	assert_ptr_equal(tcpx_ring_get(&ring), &b);
	assert_ptr_equal(tcpx_ring_get(&ring), &c);
	assert_null(tcpx_ring_get(&ring));
}

TEST(counters_may_wrap)
{
	struct tcpx_ring ring;
	void *slots[4];
	char items[16];

	assert_int_equal(tcpx_ring_init(&ring, slots, 4), 0);
	atomic_store(&ring.head, UINT32_MAX - 5);
	atomic_store(&ring.tail, UINT32_MAX - 5);
	for (int i = 0; i < 16; i += 4) {
		for (int j = i; j < i + 4; j++)
			assert_true(tcpx_ring_put(&ring, &items[j]));
		assert_false(tcpx_ring_put(&ring, &items[0]));
		for (int j = i; j < i + 4; j++)
			assert_ptr_equal(tcpx_ring_get(&ring), &items[j]);
	}
}

#define ITEMS 50000

struct run {
	struct tcpx_ring ring;
	void *slots[16];
	uint64_t items[ITEMS];
};

static void *
produce(void *arg)
{
	struct run *run = arg;

	for (uint64_t i = 0; i < ITEMS; i++) {
		run->items[i] = i * 3; /* seen by the consumer through the ring alone */
		while (!tcpx_ring_put(&run->ring, &run->items[i]))
			sched_yield();
	}
	return NULL;
}

TEST(two_threads_see_all_in_order)
{
	struct run *run = aligned_alloc(64, (sizeof(*run) + 63) / 64 * 64);
	pthread_t producer;
	bool same = true;

	assert_non_null(run);
	assert_int_equal(tcpx_ring_init(&run->ring, run->slots, 16), 0);
	assert_int_equal(pthread_create(&producer, NULL, produce, run), 0);
	for (uint64_t i = 0; i < ITEMS; i++) {
		uint64_t *item;

		while (!(item = tcpx_ring_get(&run->ring)))
			sched_yield();
		same = same && item == &run->items[i] && *item == i * 3;
	}
	pthread_join(producer, NULL);
	assert_true(same);
	assert_int_equal(tcpx_ring_count(&run->ring), 0);
	free(run);
}
