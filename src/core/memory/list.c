/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptor lists: checked against regions once, then only numbers. A local list is
 * fragments with prefix sums; an imported one is the bytes that will travel.
 */
#include "core/memory/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/memory/lookup.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"
#include "core/memory/release.h"

#define ENTRY_OPS 5 /* usual bytes of an entry's operations; more are possible */

/* An empty list with @room bytes behind it. */
static struct tcpx_list *
make(struct tcpx_engine *e, size_t room, bool imported)
{
	struct tcpx_list *l = malloc(sizeof(*l) + room);

	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->refs = 1;
	l->bytes = sizeof(*l) + room;
	l->engine = e;
	l->imported = imported;
	l->place = TCPX_ON_HOST;
	l->gone = atomic_load(&e->memory->regions.gone); /* read before its
							  * regions are looked up */
	tcpx_node_init(&l->handle);
	return l;
}

struct tcpx_list *
tcpx_list_empty(struct tcpx_engine *e, size_t entries)
{
	struct tcpx_list *l = make(e, (entries + 1) * (sizeof(*l->frag) + sizeof(*l->start)), false);

	if (!l)
		return NULL;
	l->frag = (void *)l->room;
	l->start = (void *)(l->frag + entries + 1);
	return l;
}

static struct tcpx_list *
empty_imported(struct tcpx_engine *e, size_t entries)
{
	size_t room = TCPX_PACKED_MIN + entries * ENTRY_OPS;
	struct tcpx_list *l = make(e, room, true);

	if (l)
		tcpx_packed_init(&l->ops, l->room, room);
	return l;
}

void
tcpx_list_put(struct tcpx_list *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return;
	if (l->imported)
		tcpx_packed_fini(&l->ops);
	if (l->region_id != l->few_id)
		free(l->region_id);
	tcpx_release(l->engine, l, l->bytes);
}

/* Makes the descriptor's region k->last, and checks that the range lies in it. */
static int
check_desc(struct lookup *k, const struct tcpx_desc *d, size_t i)
{
	int rc = 0;

	if (!k->count || k->all[k->last].id != d->region)
		rc = tcpx_lookup_find(k, d->region);
	return rc ? rc : lookup_check(&k->all[k->last], i, d->offset, d->len);
}

static int
fill_local(struct tcpx_list *l, struct lookup *k, const struct tcpx_desc *desc, size_t count)
{
	struct tcpx_fraggrow grow = { .frag = l->frag, .start = l->start };
	size_t i;
	int rc;

	for (i = 0; i < count; i++) {
		rc = check_desc(k, &desc[i], i);
		if (rc)
			return rc;
		tcpx_frag_add(&grow, (uintptr_t)k->all[k->last].addr + desc[i].offset, desc[i].len);
	}
	l->total = tcpx_frag_end(&grow);
	l->frag_count = grow.count;
	return l->total == UINT64_MAX ? TCPX_ERANGE : 0;
}

static int
fill_imported(struct tcpx_list *l, struct lookup *k, const struct tcpx_desc *desc, size_t count)
{
	struct tcpx_run_entry e;
	size_t i;
	int rc;

	for (i = 0; i < count; i++) {
		rc = check_desc(k, &desc[i], i);
		if (rc)
			return rc;
		if (desc[i].len == 0)
			continue;
		if (l->total + desc[i].len < l->total)
			return tcpx_fail(TCPX_SUB_XFER, TCPX_ERANGE,
					 "the lengths of a list sum up to 2^64 or more");
		e = (struct tcpx_run_entry){ k->last, desc[i].offset, desc[i].len };
		if (tcpx_packed_add(&l->ops, k->ref, &e) != 0)
			return -ENOMEM;
		l->entry_count++;
		l->total += desc[i].len;
	}
	return tcpx_packed_add(&l->ops, k->ref, NULL);
}

/* All regions must be on one device: a batch of copies is one device's work. */
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

static bool
stays_mapped(const struct tcpx_list *l, const struct lookup *k)
{
	unsigned all = TCPX_MEM_LEND;

	for (uint32_t i = 0; i < k->count; i++)
		all &= k->all[i].access;
	return all && !l->imported && !list_staged(l);
}

/* Small pieces are copied: a pipe has a place for each page or part of one. */
#define LEND_PIECE (16u << 10)

int
tcpx_list_keep(struct tcpx_list *l, const struct lookup *k)
{
	uint32_t i;
	int rc = find_place(l, k);

	if (rc)
		return rc;
	l->mapped = stays_mapped(l, k);
	l->lend = l->mapped && l->frag_count <= l->total / LEND_PIECE;
	l->region_id = k->count <= LIST_FEW ? l->few_id : malloc(k->count * sizeof(*l->region_id));
	if (!l->region_id)
		return -ENOMEM;
	for (i = 0; i < k->count; i++)
		l->region_id[i] = k->all[i].id;
	l->region_count = k->count;
	return 0;
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
	l = imported ? empty_imported(e, count) : tcpx_list_empty(e, count);
	if (!l)
		return tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "no memory for a list of %zu", count);
	tcpx_lookup_init(&k, e, imported);
	rc = imported ? fill_imported(l, &k, desc, count) : fill_local(l, &k, desc, count);
	if (rc == 0)
		rc = tcpx_list_keep(l, &k);
	tcpx_lookup_fini(&k);
	if (rc) {
		tcpx_list_put(l);
		return rc;
	}
	*out = l;
	return 0;
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
	uint64_t gone = atomic_load(&l->engine->memory->regions.gone);
	struct region g;
	uint32_t i;

	if (gone == atomic_load_explicit(&l->gone, memory_order_relaxed))
		return 0;
	for (i = 0; i < l->region_count; i++)
		if (tcpx_region_get(&l->engine->memory->regions, l->region_id[i], &g) != 0)
			return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTALE,
					 "region %#llx of the list has been given back",
					 (unsigned long long)l->region_id[i]);
	atomic_store_explicit(&l->gone, gone, memory_order_relaxed);
	return 0;
}

/* ---- public ---- */

int
tcpx_list_prepare(tcpx_engine *e, const struct tcpx_desc *desc, size_t count, tcpx_list **list)
{
	struct region g;
	bool imported = false;
	int rc;

	if (count && desc && tcpx_region_get(&e->memory->regions, desc[0].region, &g) == 0)
		imported = g.imported;
	rc = tcpx_list_new(e, desc, count, imported, list);
	if (rc)
		return rc;
	pthread_mutex_lock(&e->registry.lock);
	tcpx_chain_add(&e->registry.lists, &(*list)->handle);
	pthread_mutex_unlock(&e->registry.lock);
	return 0;
}

void
tcpx_list_free(tcpx_list *list)
{
	if (!list)
		return;
	pthread_mutex_lock(&list->engine->registry.lock);
	tcpx_chain_remove(&list->handle);
	pthread_mutex_unlock(&list->engine->registry.lock);
	tcpx_list_put(list);
}
