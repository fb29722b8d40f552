/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of waiting items. */
#include "base/tags.h"

#include <stdlib.h>

static void
use(struct tcpx_tags *t, struct tcpx_node *bucket, uint32_t size)
{
	t->bucket = bucket;
	t->size = size;
	for (uint32_t i = 0; i < size; i++)
		tcpx_node_init(&bucket[i]);
}

void
tcpx_tags_init(struct tcpx_tags *t)
{
	t->count = 0;
	use(t, t->few, TCPX_TAGS_FEW);
}

void
tcpx_tags_fini(struct tcpx_tags *t)
{
	if (t->bucket != t->few)
		free(t->bucket);
	tcpx_tags_init(t);
}

/* Tags are often numbers in a row, or have their bits at one end. */
static struct tcpx_node *
bucket_of(const struct tcpx_tags *t, uint64_t tag)
{
	uint64_t mixed = (tag ^ tag >> 32) * 0x9e3779b97f4a7c15u;

	return &t->bucket[mixed >> 32 & (t->size - 1)];
}

static struct tcpx_tagged *
item_of(struct tcpx_node *first)
{
	return tcpx_container(first, struct tcpx_tagged, first);
}

struct tcpx_tagged *
tcpx_tags_find(const struct tcpx_tags *t, uint64_t tag)
{
	struct tcpx_node *bucket = bucket_of(t, tag);

	tcpx_chain_each(n, after, bucket)
		if (item_of(n)->tag == tag)
			return item_of(n);
	return NULL;
}

struct tcpx_tagged *
tcpx_tags_newest(const struct tcpx_tags *t, uint64_t tag)
{
	struct tcpx_tagged *first = tcpx_tags_find(t, tag);

	return first ? tcpx_container(first->same.prev, struct tcpx_tagged, same) : NULL;
}

static void
grow(struct tcpx_tags *t)
{
	struct tcpx_node *old = t->bucket, *more = malloc(2 * (size_t)t->size * sizeof(*more));
	uint32_t size = t->size;

	if (!more)
		return;
	use(t, more, 2 * size);
	for (uint32_t i = 0; i < size; i++)
		tcpx_chain_each(n, after, &old[i]) {
			tcpx_chain_remove(n);
			tcpx_chain_add(bucket_of(t, item_of(n)->tag), n);
		}
	if (old != t->few)
		free(old);
}

void
tcpx_tags_add(struct tcpx_tags *t, struct tcpx_tagged *item, uint64_t tag)
{
	struct tcpx_tagged *first = tcpx_tags_find(t, tag);

	item->tag = tag;
	tcpx_tagged_init(item);
	if (first) {
		tcpx_chain_add(&first->same, &item->same);
		return;
	}
	if (t->count++ == t->size)
		grow(t);
	tcpx_chain_add(bucket_of(t, tag), &item->first);
}

void
tcpx_tags_remove(struct tcpx_tags *t, struct tcpx_tagged *item)
{
	struct tcpx_node *next = item->same.next;
	bool alone = !tcpx_node_linked(&item->same);

	tcpx_chain_remove(&item->same);
	if (!tcpx_node_linked(&item->first))
		return;
	tcpx_chain_remove(&item->first);
	if (!alone)
		tcpx_chain_add(bucket_of(t, item->tag),
			       &tcpx_container(next, struct tcpx_tagged, same)->first);
	else if (--t->count == 0)
		tcpx_tags_fini(t);
}
