/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions of one list. Ids count table entries from 1 (region.c), so a hint by the id is nearly
 * always right, in any order of thousands of regions. Where it is wrong, all are searched.
 */
#include "core/memory/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"

#define HINTS 4 /* hints for each region that fits */

void
tcpx_lookup_init(struct lookup *k, struct tcpx_engine *e, bool imported)
{
	k->engine = e;
	k->imported = imported;
	k->all = k->few;
	k->ref = k->few_ref;
	k->hint = NULL;
	k->count = k->last = 0;
	k->cap = LIST_FEW;
}

void
tcpx_lookup_fini(struct lookup *k)
{
	if (k->all != k->few)
		free(k->all);
}

static uint32_t *
hint_of(const struct lookup *k, uint64_t id)
{
	return &k->hint[id & (HINTS * k->cap - 1)];
}

static int
grow(struct lookup *k)
{
	uint32_t cap = 2 * k->cap, i;
	struct region *all = calloc(cap, sizeof(*k->all) + sizeof(*k->ref) +
					 HINTS * sizeof(*k->hint));

	if (!all)
		return -ENOMEM;
	memcpy(all, k->all, k->count * sizeof(*all));
	memcpy(all + cap, k->ref, k->count * sizeof(*k->ref));
	tcpx_lookup_fini(k);
	k->all = all;
	k->ref = (void *)(all + cap);
	k->hint = (void *)(k->ref + cap);
	k->cap = cap;
	for (i = 0; i < k->count; i++)
		*hint_of(k, all[i].id) = i;
	return 0;
}

/* The index of region @id in all[], or count. */
static uint32_t
index_of(const struct lookup *k, uint64_t id)
{
	uint32_t i = k->hint ? *hint_of(k, id) : 0;

	if (i < k->count && k->all[i].id == id)
		return i;
	for (i = 0; i < k->count; i++)
		if (k->all[i].id == id)
			break;
	return i;
}

int
tcpx_lookup_load(struct lookup *k, uint64_t id)
{
	uint32_t i = index_of(k, id);

	if (i == k->count) {
		if (k->count == k->cap && grow(k) != 0)
			return -ENOMEM;
		if (tcpx_region_get(&k->engine->memory->regions, id, &k->all[i]) != 0 ||
		    k->all[i].imported != k->imported)
			return TCPX_ESTALE;
		k->ref[i] = k->all[i].ref;
		k->count++;
	}
	if (k->hint)
		*hint_of(k, id) = i;
	k->last = i;
	return 0;
}

int
tcpx_lookup_find(struct lookup *k, uint64_t id)
{
	int rc = tcpx_lookup_load(k, id);

	if (rc == TCPX_ESTALE)
		return tcpx_fail(TCPX_SUB_XFER, rc, "no live %s region has id %#llx",
				 k->imported ? "imported" : "local", (unsigned long long)id);
	return rc;
}

int
tcpx_lookup_range(const struct region *g, size_t i, uint64_t offset, uint64_t len)
{
	return tcpx_fail(TCPX_SUB_XFER, TCPX_ERANGE,
			 "descriptor %zu: offset %llu length %llu, region %#llx has %llu bytes", i,
			 (unsigned long long)offset, (unsigned long long)len,
			 (unsigned long long)g->id, (unsigned long long)g->len);
}
