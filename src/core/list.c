/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptor lists: checked against regions once, then only numbers. A local list is
 * fragments with prefix sums; an imported one is kept as it will travel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

/* Looks regions up once per run of equal ids and collects the distinct ones. */
struct lookup {
	struct tcpx_engine *engine;
	struct region last; /* id 0: none */
	uint32_t last_index;
	struct region *all; /* few, or grown */
	struct region few[LIST_FEW];
	uint32_t count, cap;
};

static void
lookup_init(struct lookup *k, struct tcpx_engine *e)
{
	k->engine = e;
	k->last.id = 0;
	k->all = k->few;
	k->count = 0;
	k->cap = LIST_FEW;
}

static void
lookup_fini(struct lookup *k)
{
	if (k->all != k->few)
		free(k->all);
}

static int
lookup_grow(struct lookup *k)
{
	struct region *grown = malloc(2 * k->cap * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	memcpy(grown, k->all, k->count * sizeof(*grown));
	lookup_fini(k);
	k->all = grown;
	k->cap *= 2;
	return 0;
}

/* Makes it k->last: 0, TCPX_ESTALE (not logged), -ENOMEM. */
static int
lookup_load(struct lookup *k, uint64_t id, bool imported)
{
	uint32_t i;

	if (k->last.id == id && id != 0)
		return 0;
	for (i = 0; i < k->count; i++)
		if (k->all[i].id == id)
			goto found;
	if (k->count == k->cap && lookup_grow(k) != 0)
		return -ENOMEM;
	if (tcpx_region_get(&k->engine->regions, id, &k->all[i]) != 0 ||
	    k->all[i].imported != imported)
		return TCPX_ESTALE;
	k->count++;
found:
	k->last = k->all[i];
	k->last_index = i;
	return 0;
}

static int
lookup_find(struct lookup *k, uint64_t id, bool imported)
{
	int rc = lookup_load(k, id, imported);

	if (rc == TCPX_ESTALE)
		return tcpx_fail(TCPX_SUB_XFER, rc, "no live %s region has id %#llx",
				 imported ? "imported" : "local", (unsigned long long)id);
	return rc;
}

static int
check_desc(struct lookup *k, const struct tcpx_desc *d, size_t i, bool imported)
{
	int rc = lookup_find(k, d->region, imported);

	if (rc)
		return rc;
	if (d->offset > k->last.len || d->len > k->last.len - d->offset)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ERANGE,
				 "descriptor %zu: offset %llu length %llu, region %#llx has %llu bytes",
				 i, (unsigned long long)d->offset, (unsigned long long)d->len,
				 (unsigned long long)d->region, (unsigned long long)k->last.len);
	return 0;
}

static int
fill_local(struct tcpx_list *l, struct lookup *k, const struct tcpx_desc *desc, size_t count)
{
	size_t i;
	int rc;

	for (i = 0; i < count; i++) {
		rc = check_desc(k, &desc[i], i, false);
		if (rc)
			return rc;
		l->frag[i].addr = (uintptr_t)k->last.addr + desc[i].offset;
		l->frag[i].len = desc[i].len;
	}
	l->frag_count = tcpx_frag_merge(l->frag, count);
	l->total = tcpx_frag_sums(l->frag, l->frag_count, l->start);
	return l->total == UINT64_MAX ? TCPX_ERANGE : 0;
}

static int
fill_imported(struct tcpx_list *l, struct lookup *k, const struct tcpx_desc *desc, size_t count)
{
	size_t i;
	uint32_t r;
	int rc;

	for (i = 0; i < count; i++) {
		rc = check_desc(k, &desc[i], i, true);
		if (rc)
			return rc;
		if (desc[i].len == 0)
			continue;
		if (l->total + desc[i].len < l->total)
			return TCPX_ERANGE;
		l->entry[l->entry_count++] = (struct tcpx_run_entry){
			.region = k->last_index, .offset = desc[i].offset, .len = desc[i].len };
		l->total += desc[i].len;
	}
	l->ref = k->count <= LIST_FEW ? l->few_ref : malloc(k->count * sizeof(*l->ref));
	if (!l->ref)
		return -ENOMEM;
	for (r = 0; r < k->count; r++)
		l->ref[r] = k->all[r].ref;
	return 0;
}

/* All on one device: a batch of copies is one device's work. */
static int
find_place(struct tcpx_list *l, const struct lookup *k)
{
	uint32_t i;

	for (i = 0; i < k->count; i++) {
		if (i > 0 && k->all[i].place != l->place && !l->imported)
			return tcpx_fail(TCPX_SUB_XFER, -EXDEV,
					 "a list names memory of %d and of %d (-1 is the host, else "
					 "the GPU): one place a list", l->place, k->all[i].place);
		if (i == 0 || k->all[i].place > l->place)
			l->place = k->all[i].place;
	}
	return 0;
}

static int
keep_regions(struct tcpx_list *l, const struct lookup *k)
{
	uint32_t i;
	int rc = find_place(l, k);

	if (rc)
		return rc;
	l->region_id = k->count <= LIST_FEW ? l->few_id : malloc(k->count * sizeof(*l->region_id));
	if (!l->region_id)
		return -ENOMEM;
	for (i = 0; i < k->count; i++)
		l->region_id[i] = k->all[i].id;
	l->region_count = k->count;
	return 0;
}

/* An empty list with room for count entries of its kind. */
static struct tcpx_list *
make(struct tcpx_engine *e, size_t count, bool imported)
{
	size_t entry = imported ? sizeof(struct tcpx_run_entry) :
				  sizeof(struct tcpx_frag) + sizeof(uint64_t);
	struct tcpx_list *l = malloc(sizeof(*l) + (count + 1) * entry);

	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->refs = 1;
	l->engine = e;
	l->imported = imported;
	l->place = TCPX_ON_HOST;
	l->gone = atomic_load(&e->regions.gone); /* before its regions are looked up */
	tcpx_node_init(&l->handle);
	if (imported) {
		l->entry = (void *)l->room;
	} else {
		l->frag = (void *)l->room;
		l->start = (void *)(l->frag + count + 1);
	}
	return l;
}

int
tcpx_list_new(struct tcpx_engine *e, const struct tcpx_desc *desc, size_t count, bool imported,
	      struct tcpx_list **out)
{
	struct lookup k;
	struct tcpx_list *l;
	int rc;

	if ((count && !desc) || count > UINT32_MAX)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "descriptor list of %zu entries at %p",
				 count, (const void *)desc);
	l = make(e, count, imported);
	if (!l)
		return -ENOMEM;
	lookup_init(&k, e);
	rc = imported ? fill_imported(l, &k, desc, count) : fill_local(l, &k, desc, count);
	if (rc == 0)
		rc = keep_regions(l, &k);
	lookup_fini(&k);
	if (rc) {
		tcpx_list_put(l);
		return rc;
	}
	*out = l;
	return 0;
}

void
tcpx_list_put(struct tcpx_list *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return;
	if (l->ref != l->few_ref)
		free(l->ref);
	if (l->region_id != l->few_id)
		free(l->region_id);
	free(l);
}

bool
tcpx_list_names(const struct tcpx_list *l, uint64_t region_id)
{
	uint32_t i;

	for (i = 0; i < l->region_count; i++)
		if (l->region_id[i] == region_id)
			return true;
	return false;
}

int
tcpx_list_check(struct tcpx_list *l)
{
	uint64_t gone = atomic_load(&l->engine->regions.gone);
	struct region g;
	uint32_t i;

	if (gone == atomic_load_explicit(&l->gone, memory_order_relaxed))
		return 0;
	for (i = 0; i < l->region_count; i++)
		if (tcpx_region_get(&l->engine->regions, l->region_id[i], &g) != 0)
			return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTALE,
					 "region %#llx of the list has been given back",
					 (unsigned long long)l->region_id[i]);
	atomic_store_explicit(&l->gone, gone, memory_order_relaxed);
	return 0;
}

/* ---- a target's list, checked while it arrives ---- */

struct list_builder {
	struct lookup lookup;
	struct tcpx_runs_reader reader;
	struct tcpx_list *list;
	uint64_t *region; /* local id per introduced region; its key was right */
	uint64_t few[LIST_FEW];
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
	b->list = make(e, entries, false);
	if (!b->list)
		return -ENOMEM;
	lookup_init(&b->lookup, e);
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
	lookup_fini(&b->lookup);
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

static int
introduce(struct list_builder *b, const struct tcpx_region_ref *ref)
{
	const struct region *g = &b->lookup.last;
	uint64_t *grown;
	int rc = lookup_load(&b->lookup, ref->id, false);

	if (rc == TCPX_ESTALE)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_EREGION,
				 "peer names region %#llx, which is not registered here",
				 (unsigned long long)ref->id);
	if (rc)
		return rc;
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
	b->region[b->region_count++] = ref->id;
	return 0;
}

int
tcpx_builder_feed(struct list_builder *b, const uint8_t *ops, size_t len)
{
	struct tcpx_run_entry e;
	struct tcpx_region_ref ref;
	struct tcpx_desc d;
	struct tcpx_buf buf;
	int rc;

	tcpx_buf_init_const(&buf, ops, len);
	for (;;) {
		rc = tcpx_runs_read(&b->reader, &buf, &e, &ref);
		if (rc <= 0)
			return rc;
		if (rc == 2) {
			rc = introduce(b, &ref);
			if (rc)
				return rc;
			continue;
		}
		if (b->count >= b->entries || e.region >= b->region_count)
			return TCPX_EPROTO;
		d = (struct tcpx_desc){ b->region[e.region], e.offset, e.len };
		rc = check_desc(&b->lookup, &d, b->count, false);
		if (rc)
			return rc == TCPX_ESTALE ? TCPX_EREGION : rc;
		b->list->frag[b->count].addr = (uintptr_t)b->lookup.last.addr + e.offset;
		b->list->frag[b->count++].len = e.len;
	}
}

int
tcpx_builder_finish(struct list_builder *b, struct tcpx_list **out)
{
	struct tcpx_list *l = b->list;
	int rc;

	if (b->count != b->entries)
		return TCPX_EPROTO;
	l->frag_count = tcpx_frag_merge(l->frag, b->count);
	l->total = tcpx_frag_sums(l->frag, l->frag_count, l->start);
	if (l->total != b->total)
		return TCPX_EPROTO;
	rc = keep_regions(l, &b->lookup);
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
	int rc = builder_init(&b, e, need, entries, total);

	if (rc)
		return rc;
	rc = tcpx_builder_feed(&b, ops, len);
	if (rc == 0)
		rc = tcpx_builder_finish(&b, out);
	builder_fini(&b);
	return rc;
}

/* ---- public ---- */

int
tcpx_list_prepare(tcpx_engine *e, const struct tcpx_desc *desc, size_t count, tcpx_list **list)
{
	struct region g;
	bool imported = false;
	int rc;

	if (count && desc && tcpx_region_get(&e->regions, desc[0].region, &g) == 0)
		imported = g.imported;
	rc = tcpx_list_new(e, desc, count, imported, list);
	if (rc)
		return rc;
	pthread_mutex_lock(&e->lock);
	tcpx_chain_add(&e->lists, &(*list)->handle);
	pthread_mutex_unlock(&e->lock);
	return 0;
}

void
tcpx_list_free(tcpx_list *list)
{
	if (!list)
		return;
	pthread_mutex_lock(&list->engine->lock);
	tcpx_chain_remove(&list->handle);
	pthread_mutex_unlock(&list->engine->lock);
	tcpx_list_put(list);
}
