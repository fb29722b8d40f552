/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

/* Two roots become one. */
static struct tcpx_heap_node *
meld(struct tcpx_heap_node *a, struct tcpx_heap_node *b)
{
	struct tcpx_heap_node *swap = a;

	if (!a || !b)
		return a ? a : b;
	if (b->key < a->key) {
		a = b;
		b = swap;
	}
	b->prev = a;
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	a->child = b;
	return a;
}

/* Siblings become one heap: by pairs from the left, then these from the right. */
static struct tcpx_heap_node *
gather(struct tcpx_heap_node *n)
{
	struct tcpx_heap_node *pairs = NULL, *root = NULL, *after;

	while (n) {
		struct tcpx_heap_node *a = n, *b = n->next;

		n = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	for (; pairs; pairs = after) {
		after = pairs->next;
		pairs->next = NULL;
		root = meld(root, pairs);
	}
	return root;
}

void
tcpx_heap_add(struct tcpx_heap *h, struct tcpx_heap_node *n, uint64_t key)
{
	*n = (struct tcpx_heap_node){ .key = key, .linked = true };
	h->first = meld(h->first, n);
}

void
tcpx_heap_remove(struct tcpx_heap *h, struct tcpx_heap_node *n)
{
	if (!n->linked)
		return;
	if (n == h->first) {
		h->first = gather(n->child);
	} else {
		*(n->prev->child == n ? &n->prev->child : &n->prev->next) = n->next;
		if (n->next)
			n->next->prev = n->prev;
		h->first = meld(h->first, gather(n->child));
	}
	*n = (struct tcpx_heap_node){ .key = n->key };
}
