/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging buffers: page-locked memory between sockets and GPUs, a few chunks for each loop
 * and direction. Sending and receiving have pools of their own: if they shared one, two
 * engines could each hold all buffers for sending and wait for the other to receive.
 */
#include "core/memory/staging.h"

#include <errno.h>
#include <stdlib.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/memory/late.h"
#include "core/memory/memory.h"

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
	p->count = p->idle = count;
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
	p->all = p->free = p->cold = p->late = NULL;
	p->count = p->idle = 0;
}

int
tcpx_staging_open(struct tcpx_engine *e, const struct tcpx_device_ops *ops,
		  struct tcpx_device *dev)
{
	const size_t small = SMALL_COUNT * STAGING_SMALL_BYTES;
	size_t size = (e->limit.chunk_max + STAGING_PAGE - 1) / STAGING_PAGE * STAGING_PAGE;
	uint32_t ways = e->loop_count * TCPX_FLOWS, i, f;
	uint64_t large = e->limit.staging / ways / size;
	uint8_t *mem;
	int rc;

	if (e->memory->staging.mem)
		return 0;
	if (large < LARGE_MIN)
		large = LARGE_MIN;
	rc = ops->pinned(dev, ways * (large * size + small), (void **)&mem);
	if (rc)
		return rc;
	e->memory->staging.mem = mem;
	e->memory->staging.ops = ops;
	e->memory->staging.dev = dev;
	for (i = 0; i < e->loop_count; i++)
		for (f = 0; f < TCPX_FLOWS && rc == 0; f++) {
			struct pool *pool = e->memory->batches[i].pool[f];

			rc = fill(&pool[STAGING_LARGE], mem, (uint32_t)large, size);
			mem += large * size;
			if (rc == 0)
				rc = fill(&pool[STAGING_SMALL], mem, SMALL_COUNT, STAGING_SMALL_BYTES);
			mem += small;
		}
	if (rc) {
		tcpx_staging_close(e);
		return rc;
	}
	tcpx_info(TCPX_SUB_DEV, "staging: %llu slots of %zu bytes and %d of %u for each of %u "
		  "threads and both directions", (unsigned long long)large, size, SMALL_COUNT,
		  STAGING_SMALL_BYTES, e->loop_count);
	return rc;
}

void
tcpx_staging_close(struct tcpx_engine *e)
{
	struct memory *m = e->memory;
	uint32_t i, f, z;

	for (i = 0; m->batches && i < e->loop_count; i++)
		for (f = 0; f < TCPX_FLOWS; f++)
			for (z = 0; z < STAGING_SIZES; z++)
				empty(&m->batches[i].pool[f][z]);
	if (m->staging.mem && !tcpx_late_any(e))
		m->staging.ops->unpin(m->staging.dev, m->staging.mem);
	m->staging.mem = NULL;
}

/* The peers of several sessions may stand still at once. One is kept at least, a quarter at most:
 * idle sessions shall not halve what the others have. */
uint32_t
tcpx_staging_reserve(uint32_t count, uint32_t sessions)
{
	uint32_t most = count / 4 ? count / 4 : 1;

	if (sessions < 2)
		return 0;
	return sessions - 1 < most ? sessions - 1 : most;
}

static uint32_t
held(const struct pool *p, const void *session)
{
	uint32_t i, n = 0;

	for (i = 0; i < p->count; i++)
		n += p->all[i].holder && p->all[i].holder->session == session;
	return n;
}

/* The buffers that a session holds decide, since its peer may stand still and keep them. Few
 * buffers stay in the caches: one direction alone is faster with more of them, both at once
 * with fewer (docs/results/gpu-tuning.md). The last ones are for sessions that have none. */
static bool
may_have(const struct copy_client *c, const struct pool *p)
{
	const struct loop *l = c->loop;
	uint32_t n = held(p, c->session);

	if (!p->free)
		return false;
	if (p->large && n >= LARGE_MIN && l->batches->pool[!p->flow][STAGING_LARGE].used > 0)
		return false;
	return n == 0 || p->idle > tcpx_staging_reserve(p->count,
			atomic_load_explicit(&l->engine->registry.session_count, memory_order_relaxed));
}

bool
tcpx_staging_is_short(const struct copy_client *c)
{
	return atomic_load_explicit(&c->short_ns, memory_order_relaxed) == UINT64_MAX;
}

void
tcpx_staging_leave(struct copy_client *c)
{
	tcpx_chain_remove(&c->waiting);
	if (tcpx_staging_is_short(c))
		atomic_store(&c->short_ns, engine_now(c->loop->engine));
}

struct staging_buffer *
tcpx_staging_get(struct copy_client *c, enum tcpx_flow flow, int place, uint32_t len)
{
	struct pool *p = c->loop->batches->pool[flow];
	struct staging_buffer *buffer;

	p += len <= STAGING_SMALL_BYTES ? STAGING_SMALL : STAGING_LARGE;
	if (!may_have(c, p)) {
		tcpx_staging_leave(c); /* it may have waited for the other size */
		tcpx_chain_add(&p->waiters, &c->waiting);
		if (held(p, c->session) == 0)
			atomic_store(&c->short_ns, UINT64_MAX);
		return NULL;
	}
	buffer = p->free;
	p->free = buffer->next;
	p->idle--;
	p->used++;
	buffer->holder = c;
	buffer->place = place;
	return buffer;
}

/* Wakes one channel for one buffer, and only one that would get it: else waiting channels
 * would wake each other for ever. */
static void
pass(struct loop *l, struct pool *p)
{
	tcpx_chain_each(n, after, &p->waiters) {
		struct copy_client *c = tcpx_container(n, struct copy_client, waiting);

		if (!may_have(c, p))
			continue;
		tcpx_staging_leave(c);
		tcpx_loop_post(l, c->work);
		return;
	}
}

/* The woken channel may no longer need a buffer, so each wakes the next waiter. */
void
tcpx_staging_wake_next(struct loop *l, enum tcpx_flow flow)
{
	int z;

	for (z = 0; z < STAGING_SIZES; z++)
		pass(l, &l->batches->pool[flow][z]);
}

void
tcpx_staging_wake_all(struct loop *l, enum tcpx_flow flow)
{
	for (int z = 0; z < STAGING_SIZES; z++)
		tcpx_chain_each(n, after, &l->batches->pool[flow][z].waiters) {
			struct copy_client *c = tcpx_container(n, struct copy_client, waiting);

			tcpx_staging_leave(c);
			tcpx_loop_post(l, c->work);
		}
}

static void
set_free(struct loop *l, struct staging_buffer *buffer)
{
	struct pool *p = buffer->pool;

	if (tcpx_late_is(l->engine, p->flow, buffer->place)) {
		buffer->next = p->late;
		p->late = buffer;
		return;
	}
	buffer->next = p->free;
	p->free = buffer;
	p->idle++;
	pass(l, p);
}

static void
take_back(struct loop *l, struct staging_buffer *buffer)
{
	struct pool *p = buffer->pool;

	buffer->holder = NULL;
	if (--p->used == 0) /* now the other direction may have more */
		pass(l, &l->batches->pool[!p->flow][STAGING_LARGE]);
}

void
tcpx_staging_put(struct loop *l, struct staging_buffer *buffer)
{
	take_back(l, buffer);
	set_free(l, buffer);
}

void
tcpx_staging_put_lent(struct loop *l, struct staging_buffer *buffer, uint64_t now_ns)
{
	struct staging_buffer **at = &buffer->pool->cold;

	take_back(l, buffer);
	/* The peer reads received data as soon as its loop runs. Half of the stall deadline
	 * is long enough for that, and other transfers do not stall for it. */
	buffer->until_ns = now_ns + l->engine->limit.stall_ns / 2;
	buffer->next = NULL;
	while (*at)
		at = &(*at)->next;
	*at = buffer;
	tcpx_loop_timer(l, buffer->until_ns);
}

static void
warm(struct loop *l, struct pool *p, uint64_t now_ns)
{
	struct staging_buffer *buffer, *late = p->late;

	p->late = NULL;
	while ((buffer = late)) {
		late = buffer->next;
		set_free(l, buffer);
	}

	while ((buffer = p->cold) && buffer->until_ns <= now_ns) {
		p->cold = buffer->next;
		set_free(l, buffer);
	}
	if (buffer)
		tcpx_loop_timer(l, buffer->until_ns);
}

void
tcpx_staging_timer(struct loop *l, uint64_t now_ns)
{
	int f, z;

	for (f = 0; f < TCPX_FLOWS; f++)
		for (z = 0; z < STAGING_SIZES; z++)
			warm(l, &l->batches->pool[f][z], now_ns);
}
