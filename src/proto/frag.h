/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragment lists: a byte stream laid over pieces of memory. Byte k of the stream has one
 * place. Slicing, merging and composing are arithmetic; no memory is touched.
 */
#ifndef PROTO_FRAG_H
#define PROTO_FRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcpx_frag {
	uint64_t addr; /* of the memory's own space */
	uint64_t len;  /* bytes; 0 is skipped       */
};

/* A list with prefix sums. start[i] is the stream offset of frag[i]; start[count] is the
 * total. Both arrays are borrowed. */
struct tcpx_fraglist {
	const struct tcpx_frag *frag;
	const uint64_t *start;
	size_t count;
};

/* A position in a list. */
struct tcpx_fragpos {
	size_t index;
	uint64_t within; /* bytes before the position in frag[index] */
};

/* A list as it grows. A piece that touches the one before is joined with it, and empty
 * pieces are dropped, so one pass makes list and sums. */
struct tcpx_fraggrow {
	struct tcpx_frag *frag; /* borrowed: room for every piece            */
	uint64_t *start;        /* borrowed: room for one more than that     */
	size_t count;
	uint64_t total;
	bool over;              /* the total has overflowed 64 bits */
};

static inline void
tcpx_frag_add(struct tcpx_fraggrow *g, uint64_t addr, uint64_t len)
{
	struct tcpx_frag *at = &g->frag[g->count];

	if (!len)
		return;
	if (g->count && at[-1].addr + at[-1].len == addr) {
		at[-1].len += len;
	} else {
		*at = (struct tcpx_frag){ addr, len };
		g->start[g->count++] = g->total;
	}
	g->over |= __builtin_add_overflow(g->total, len, &g->total);
}
/* Writes the last sum; returns the total, or UINT64_MAX on overflow. */
uint64_t tcpx_frag_end(struct tcpx_fraggrow *g);

/* Writes count + 1 prefix sums; returns the total, or UINT64_MAX on overflow. */
uint64_t tcpx_frag_sums(const struct tcpx_frag *frag, size_t count, uint64_t *start);
uint64_t tcpx_frag_total(const struct tcpx_fraglist *l);
/* Position of stream offset off (<= total), by bisection. */
struct tcpx_fragpos tcpx_frag_seek(const struct tcpx_fraglist *l, uint64_t off);
/* Up to cap pieces covering at most len bytes from *pos on, in stream order. Advances *pos,
 * sets *covered to their bytes, returns their number. */
size_t tcpx_frag_next(const struct tcpx_fraglist *l, struct tcpx_fragpos *pos, uint64_t len,
		      struct tcpx_frag *out, size_t cap, uint64_t *covered);

/* A piece of a copy between two lists. */
struct tcpx_span {
	uint64_t src, dst, len;
};
/* Composes two walks of the same stream: up to cap spans covering at most len bytes.
 * Advances both, sets *covered, returns the number of spans. Neighbours that touch on both
 * sides make one span. */
size_t tcpx_frag_compose(const struct tcpx_fraglist *src, struct tcpx_fragpos *spos,
			 const struct tcpx_fraglist *dst, struct tcpx_fragpos *dpos, uint64_t len,
			 struct tcpx_span *out, size_t cap, uint64_t *covered);

#endif
