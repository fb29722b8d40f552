/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the descriptor list of an incoming transfer from the bytes of OPEN and LIST, checked as
 * they arrive: regions, keys, rights and ranges. For core/transfer, on the side whose memory the
 * list names.
 */
#ifndef CORE_MEMORY_BUILDER_H
#define CORE_MEMORY_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/memory/list.h"

struct list_builder;

#define LIST_REGION_COST 16u

/* Begins a list of @entries entries and @total bytes. need: the right that each region must have
 * (enum tcpx_mem_access). -ENOMEM. */
int tcpx_builder_new(struct tcpx_engine *e, unsigned need, uint32_t entries, uint64_t total,
		     struct list_builder **out);
void tcpx_builder_free(struct list_builder *b);
/* How many entries were read. */
uint32_t tcpx_builder_count(const struct list_builder *b);
/* More of the list, to be read; it ends with a whole operation. Borrowed until it is read. What was
 * fed before must be. */
void tcpx_builder_feed(struct list_builder *b, const uint8_t *ops, size_t len);
/* Reads on, for at most *cost, an entry costing 1 and a region LIST_REGION_COST; takes from *cost what it
 * took. 0: all that was fed is read; 1: a part is left for the next call. -ENOMEM, TCPX_EPROTO;
 * TCPX_EREGION, TCPX_EKEY, TCPX_ERANGE (logged). */
int tcpx_builder_read(struct list_builder *b, uint32_t *cost);
/* Returns the list with one reference, once all of it was read. TCPX_EPROTO: entries or bytes are
 * missing; -EXDEV: places differ; -ENOMEM. The builder is still to be freed. */
int tcpx_builder_finish(struct list_builder *b, struct tcpx_list **out);
/* All of that at once, for a list that is complete in @ops. */
int tcpx_list_read(struct tcpx_engine *e, unsigned need, uint32_t entries, uint64_t total,
		   const uint8_t *ops, size_t len, struct tcpx_list **out);

#endif
