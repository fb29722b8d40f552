/* SPDX-License-Identifier: Apache-2.0 */
/* A pool is an allocation and the list of its free pages. */
#include "emu/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "emu/bounds.h"
#include "emu/rng.h"

struct emu_pool {
	pthread_mutex_t lock;
	int gpu;
	unsigned users;
	enum emu_kind kind;
	char *base;
	uint32_t pages, free;
	uint64_t rng;
	uint32_t *place; /* of each page in the list, or TAKEN; behind the list */
	uint32_t list[]; /* the free ones                                       */
};

#define TAKEN UINT32_MAX

static struct emu_pool *pools[EMU_GPUS_MAX];
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static struct emu_pool *
make(int gpu, const struct emu_config *config)
{
	uint32_t pages = config->pool_pages;
	struct emu_pool *p = malloc(sizeof(*p) + 2 * pages * sizeof(p->list[0]));

	if (!p)
		return NULL;
	*p = (struct emu_pool){ .gpu = gpu, .pages = pages, .free = pages,
				.kind = emu_gpu_pool_kind(),
				.rng = emu_rng_mix(config->seed, (uint64_t)gpu) };
	p->base = emu_gpu_alloc(gpu, p->kind, (size_t)pages * EMU_PAGE);
	if (!p->base) {
		free(p);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	p->place = p->list + pages;
	for (uint32_t i = 0; i < pages; i++)
		p->list[i] = p->place[i] = i;
	return p;
}

struct emu_pool *
emu_pool_get(int gpu, const struct emu_config *config)
{
	struct emu_pool *p;

	pthread_mutex_lock(&pools_lock);
	if (!pools[gpu])
		pools[gpu] = make(gpu, config);
	p = pools[gpu];
	if (p)
		p->users++;
	pthread_mutex_unlock(&pools_lock);
	return p;
}

void
emu_pool_put(struct emu_pool *p)
{
	pthread_mutex_lock(&pools_lock);
	if (--p->users == 0) {
		pools[p->gpu] = NULL;
		emu_gpu_free(p->gpu, p->kind, p->base, (size_t)p->pages * EMU_PAGE);
		pthread_mutex_destroy(&p->lock);
		free(p);
	}
	pthread_mutex_unlock(&pools_lock);
}

char *
emu_pool_base(const struct emu_pool *p)
{
	return p->base;
}

bool
emu_pool_direct(const struct emu_pool *p)
{
	return emu_gpu_direct(p->kind);
}

/* The list's last takes its place. */
static uint32_t
take_at(struct emu_pool *p, uint32_t at)
{
	uint32_t page = p->list[at], last = p->list[--p->free];

	p->list[at] = last;
	p->place[last] = at;
	p->place[page] = TAKEN;
	return page;
}

static void
give(struct emu_pool *p, uint32_t page)
{
	p->place[page] = p->free;
	p->list[p->free++] = page;
}

uint32_t
emu_pool_take(struct emu_pool *p, uint32_t *page, uint32_t n)
{
	uint32_t got = 0;

	pthread_mutex_lock(&p->lock);
	while (got < n && p->free)
		page[got++] = take_at(p, emu_rng_below(&p->rng, p->free));
	pthread_mutex_unlock(&p->lock);
	return got;
}

/* How many of the n pages from @first on are free, until one is not. */
static uint32_t
free_run(const struct emu_pool *p, uint32_t first, uint32_t n)
{
	uint32_t run = 0;

	while (run < n && p->place[first + run] != TAKEN)
		run++;
	return run;
}

bool
emu_pool_take_run(struct emu_pool *p, uint32_t n, uint32_t *first)
{
	uint32_t places = p->pages >= n ? p->pages - n + 1 : 0;
	bool found = false;

	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0, from = places ? emu_rng_below(&p->rng, places) : 0; i < places && !found; i++) {
		*first = (from + i) % places;
		found = free_run(p, *first, n) == n;
	}
	for (uint32_t i = 0; found && i < n; i++)
		take_at(p, p->place[*first + i]);
	pthread_mutex_unlock(&p->lock);
	return found;
}

uint32_t
emu_pool_left(struct emu_pool *p)
{
	uint32_t left;

	pthread_mutex_lock(&p->lock);
	left = p->free;
	pthread_mutex_unlock(&p->lock);
	return left;
}

void
emu_pool_give(struct emu_pool *p, const uint32_t *page, uint32_t n)
{
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < n; i++)
		give(p, page[i]);
	pthread_mutex_unlock(&p->lock);
}

void
emu_pool_give_run(struct emu_pool *p, uint32_t first, uint32_t n)
{
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < n; i++)
		give(p, first + i);
	pthread_mutex_unlock(&p->lock);
}
