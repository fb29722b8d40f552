/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The regions that one descriptor list names, each looked up once and copied: entries are
 * then checked without the table's lock.
 */
#ifndef CORE_LOOKUP_H
#define CORE_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

struct lookup {
	struct tcpx_engine *engine;
	bool imported;          /* the kind that it is about                        */
	struct region *all;     /* the distinct ones; few, or grown with what follows */
	struct tcpx_region_ref *ref; /* of each, in the same order                  */
	uint32_t *hint;         /* cap: where in all[] an id may be; few have none  */
	uint32_t count, cap;    /* cap: a power of 2                                */
	uint32_t last;          /* in all[]: the one found last; < count            */
	struct region few[LIST_FEW];
	struct tcpx_region_ref few_ref[LIST_FEW];
};

void tcpx_lookup_init(struct lookup *k, struct tcpx_engine *e, bool imported);
void tcpx_lookup_fini(struct lookup *k);
/* Makes the region k->last: 0; TCPX_ESTALE (not logged); -ENOMEM. */
int tcpx_lookup_load(struct lookup *k, uint64_t id);
/* The same; logs TCPX_ESTALE. */
int tcpx_lookup_find(struct lookup *k, uint64_t id);
/* Logs and returns TCPX_ERANGE: descriptor @i leaves region @g. */
int tcpx_lookup_range(const struct region *g, size_t i, uint64_t offset, uint64_t len);

/* 0, or TCPX_ERANGE: whether descriptor @i lies within @g. */
static inline int
lookup_check(const struct region *g, size_t i, uint64_t offset, uint64_t len)
{
	return offset > g->len || len > g->len - offset ? tcpx_lookup_range(g, i, offset, len) : 0;
}

#endif
