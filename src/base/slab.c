/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slab.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#define ALIGN (_Alignof(max_align_t))

struct tcpx_slab {
	_Atomic uint32_t refs; /* its pieces, and the place  */
	uint32_t used;         /* bytes; the place's owner */
};

/* Head in front of each piece. */
struct piece {
	_Alignas(ALIGN) struct tcpx_slab *slab;
};

static size_t
round_up(size_t len)
{
	return (len + ALIGN - 1) / ALIGN * ALIGN;
}

static void
put(struct tcpx_slab *s)
{
	if (atomic_fetch_sub(&s->refs, 1) == 1)
		munmap(s, TCPX_SLAB_BYTES);
}

void
tcpx_slab_leave(struct tcpx_slab **place)
{
	if (*place)
		put(*place);
	*place = NULL;
}

/* Finds or makes a slab with room for @len bytes. NULL: no memory. */
static struct tcpx_slab *
slab_for(struct tcpx_slab **place, size_t len)
{
	struct tcpx_slab *s = *place;

	if (s && atomic_load(&s->refs) == 1) /* all its pieces have gone */
		s->used = round_up(sizeof(*s));
	if (s && s->used + len <= TCPX_SLAB_BYTES)
		return s;
	tcpx_slab_leave(place);
	s = mmap(NULL, TCPX_SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return NULL;
	s->refs = 1;
	s->used = round_up(sizeof(*s));
	*place = s;
	return s;
}

void *
tcpx_slab_take(struct tcpx_slab **place, size_t len)
{
	size_t all = sizeof(struct piece) + round_up(len);
	struct tcpx_slab *s = len <= TCPX_SLAB_MOST ? slab_for(place, all) : NULL;
	struct piece *p;

	if (!s)
		return NULL;
	p = (struct piece *)((uint8_t *)s + s->used);
	p->slab = s;
	s->used += all;
	atomic_fetch_add(&s->refs, 1);
	return p + 1;
}

void
tcpx_slab_free(void *piece)
{
	if (piece)
		put(((struct piece *)piece - 1)->slab);
}
