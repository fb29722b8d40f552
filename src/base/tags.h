/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits under tags, found by tag and in order within one, without a walk over the rest. Items lie
 * in their owners' objects. A hash table of the first item of each tag, which has a ring of the others;
 * it grows with the number of tags, and where there is no memory for that it works on as it is.
 */
#ifndef BASE_TAGS_H
#define BASE_TAGS_H

#include <stdint.h>

#include "base/chain.h"

#define TCPX_TAGS_FEW 8 /* buckets without an allocation */

struct tcpx_tagged {
	uint64_t tag;
	struct tcpx_node first; /* in a bucket, if it is the first of its tag */
	struct tcpx_node same;  /* the ring of its tag                        */
};

struct tcpx_tags {
	struct tcpx_node *bucket; /* few, or an allocation      */
	uint32_t size;            /* of them, a power of 2      */
	uint32_t count;           /* tags that have items       */
	struct tcpx_node few[TCPX_TAGS_FEW];
};

/* Makes an item that is in no table, and that may be removed. */
static inline void
tcpx_tagged_init(struct tcpx_tagged *item)
{
	tcpx_node_init(&item->first);
	tcpx_node_init(&item->same);
}

/* It must not move. */
void tcpx_tags_init(struct tcpx_tags *t);
/* Its items are forgotten. */
void tcpx_tags_fini(struct tcpx_tags *t);
/* Behind all of its tag; it is in no table. */
void tcpx_tags_add(struct tcpx_tags *t, struct tcpx_tagged *item, uint64_t tag);
/* The first of the tag, which stays; or NULL. */
struct tcpx_tagged *tcpx_tags_find(const struct tcpx_tags *t, uint64_t tag);
/* The newest of the tag, or NULL; then each older one, down to the first, before NULL. */
struct tcpx_tagged *tcpx_tags_newest(const struct tcpx_tags *t, uint64_t tag);
static inline struct tcpx_tagged *
tcpx_tags_older(struct tcpx_tagged *item)
{
	return tcpx_node_linked(&item->first) ? NULL :
	       tcpx_container(item->same.prev, struct tcpx_tagged, same);
}
/* Takes it out of the table that has it, if one has. */
void tcpx_tags_remove(struct tcpx_tags *t, struct tcpx_tagged *item);

#endif
