/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory and imported names of peers' memory. An id is table index and
 * generation, so a stale one is noticed when the entry is used again.
 */
#include "core/memory/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/random.h"
#include "core/context/context.h"
#include "core/memory/gpu.h"
#include "core/memory/memory.h"
#include "core/memory/touch.h"

#define PAGE_REGIONS 256u
#define MAX_PAGES    4096u /* a million regions */

int
tcpx_regions_init(struct regions *r)
{
	memset(r, 0, sizeof(*r));
	r->page = calloc(MAX_PAGES, sizeof(*r->page));
	if (!r->page)
		return -ENOMEM;
	tcpx_mutex_init(&r->lock);
	return 0;
}

void
tcpx_regions_fini(struct regions *r)
{
	uint32_t i;

	if (!r->page)
		return;
	for (i = 0; i < r->pages; i++)
		free(r->page[i]);
	free(r->page);
	r->page = NULL;
	pthread_mutex_destroy(&r->lock);
}

void
tcpx_regions_unlock(struct tcpx_engine *e)
{
	struct regions *r = &e->memory->regions;
	uint32_t i;

	for (i = 0; r->page && i < r->used; i++) {
		struct region *g = &r->page[i / PAGE_REGIONS][i % PAGE_REGIONS];

		if (g->id && g->locked)
			tcpx_gpu_unlock(e, g->addr);
	}
}

/* id = generation << 32 | index + 1. */
static struct region *
slot_of(struct regions *r, uint64_t id)
{
	uint32_t index = (uint32_t)id - 1;

	if ((uint32_t)id == 0 || index >= r->used)
		return NULL;
	return &r->page[index / PAGE_REGIONS][index % PAGE_REGIONS];
}

int
tcpx_region_get(struct regions *r, uint64_t id, struct region *out)
{
	struct region *g;
	int rc = TCPX_ESTALE;

	pthread_mutex_lock(&r->lock);
	g = slot_of(r, id);
	if (g && g->id == id) {
		*out = *g;
		rc = 0;
	}
	pthread_mutex_unlock(&r->lock);
	return rc;
}

static int
add_slot(struct regions *r, uint32_t *index)
{
	uint32_t page;

	if (r->free) {
		*index = r->free - 1;
		r->free = r->page[*index / PAGE_REGIONS][*index % PAGE_REGIONS].next_free;
		return 0;
	}
	page = r->used / PAGE_REGIONS;
	if (page >= MAX_PAGES)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ELIMIT, "%u regions are registered: no more "
				 "are allowed", r->used);
	if (page == r->pages) {
		r->page[page] = calloc(PAGE_REGIONS, sizeof(struct region));
		if (!r->page[page])
			return tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "no memory for a region");
		r->pages++;
	}
	*index = r->used++;
	return 0;
}

static int
add(struct regions *r, const struct region *proto, uint64_t *id)
{
	struct region *g;
	uint32_t index = 0, generation, live;
	int rc;

	pthread_mutex_lock(&r->lock);
	rc = add_slot(r, &index);
	if (rc == 0) {
		g = &r->page[index / PAGE_REGIONS][index % PAGE_REGIONS];
		generation = g->generation + 1;
		*g = *proto;
		g->generation = generation;
		g->id = (uint64_t)generation << 32 | (index + 1);
		if (!g->imported)
			g->ref.id = g->id;
		r->live++;
		*id = g->id;
	}
	live = r->live;
	pthread_mutex_unlock(&r->lock);
	if (rc)
		return tcpx_fail(TCPX_SUB_XFER, rc, "region table holds %u, at most %u allowed",
				 live, MAX_PAGES * PAGE_REGIONS);
	return 0;
}

int
tcpx_region_drop(struct regions *r, uint64_t id, struct region *was)
{
	struct region *g;
	int rc = TCPX_ESTALE;

	pthread_mutex_lock(&r->lock);
	g = slot_of(r, id);
	if (g && g->id == id) {
		*was = *g;
		g->id = 0;
		g->next_free = r->free;
		r->free = (uint32_t)id;
		r->live--;
		atomic_fetch_add(&r->gone, 1);
		rc = 0;
	}
	pthread_mutex_unlock(&r->lock);
	if (rc)
		return tcpx_fail(TCPX_SUB_XFER, rc, "no live region has id %#llx",
				 (unsigned long long)id);
	return 0;
}

int
tcpx_mem_register(tcpx_engine *e, void *addr, size_t len, unsigned access, uint64_t *id)
{
	struct region g = { .addr = addr, .owner_addr = (uintptr_t)addr, .len = len,
			    .access = access, .place = TCPX_ON_HOST };
	int rc;

	if (!addr || len == 0 || (uintptr_t)addr + len < len ||
	    access > (TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE | TCPX_MEM_LEND))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL,
				 "memory at %p, length %zu, access %u: address and length must not "
				 "be 0, access at most 7", addr, len, access);
	rc = tcpx_gpu_place(e, addr, len, &g.place);
	if (rc == 0 && g.place == TCPX_ON_HOST && !tcpx_memory_mapped(addr, len))
		rc = tcpx_fail(TCPX_SUB_XFER, -EFAULT,
			       "memory at %p, length %zu: not mapped, or not all of it", addr, len);
	if (rc == 0)
		rc = tcpx_random_bytes(g.ref.key, sizeof(g.ref.key));
	if (rc == 0 && g.place == TCPX_ON_HOST)
		rc = tcpx_gpu_lock(e, addr, len, &g.locked);
	if (rc)
		return rc;
	rc = add(&e->memory->regions, &g, id);
	if (rc && g.locked)
		tcpx_gpu_unlock(e, addr);
	return rc;
}

int
tcpx_mem_import(tcpx_engine *e, const void *blob, size_t len, uint64_t *id)
{
	struct tcpx_region_blob rb;
	struct tcpx_buf b;
	struct region g = { .imported = true };

	tcpx_buf_init_const(&b, blob, len);
	if (!blob || tcpx_region_blob_read(&b, &rb) != 0)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_EBLOB, "region blob of %zu bytes", len);
	g.ref.id = rb.id;
	memcpy(g.ref.key, rb.key, sizeof(g.ref.key));
	g.owner_addr = rb.addr;
	g.len = rb.len;
	g.access = rb.access;
	g.place = rb.kind ? 0 : TCPX_ON_HOST;
	return add(&e->memory->regions, &g, id);
}

int
tcpx_mem_export(tcpx_engine *e, uint64_t id, void *buf, size_t *len)
{
	uint8_t room[TCPX_BLOB_MAX];
	struct tcpx_region_blob rb = { 0 };
	struct tcpx_buf b;
	struct region g;

	if (tcpx_region_get(&e->memory->regions, id, &g) != 0 || g.imported)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTALE, "no live local region has id %#llx",
				 (unsigned long long)id);
	rb.id = g.id;
	memcpy(rb.key, g.ref.key, sizeof(rb.key));
	rb.addr = g.owner_addr;
	rb.len = g.len;
	rb.access = (uint8_t)(g.access & ~(unsigned)TCPX_MEM_LEND); /* no matter of the peer's */
	rb.kind = g.place != TCPX_ON_HOST;
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_region_blob_write(&b, &rb);
	if (!buf || *len < b.pos) {
		*len = b.pos;
		return tcpx_fail_known(-ENOBUFS, "the blob of a region has %zu bytes", b.pos);
	}
	memcpy(buf, room, b.pos);
	*len = b.pos;
	return 0;
}

int
tcpx_mem_query(tcpx_engine *e, uint64_t id, uint64_t *addr, uint64_t *len)
{
	struct region g;

	if (tcpx_region_get(&e->memory->regions, id, &g) != 0)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTALE, "no live region has id %#llx",
				 (unsigned long long)id);
	if (addr)
		*addr = g.owner_addr;
	if (len)
		*len = g.len;
	return 0;
}

int
tcpx_mem_place(tcpx_engine *e, uint64_t id, int *gpu)
{
	struct region g;

	if (tcpx_region_get(&e->memory->regions, id, &g) != 0 || g.imported)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTALE, "no live local region has id %#llx",
				 (unsigned long long)id);
	*gpu = g.place;
	return 0;
}
