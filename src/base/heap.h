/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive heap of times, the earliest first: what waits costs nothing while others come and go.
 * A pairing heap, so a node needs no memory but its own.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcpx_heap_node {
	uint64_t key;
	bool linked;
	struct tcpx_heap_node *child, *next, *prev; /* prev: of a first child, its parent */
};

struct tcpx_heap {
	struct tcpx_heap_node *first; /* NULL: empty */
};

/* @n is in no heap. Equal keys have no order. */
void tcpx_heap_add(struct tcpx_heap *h, struct tcpx_heap_node *n, uint64_t key);
/* A no-op if it is in none. */
void tcpx_heap_remove(struct tcpx_heap *h, struct tcpx_heap_node *n);

#endif
