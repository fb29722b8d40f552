/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive doubly linked chain. A node in no chain points to itself, so removing it
 * twice is harmless.
 */
#ifndef BASE_CHAIN_H
#define BASE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

struct tcpx_node {
	struct tcpx_node *prev, *next;
};

#define tcpx_container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Walks the chain; the current node may be removed. */
#define tcpx_chain_each(node, after, head)                                                      \
	for (struct tcpx_node *node = (head)->next, *after = node->next; node != (head);       \
	     node = after, after = node->next)

static inline void
tcpx_node_init(struct tcpx_node *n)
{
	n->prev = n->next = n;
}

static inline bool
tcpx_chain_empty(const struct tcpx_node *head)
{
	return head->next == head;
}

static inline bool
tcpx_node_linked(const struct tcpx_node *n)
{
	return n->next != n;
}

static inline void
tcpx_chain_add(struct tcpx_node *head, struct tcpx_node *n) /* at the end */
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

static inline void
tcpx_chain_remove(struct tcpx_node *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	tcpx_node_init(n);
}

static inline struct tcpx_node *
tcpx_chain_first(struct tcpx_node *head)
{
	return tcpx_chain_empty(head) ? NULL : head->next;
}

#endif
