/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The regions of one descriptor list, each looked up once and copied: entries are then
 * checked without the table's lock.
 */
#ifndef CORE_MEMORY_LOOKUP_H
#define CORE_MEMORY_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/memory/list.h"
#include "core/memory/region.h"

struct lookup {
	struct tcpx_engine *engine;
	bool imported;          /* looks up imported regions, else local ones       */
	struct region *all;     /* the distinct ones; few, or an allocation that grows */
	struct tcpx_region_ref *ref; /* of each, in the same order                  */
	uint32_t *hint;         /* where in all[] an id may be; NULL for few regions */
	uint32_t count, cap;    /* cap: a power of 2                                */
	uint32_t last;          /* index in all[] of the region found last          */
	struct region few[LIST_FEW];
	struct tcpx_region_ref few_ref[LIST_FEW];
};

void tcpx_lookup_init(struct lookup *k, struct tcpx_engine *e, bool imported);
void tcpx_lookup_fini(struct lookup *k);
/* Sets k->last to the region @id. TCPX_ESTALE: there is none (not logged); -ENOMEM. */
int tcpx_lookup_load(struct lookup *k, uint64_t id);
/* The same; logs TCPX_ESTALE. */
int tcpx_lookup_find(struct lookup *k, uint64_t id);
/* Logs and returns TCPX_ERANGE: descriptor @i leaves region @g. */
int tcpx_lookup_range(const struct region *g, size_t i, uint64_t offset, uint64_t len);

/* 0 or TCPX_ERANGE: does descriptor @i lie within @g? */
static inline int
lookup_check(const struct region *g, size_t i, uint64_t offset, uint64_t len)
{
	return offset > g->len || len > g->len - offset ? tcpx_lookup_range(g, i, offset, len) : 0;
}

#endif
