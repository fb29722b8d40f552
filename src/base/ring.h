/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of pointers between one producer thread and one consumer thread, without locks.
 * head and tail only grow; their difference is the content. Memory that the producer wrote
 * before put() is visible to the consumer after get().
 */
#ifndef BASE_RING_H
#define BASE_RING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tcpx_ring {
	void **slots; /* borrowed */
	uint32_t mask;
	_Alignas(64) _Atomic uint32_t head; /* next to get; written by the consumer */
	_Alignas(64) _Atomic uint32_t tail; /* next to put; written by the producer */
};

/* @slots: @count of them, a power of two of at most 2^31, kept until the ring's last
 * use. -EINVAL. */
static inline int
tcpx_ring_init(struct tcpx_ring *ring, void **slots, uint32_t count)
{
	if (!slots || !count || (count & (count - 1)))
		return -EINVAL;
	ring->slots = slots;
	ring->mask = count - 1;
	atomic_init(&ring->head, 0);
	atomic_init(&ring->tail, 0);
	return 0;
}

/* Producer only. @item is not NULL. False when full. */
static inline bool
tcpx_ring_put(struct tcpx_ring *ring, void *item)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	if (tail - head > ring->mask)
		return false;
	ring->slots[tail & ring->mask] = item;
	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
	return true;
}

/* Consumer only. NULL when empty. */
static inline void *
tcpx_ring_get(struct tcpx_ring *ring)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	void *item;

	if (head == tail)
		return NULL;
	item = ring->slots[head & ring->mask];
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return item;
}

/* Exact for either thread while the other rests; a hint otherwise. */
static inline uint32_t
tcpx_ring_count(struct tcpx_ring *ring)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);

	return tail - head;
}

#endif
