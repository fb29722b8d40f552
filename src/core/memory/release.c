/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory/release.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/mutex.h"
#include "core/context/context.h"
#include "core/memory/memory.h"

#define PAGE 4096u

/* At the beginning of the memory itself. */
struct block {
	struct tcpx_node node;
	size_t bytes;
	size_t given; /* from the end */
};

/* Gives @step bytes of it back. True: that was all. The first page is free()'s. */
static bool
give(struct block *b, size_t step)
{
	uintptr_t first = ((uintptr_t)(b + 1) + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t to = ((uintptr_t)b + b->bytes - b->given) & ~(uintptr_t)(PAGE - 1);
	uintptr_t from = to > first + step ? (to - step) & ~(uintptr_t)(PAGE - 1) : first;

	if (from < to)
		(void)madvise((void *)from, to - from, MADV_DONTNEED);
	b->given = (uintptr_t)b + b->bytes - from;
	return from == first;
}

static void
turn(struct work *w, uint64_t now_ns)
{
	struct release *r = tcpx_container(w, struct release, work);
	struct block *b;
	size_t step;

	(void)now_ns;
	pthread_mutex_lock(&r->lock);
	b = tcpx_chain_empty(&r->blocks) ? NULL :
					   tcpx_container(tcpx_chain_first(&r->blocks), struct block, node);
	step = RELEASE_STEP + r->bytes / 64;
	pthread_mutex_unlock(&r->lock);
	if (!b)
		return;
	if (give(b, step)) { /* only this thread takes one out */
		pthread_mutex_lock(&r->lock);
		tcpx_chain_remove(&b->node);
		r->bytes -= b->bytes;
		pthread_mutex_unlock(&r->lock);
		free(b);
	}
	tcpx_loop_post(&r->engine->loop[0], w);
}

void
tcpx_release_init(struct tcpx_engine *e)
{
	struct release *r = &e->memory->release;

	tcpx_mutex_init(&r->lock);
	tcpx_node_init(&r->blocks);
	r->work.run = turn;
	r->engine = e;
}

void
tcpx_release_close(struct tcpx_engine *e)
{
	struct release *r = &e->memory->release;

	if (e->loop)
		tcpx_loop_cancel(&e->loop[0], &r->work);
	pthread_mutex_lock(&r->lock);
	r->closed = true;
	tcpx_chain_each(n, after, &r->blocks) {
		tcpx_chain_remove(n);
		free(tcpx_container(n, struct block, node));
	}
	pthread_mutex_unlock(&r->lock);
}

void
tcpx_release(struct tcpx_engine *e, void *block, size_t bytes)
{
	struct release *r = &e->memory->release;
	struct block *b = block;
	bool later = false;

	if (bytes >= RELEASE_LARGE) {
		pthread_mutex_lock(&r->lock);
		later = !r->closed;
		if (later) {
			*b = (struct block){ .bytes = bytes };
			tcpx_chain_add(&r->blocks, &b->node);
			r->bytes += bytes;
		}
		pthread_mutex_unlock(&r->lock);
	}
	if (later)
		tcpx_loop_post(&e->loop[0], &r->work);
	else
		free(block);
}
