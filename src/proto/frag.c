/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragment arithmetic. A position never stands at the end of a fragment, but at the start
 * of the next one, or behind the list.
 */
#include "proto/frag.h"

uint64_t
tcpx_frag_end(struct tcpx_fraggrow *g)
{
	g->start[g->count] = g->total;
	return g->over ? UINT64_MAX : g->total;
}

uint64_t
tcpx_frag_sums(const struct tcpx_frag *frag, size_t count, uint64_t *start)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		start[i] = sum;
		if (__builtin_add_overflow(sum, frag[i].len, &sum))
			return UINT64_MAX;
	}
	start[count] = sum;
	return sum;
}

uint64_t
tcpx_frag_total(const struct tcpx_fraglist *l)
{
	return l->count ? l->start[l->count] : 0;
}

struct tcpx_fragpos
tcpx_frag_seek(const struct tcpx_fraglist *l, uint64_t off)
{
	size_t low = 0, high = l->count; /* the last i with start[i] <= off is in there */

	if (off >= tcpx_frag_total(l))
		return (struct tcpx_fragpos){ .index = l->count };
	while (low < high) {
		size_t mid = low + (high - low + 1) / 2;

		if (l->start[mid] <= off)
			low = mid;
		else
			high = mid - 1;
	}
	return (struct tcpx_fragpos){ .index = low, .within = off - l->start[low] };
}

/* The longest piece at @pos, at most @len bytes; false when nothing is left. */
static bool
piece_at(const struct tcpx_fraglist *l, struct tcpx_fragpos *pos, uint64_t len,
	 struct tcpx_frag *out)
{
	const struct tcpx_frag *f;

	while (pos->index < l->count && pos->within >= l->frag[pos->index].len)
		*pos = (struct tcpx_fragpos){ .index = pos->index + 1 }; /* empty ones */
	if (pos->index >= l->count || !len)
		return false;
	f = &l->frag[pos->index];
	out->addr = f->addr + pos->within;
	out->len = f->len - pos->within < len ? f->len - pos->within : len;
	return true;
}

static void
pass(const struct tcpx_fraglist *l, struct tcpx_fragpos *pos, uint64_t len)
{
	pos->within += len;
	if (pos->within == l->frag[pos->index].len)
		*pos = (struct tcpx_fragpos){ .index = pos->index + 1 };
}

size_t
tcpx_frag_next(const struct tcpx_fraglist *l, struct tcpx_fragpos *pos, uint64_t len,
	       struct tcpx_frag *out, size_t cap, uint64_t *covered)
{
	uint64_t done = 0;
	size_t n = 0;

	for (; n < cap && piece_at(l, pos, len - done, &out[n]); n++) {
		pass(l, pos, out[n].len);
		done += out[n].len;
	}
	*covered = done;
	return n;
}

size_t
tcpx_frag_compose(const struct tcpx_fraglist *src, struct tcpx_fragpos *spos,
		  const struct tcpx_fraglist *dst, struct tcpx_fragpos *dpos, uint64_t len,
		  struct tcpx_span *out, size_t cap, uint64_t *covered)
{
	struct tcpx_frag s, d;
	uint64_t done = 0;
	size_t n = 0;

	while (piece_at(src, spos, len - done, &s) && piece_at(dst, dpos, s.len, &d)) {
		struct tcpx_span *last = n ? &out[n - 1] : NULL;

		if (last && last->src + last->len == s.addr && last->dst + last->len == d.addr)
			last->len += d.len;
		else if (n < cap)
			out[n++] = (struct tcpx_span){ s.addr, d.addr, d.len };
		else
			break;
		pass(src, spos, d.len);
		pass(dst, dpos, d.len);
		done += d.len;
	}
	*covered = done;
	return n;
}
