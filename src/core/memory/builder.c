/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of an incoming transfer, checked as it arrives: the region, key and rights of each
 * region when it is introduced, then every entry against its region. Entries that the fast reader
 * leaves out take the general way, which alone reports errors.
 */
#include "core/memory/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/memory/list.h"
#include "core/memory/lookup.h"
#include "core/memory/region.h"

struct list_builder {
	struct lookup lookup;
	struct tcpx_runs_reader reader;
	struct tcpx_buf ops; /* borrowed: what is being read */
	struct tcpx_list *list;
	struct tcpx_fraggrow grow;
	uint32_t *region; /* index in lookup.all of each introduced region; its key was right */
	uint32_t few[LIST_FEW];
	uint32_t region_count, region_cap;
	uint32_t entries; /* announced */
	size_t count;
	uint64_t total;
	unsigned need;
};

static int
builder_init(struct list_builder *b, struct tcpx_engine *e, unsigned need, uint32_t entries,
	     uint64_t total)
{
	b->list = tcpx_list_empty(e, entries);
	if (!b->list)
		return -ENOMEM;
	tcpx_buf_init_const(&b->ops, NULL, 0);
	b->grow = (struct tcpx_fraggrow){ .frag = b->list->frag, .start = b->list->start };
	tcpx_lookup_init(&b->lookup, e, false);
	b->region = b->few;
	b->region_count = 0;
	b->region_cap = LIST_FEW;
	b->entries = entries;
	b->count = 0;
	b->total = total;
	b->need = need;
	tcpx_runs_read_init(&b->reader, entries + 1);
	return 0;
}

static void
builder_fini(struct list_builder *b)
{
	tcpx_list_put(b->list);
	tcpx_lookup_fini(&b->lookup);
	if (b->region != b->few)
		free(b->region);
}

int
tcpx_builder_new(struct tcpx_engine *e, unsigned need, uint32_t entries, uint64_t total,
		 struct list_builder **out)
{
	struct list_builder *b = malloc(sizeof(*b));
	int rc = b ? builder_init(b, e, need, entries, total) : -ENOMEM;

	if (rc)
		free(b);
	else
		*out = b;
	return rc;
}

void
tcpx_builder_free(struct list_builder *b)
{
	if (!b)
		return;
	builder_fini(b);
	free(b);
}

uint32_t
tcpx_builder_count(const struct list_builder *b)
{
	return (uint32_t)b->count;
}

static int
introduce(struct list_builder *b, const struct tcpx_region_ref *ref)
{
	const struct region *g;
	uint32_t *grown;
	int rc = tcpx_lookup_load(&b->lookup, ref->id);

	if (rc == TCPX_ESTALE)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_EREGION,
				 "peer names region %#llx, which is not registered here",
				 (unsigned long long)ref->id);
	if (rc)
		return rc;
	g = &b->lookup.all[b->lookup.last];
	if (!tcpx_bytes_equal(g->ref.key, ref->key, TCPX_KEY_BYTES))
		return tcpx_fail(TCPX_SUB_XFER, TCPX_EKEY, "peer has a wrong key for region %#llx",
				 (unsigned long long)ref->id);
	if ((g->access & b->need) != b->need)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_EKEY,
				 "peer may not %s region %#llx: access is %u",
				 b->need == TCPX_MEM_REMOTE_READ ? "read" : "write",
				 (unsigned long long)ref->id, g->access);
	if (b->region_count == b->region_cap) {
		grown = malloc(2 * b->region_cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memcpy(grown, b->region, b->region_count * sizeof(*grown));
		if (b->region != b->few)
			free(b->region);
		b->region = grown;
		b->region_cap *= 2;
	}
	b->region[b->region_count++] = b->lookup.last;
	return 0;
}

/* Reads entries like the last one, at most @most: nearly all of a long list. */
static uint32_t
read_alike(struct list_builder *b, uint32_t most)
{
	const struct region *g;
	size_t left = b->entries - b->count, n;

	if (b->count == 0)
		return 0;
	g = &b->lookup.all[b->region[b->reader.region]];
	n = tcpx_runs_read_alike(&b->reader, &b->ops, (uintptr_t)g->addr, g->len,
				 left < most ? left : most, &b->grow);
	b->count += n;
	return (uint32_t)n;
}

static int
take(struct list_builder *b, const struct tcpx_run_entry *e)
{
	const struct region *g;
	int rc;

	if (b->count >= b->entries || e->region >= b->region_count)
		return TCPX_EPROTO;
	g = &b->lookup.all[b->region[e->region]];
	rc = lookup_check(g, b->count, e->offset, e->len);
	if (rc)
		return rc;
	tcpx_frag_add(&b->grow, (uintptr_t)g->addr + e->offset, e->len);
	b->count++;
	return 0;
}

void
tcpx_builder_feed(struct list_builder *b, const uint8_t *ops, size_t len)
{
	tcpx_buf_init_const(&b->ops, ops, len);
}

int
tcpx_builder_read(struct list_builder *b, uint32_t *cost)
{
	struct tcpx_run_entry e;
	struct tcpx_region_ref ref;
	uint32_t took;
	int rc;

	do {
		*cost -= read_alike(b, *cost);
		if (*cost == 0)
			return b->reader.repeat_left || tcpx_buf_left(&b->ops);
		rc = tcpx_runs_read(&b->reader, &b->ops, &e, &ref);
		if (rc <= 0)
			return rc;
		took = rc == 2 ? LIST_REGION_COST : 1;
		*cost -= took < *cost ? took : *cost;
		rc = rc == 2 ? introduce(b, &ref) : take(b, &e);
	} while (rc == 0);
	return rc;
}

int
tcpx_builder_finish(struct list_builder *b, struct tcpx_list **out)
{
	struct tcpx_list *l = b->list;
	int rc;

	if (b->count != b->entries)
		return TCPX_EPROTO;
	l->total = tcpx_frag_end(&b->grow);
	l->frag_count = b->grow.count;
	if (l->total != b->total)
		return TCPX_EPROTO;
	rc = tcpx_list_keep(l, &b->lookup);
	if (rc)
		return rc;
	b->list = NULL;
	*out = l;
	return 0;
}

int
tcpx_list_read(struct tcpx_engine *e, unsigned need, uint32_t entries, uint64_t total,
	       const uint8_t *ops, size_t len, struct tcpx_list **out)
{
	struct list_builder b;
	uint32_t cost = UINT32_MAX;
	int rc = builder_init(&b, e, need, entries, total);

	if (rc)
		return rc;
	tcpx_builder_feed(&b, ops, len);
	rc = tcpx_builder_read(&b, &cost);
	if (rc == 0)
		rc = tcpx_builder_finish(&b, out);
	builder_fini(&b);
	return rc;
}
