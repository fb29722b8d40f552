/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging slots: page-locked memory between sockets and GPUs, a few chunks a loop and
 * direction. Sending and receiving have pools of their own: if they shared one, two
 * engines could each hold all slots for sending and wait for the other to receive.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/core.h"

#define STAGING_PAGE 4096u
#define LARGE_MIN    2  /* one on its way, one being copied                             */
#define SMALL_COUNT  16 /* as many as a window has messages                             */

static int
fill(struct pool *p, uint8_t *mem, uint32_t count, size_t size)
{
	uint32_t i;

	p->all = calloc(count, sizeof(*p->all));
	if (!p->all)
		return -ENOMEM;
	p->count = count;
	for (i = count; i-- > 0;) {
		p->all[i].pool = p;
		p->all[i].mem = mem + i * size;
		p->all[i].next = p->free;
		p->free = &p->all[i];
	}
	return 0;
}

static void
empty(struct pool *p)
{
	free(p->all);
	p->all = p->free = p->cold = NULL;
	p->count = 0;
}

int
tcpx_staging_open(struct tcpx_engine *e, const struct tcpx_device_ops *ops,
		  struct tcpx_device *dev)
{
	const size_t small = SMALL_COUNT * SLOT_SMALL_BYTES;
	size_t size = (e->limit.chunk_max + STAGING_PAGE - 1) / STAGING_PAGE * STAGING_PAGE;
	uint32_t ways = e->loop_count * TCPX_FLOWS, i, f;
	uint64_t large = e->limit.staging / ways / size;
	uint8_t *mem;
	int rc;

	if (e->staging)
		return 0;
	if (large < LARGE_MIN)
		large = LARGE_MIN;
	rc = ops->pinned(dev, ways * (large * size + small), (void **)&mem);
	if (rc)
		return rc;
	e->staging = mem;
	e->staging_ops = ops;
	e->staging_dev = dev;
	e->staging_slots = (uint32_t)large;
	for (i = 0; i < e->loop_count; i++)
		for (f = 0; f < TCPX_FLOWS && rc == 0; f++) {
			struct pool *pool = e->loop[i].batches.pool[f];

			rc = fill(&pool[SLOT_LARGE], mem, (uint32_t)large, size);
			mem += large * size;
			if (rc == 0)
				rc = fill(&pool[SLOT_SMALL], mem, SMALL_COUNT, SLOT_SMALL_BYTES);
			mem += small;
		}
	if (rc) {
		tcpx_staging_close(e);
		return rc;
	}
	tcpx_info(TCPX_SUB_DEV, "staging: %llu slots of %zu bytes and %d of %u for each of %u "
		  "threads and both directions", (unsigned long long)large, size, SMALL_COUNT,
		  SLOT_SMALL_BYTES, e->loop_count);
	return rc;
}

void
tcpx_staging_close(struct tcpx_engine *e)
{
	uint32_t i, f, z;

	for (i = 0; e->loop && i < e->loop_count; i++)
		for (f = 0; f < TCPX_FLOWS; f++)
			for (z = 0; z < SLOT_SIZES; z++)
				empty(&e->loop[i].batches.pool[f][z]);
	if (e->staging)
		e->staging_ops->unpin(e->staging_dev, e->staging);
	e->staging = NULL;
}

static uint32_t
held(const struct pool *p, const struct session *s)
{
	uint32_t i, n = 0;

	for (i = 0; i < p->count; i++)
		n += p->all[i].holder && p->all[i].holder->session == s;
	return n;
}

/* What a session holds decides, since its peer may stand still and keep it. Few slots stay in
 * the caches: one direction alone is faster with more of them, both at once with fewer
 * (docs/results/gpu-tuning.md). The last one is for a session that has none. */
static bool
may_have(const struct channel *c, const struct pool *p)
{
	const struct loop *l = c->loop;
	uint32_t n = held(p, c->session);

	if (!p->free)
		return false;
	if (p->large && n >= LARGE_MIN && l->batches.pool[!p->flow][SLOT_LARGE].used > 0)
		return false;
	return n == 0 || p->free->next ||
	       atomic_load_explicit(&l->engine->session_count, memory_order_relaxed) < 2;
}

struct slot *
tcpx_slot_get(struct channel *c, enum tcpx_flow flow, uint32_t len)
{
	struct pool *p = c->loop->batches.pool[flow];
	struct slot *slot;

	p += len <= SLOT_SMALL_BYTES ? SLOT_SMALL : SLOT_LARGE;
	if (!may_have(c, p)) {
		tcpx_chain_remove(&c->starving); /* it may have waited for one of the other size */
		tcpx_chain_add(&p->starved, &c->starving);
		return NULL;
	}
	slot = p->free;
	p->free = slot->next;
	p->used++;
	slot->holder = c;
	return slot;
}

/* One at a time: a slot is for one channel. Only who would get it is woken, else those who
 * wait would wake each other for ever. */
static void
pass(struct loop *l, struct pool *p)
{
	tcpx_chain_each(n, after, &p->starved) {
		struct channel *c = tcpx_container(n, struct channel, starving);

		if (!may_have(c, p))
			continue;
		tcpx_chain_remove(n);
		tcpx_loop_post(l, &c->work);
		return;
	}
}

/* Who was woken may have no use for a slot any more, so each wakes the next. */
void
tcpx_slot_pass(struct loop *l, enum tcpx_flow flow)
{
	int z;

	for (z = 0; z < SLOT_SIZES; z++)
		pass(l, &l->batches.pool[flow][z]);
}

static void
set_free(struct loop *l, struct slot *slot)
{
	struct pool *p = slot->pool;

	slot->next = p->free;
	p->free = slot;
	pass(l, p);
}

static void
take_back(struct loop *l, struct slot *slot)
{
	struct pool *p = slot->pool;

	slot->holder = NULL;
	if (--p->used == 0) /* now the other direction may have more */
		pass(l, &l->batches.pool[!p->flow][SLOT_LARGE]);
}

void
tcpx_slot_put(struct loop *l, struct slot *slot)
{
	take_back(l, slot);
	set_free(l, slot);
}

void
tcpx_slot_cool(struct loop *l, struct slot *slot, uint64_t now_ns)
{
	struct slot **at = &slot->pool->cold;

	take_back(l, slot);
	/* The peer reads what has reached it as soon as its loop runs; half of what counts as
	 * a stall is long enough for that, and other transfers do not stall for it. */
	slot->until_ns = now_ns + l->engine->limit.stall_ns / 2;
	slot->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = slot;
	tcpx_loop_timer(l, slot->until_ns);
}

static void
warm(struct loop *l, struct pool *p, uint64_t now_ns)
{
	struct slot *slot;

	while ((slot = p->cold) && slot->until_ns <= now_ns) {
		p->cold = slot->next;
		set_free(l, slot);
	}
	if (slot)
		tcpx_loop_timer(l, slot->until_ns);
}

void
tcpx_staging_timer(struct loop *l, uint64_t now_ns)
{
	int f, z;

	for (f = 0; f < TCPX_FLOWS; f++)
		for (z = 0; z < SLOT_SIZES; z++)
			warm(l, &l->batches.pool[f][z], now_ns);
}
