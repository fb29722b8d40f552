/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU memory is written and compared by the GPU, piece by piece; a layout of very many
 * pieces by way of a copy here. Where the GPU finds something wrong, the copy says what.
 */
#include "measure/perf/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/job/job.h"
#include "measure/perf/free_memory.h"

enum { PAGE = 4096, PIECES_BY_GPU = 256, RING_MAX = 1 << 30, RING_SHARE = 4 };

uint64_t
mem_ring_bytes(struct gpus *gpus, const struct place *place, uint64_t promised, uint64_t beside)
{
	uint64_t least = UINT64_MAX, left = perf_free_bytes();

	if (!place->gpus)
		least = left > promised ? left - promised : 0;
	for (unsigned i = 0; i < place->gpus; i++) {
		left = gpu_free_bytes(gpus, place->gpu[i]) * place->gpus;
		if (left < least)
			least = left;
	}
	least /= RING_SHARE * (beside + 1);
	return least < RING_MAX ? least : RING_MAX;
}

static int
open_host(uint64_t len, uint64_t *addr)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	void *mem;

	if (len / PAGE > pages)
		return tcpx_fail(TCPX_SUB_TOOL, -ENOMEM,
				 "%" PRIu64 " MiB of memory for the transfers; this machine has %"
				 PRIu64, len >> 20, pages * PAGE >> 20);
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "%" PRIu64 " MiB of memory for the transfers",
				       len >> 20);
	*addr = (uintptr_t)mem;
	return 0;
}

int
mem_open(tcpx_engine *engine, struct gpus *gpus, const struct place *place, uint64_t ring,
	 uint64_t depth, uint64_t span, unsigned access, struct mem *mem)
{
	unsigned parts = place->gpus ? place->gpus : 1;
	uint64_t least = (depth + parts - 1) / parts * span;
	uint64_t len = ring / parts > least ? ring / parts : least;
	struct mem m = { .gpus = place->gpus ? gpus : NULL,
			 .len = (len + PAGE - 1) / PAGE * PAGE };
	int rc = 0;

	for (unsigned i = 0; !rc && i < parts; i++) {
		m.gpu[i] = place->gpus ? place->gpu[i] : -1;
		rc = m.gpus ? gpu_alloc(gpus, m.gpu[i], m.len, &m.addr[i])
			    : open_host(m.len, &m.addr[i]);
		if (rc)
			break;
		m.parts++;
		rc = tcpx_mem_register(engine, (void *)(uintptr_t)m.addr[i], m.len, access,
				       &m.regions.id[i]);
		m.regions.count += !rc;
	}
	if (rc)
		mem_close(engine, &m);
	else
		*mem = m;
	return rc;
}

void
mem_close(tcpx_engine *engine, struct mem *mem)
{
	for (unsigned i = 0; i < mem->parts; i++) {
		if (i < mem->regions.count)
			tcpx_mem_deregister(engine, mem->regions.id[i]);
		if (mem->pinned)
			gpu_unpin(mem->gpus, mem->gpu[i], (void *)(uintptr_t)mem->addr[i]);
		else if (mem->gpus)
			gpu_free(mem->gpus, mem->gpu[i], mem->addr[i]);
		else
			munmap((void *)(uintptr_t)mem->addr[i], mem->len);
	}
	*mem = (struct mem){ 0 };
}

uint64_t
mem_slots(const struct mem *mem, uint64_t span)
{
	return mem->len / span * mem->parts;
}

int
mem_for_sockets(const struct mem *mem, uint64_t len, struct mem *own, const struct mem **same)
{
	struct mem m = { .gpus = mem->gpus, .len = len, .parts = 1, .pinned = true };
	void *p;
	int rc;

	*same = mem->parts ? mem : NULL;
	if (!mem->gpus)
		return 0;
	m.gpu[0] = mem->gpu[0];
	rc = gpu_pin(m.gpus, m.gpu[0], m.len, &p);
	if (rc)
		return rc;
	m.addr[0] = (uintptr_t)p;
	*own = m;
	*same = own;
	return 0;
}

uint8_t *
mem_at(const struct mem *mem)
{
	return mem ? (uint8_t *)(uintptr_t)mem->addr[0] : NULL;
}

/* Is it written and compared by a GPU? */
static bool
by_gpu(const struct mem *mem)
{
	return mem->gpus && !mem->pinned;
}

/* The place of a slot: the part, and the address in it. */
static unsigned
part_of(const struct mem *mem, uint64_t slot)
{
	return (unsigned)(slot % mem->parts);
}

static uint64_t
addr_of(const struct mem *mem, const struct layout *l, uint64_t slot)
{
	return mem->addr[part_of(mem, slot)] + slot / mem->parts * l->span;
}

static int
gpu_of(const struct mem *mem, uint64_t slot)
{
	return mem->gpu[part_of(mem, slot)];
}

/* A GPU's slot, copied here; freed by the caller. */
static int
fetch(const struct mem *mem, const struct layout *l, uint64_t slot, uint8_t **copy)
{
	uint8_t *to = malloc(l->span);
	int rc;

	if (!to)
		return -ENOMEM;
	rc = gpu_read(mem->gpus, gpu_of(mem, slot), addr_of(mem, l, slot), l->span, to);
	if (rc)
		free(to);
	else
		*copy = to;
	return rc;
}

static int
fill_gpu(const struct mem *mem, const struct layout *l, uint64_t slot, struct pattern p)
{
	uint64_t addr = addr_of(mem, l, slot);
	int gpu = gpu_of(mem, slot), rc = 0;
	uint8_t *copy;

	if (l->count > PIECES_BY_GPU) {
		rc = fetch(mem, l, slot, &copy);
		if (rc)
			return rc;
		layout_fill(l, copy, p);
		rc = gpu_write(mem->gpus, gpu, copy, l->span, addr);
		free(copy);
		return rc;
	}
	for (uint64_t k = 0; !rc && k < l->count; k++)
		rc = gpu_fill(mem->gpus, gpu, addr + layout_piece_at(l, k),
			      layout_piece_len(l, k), p, layout_piece_start(l, k));
	return rc ? rc : gpu_finish(mem->gpus, gpu);
}

int
mem_fill(const struct mem *mem, const struct layout *l, uint64_t slot, struct pattern p)
{
	if (by_gpu(mem))
		return fill_gpu(mem, l, slot, p);
	layout_fill(l, (void *)(uintptr_t)addr_of(mem, l, slot), p);
	return 0;
}

int
mem_poison(const struct mem *mem, const struct layout *l, uint64_t slot, uint64_t seed)
{
	uint64_t addr = addr_of(mem, l, slot);
	int rc;

	if (!by_gpu(mem)) {
		layout_poison(l, (void *)(uintptr_t)addr, seed);
		return 0;
	}
	rc = gpu_fill(mem->gpus, gpu_of(mem, slot), addr, l->span, layout_poison_pattern(seed), 0);
	return rc ? rc : gpu_finish(mem->gpus, gpu_of(mem, slot));
}

/* Pieces and gaps compared by the GPU: *wrong of their bytes. */
static int
check_gpu(const struct mem *mem, const struct layout *l, uint64_t slot, struct pattern p,
	  struct pattern poison, uint64_t *wrong)
{
	uint64_t addr = addr_of(mem, l, slot), at, len;
	int gpu = gpu_of(mem, slot), rc = gpu_check_begin(mem->gpus, gpu);

	for (uint64_t k = 0; !rc && k < l->count; k++)
		rc = gpu_check(mem->gpus, gpu, addr + layout_piece_at(l, k),
			       layout_piece_len(l, k), p, layout_piece_start(l, k));
	for (uint64_t k = 0; !rc && k <= l->count; k++) {
		layout_gap(l, k, &at, &len);
		rc = gpu_check(mem->gpus, gpu, addr + at, len, poison, at);
	}
	return rc ? rc : gpu_check_end(mem->gpus, gpu, wrong);
}

static int
verify_gpu(const struct mem *mem, const struct layout *l, uint64_t slot, uint64_t seed,
	   uint64_t transfers, uint64_t poison, uint64_t chunk, struct layout_verdict *v)
{
	bool few = l->count <= PIECES_BY_GPU;
	uint64_t wrong = 0;
	uint8_t *copy;
	int rc = 0;

	if (few)
		rc = check_gpu(mem, l, slot, pattern_of(seed, slot), layout_poison_pattern(poison),
			       &wrong);
	if (rc || (few && !wrong))
		return rc;
	rc = fetch(mem, l, slot, &copy);
	if (rc)
		return rc;
	layout_verify(l, copy, seed, slot, transfers, poison, chunk, v);
	free(copy);
	if (few && v->wrong != wrong)
		return tcpx_fail(TCPX_SUB_TOOL, -EIO, "GPU %d finds %" PRIu64 " wrong bytes, and a"
				 " look at a copy %" PRIu64, gpu_of(mem, slot), wrong, v->wrong);
	return 0;
}

int
mem_verify(const struct mem *mem, const struct layout *l, uint64_t slot, uint64_t seed,
	   uint64_t transfers, uint64_t poison, uint64_t chunk, struct layout_verdict *v)
{
	*v = (struct layout_verdict){ 0 };
	if (by_gpu(mem))
		return verify_gpu(mem, l, slot, seed, transfers, poison, chunk, v);
	layout_verify(l, (void *)(uintptr_t)addr_of(mem, l, slot), seed, slot, transfers, poison,
		      chunk, v);
	return 0;
}

int
mem_put(const struct mem *mem, const struct layout *l, uint64_t slot, const void *from, size_t len)
{
	uint64_t addr = addr_of(mem, l, slot) + layout_piece_at(l, 0);

	if (by_gpu(mem))
		return gpu_write(mem->gpus, gpu_of(mem, slot), from, len, addr);
	memcpy((void *)(uintptr_t)addr, from, len);
	return 0;
}

int
mem_get(const struct mem *mem, const struct layout *l, uint64_t slot, void *to, size_t len)
{
	uint64_t addr = addr_of(mem, l, slot) + layout_piece_at(l, 0);

	if (by_gpu(mem))
		return gpu_read(mem->gpus, gpu_of(mem, slot), addr, len, to);
	memcpy(to, (void *)(uintptr_t)addr, len);
	return 0;
}

int
mem_spoil(const struct mem *mem, const struct layout *l, uint64_t slot)
{
	uint64_t piece = l->count / 2, addr = addr_of(mem, l, slot) + layout_piece_at(l, piece) +
		       layout_piece_len(l, piece) / 2;
	uint8_t byte;
	int rc;

	if (!l->total)
		return 0;
	if (!by_gpu(mem)) {
		*(uint8_t *)(uintptr_t)addr ^= 1;
		return 0;
	}
	rc = gpu_read(mem->gpus, gpu_of(mem, slot), addr, 1, &byte);
	byte ^= 1;
	return rc ? rc : gpu_write(mem->gpus, gpu_of(mem, slot), &byte, 1, addr);
}

void
regions_descs(const struct regions *r, const struct layout *l, uint64_t slot,
	      struct tcpx_desc *desc)
{
	for (uint64_t k = 0; k < l->count; k++)
		desc[k] = (struct tcpx_desc){ r->id[slot % r->count],
					      slot / r->count * l->span + layout_piece_at(l, k),
					      layout_piece_len(l, k) };
}

int
regions_export(tcpx_engine *engine, const struct regions *r, json_t *msg, const char *member)
{
	json_t *list = json_array();
	int rc = 0;

	for (unsigned i = 0; !rc && i < r->count; i++) {
		uint8_t blob[256];
		size_t len = sizeof(blob);

		rc = tcpx_mem_export(engine, r->id[i], blob, &len);
		if (!rc)
			json_array_append_new(list, job_hex(blob, len));
	}
	json_object_set_new(msg, member, list);
	return rc;
}

int
regions_import(tcpx_engine *engine, const json_t *msg, const char *member, struct regions *r)
{
	const json_t *list = json_object_get(msg, member);
	struct regions got = { 0 };
	int rc = 0;

	if (json_array_size(list) > PLACE_GPUS)
		return tcpx_fail(TCPX_SUB_TOOL, TCPX_EBLOB, "message %s: %s has %zu regions, allowed"
				 " are %d", job_text(msg, "t"), member, json_array_size(list),
				 PLACE_GPUS);
	for (size_t i = 0; !rc && i < json_array_size(list); i++) {
		uint8_t blob[256];
		size_t len;

		rc = job_bytes(json_array_get(list, i), member, blob, sizeof(blob), &len);
		if (!rc)
			rc = tcpx_mem_import(engine, blob, len, &got.id[i]);
		got.count += !rc;
	}
	if (rc)
		regions_forget(engine, &got);
	else
		*r = got;
	return rc;
}

void
regions_forget(tcpx_engine *engine, struct regions *r)
{
	for (unsigned i = 0; i < r->count; i++)
		(void)tcpx_mem_deregister(engine, r->id[i]);
	*r = (struct regions){ 0 };
}
