/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments of a message come in runs, one for each socket's task, ascending within a run.
 * With one task they are in order, which one comparison each finds out. Otherwise the runs are
 * merged.
 */
#include "net/plugin/frag.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"

#define POOL_BYTES (1ull << 32) /* src_off has 32 bits */

_Static_assert(NCCL_UNPACK_FRAGS == PLUG_FRAGS_MAX, "a list of ours holds one of a plugin's");

uint64_t
plug_frags_sum(const struct nccl_unpack_frag *list, uint64_t count, uint64_t room)
{
	uint64_t sum = 0;

	if (count > NCCL_UNPACK_FRAGS)
		return UINT64_MAX;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t len = list[i].len, at = list[i].dst_off;

		if (at > room || len > room - at || list[i].src_off + len > POOL_BYTES)
			return UINT64_MAX;
		sum += len;
	}
	return sum;
}

/* The end of the run that begins at from: indices order[from..] ascend by dst_off. */
static uint32_t
run_end(const struct plug_frag *frag, const uint16_t *order, uint32_t from, uint32_t count)
{
	uint32_t to = from + 1;

	while (to < count && frag[order[to - 1]].dst_off <= frag[order[to]].dst_off)
		to++;
	return to;
}

static void
merge(const struct plug_frag *frag, const uint16_t *from, uint32_t a, uint32_t b, uint32_t end,
      uint16_t *to)
{
	for (uint32_t i = a, j = b, k = a; k < end; k++) {
		bool left = i < b && (j == end || frag[from[i]].dst_off <= frag[from[j]].dst_off);

		to[k] = from[left ? i++ : j++];
	}
}

/* Merges neighbouring runs until there is one; the result is in order[]. */
static void
sort(const struct plug_frag *frag, uint16_t *order, uint16_t *spare, uint32_t count)
{
	uint32_t runs;

	do {
		runs = 0;
		for (uint32_t a = 0, b, end; a < count; a = end, runs++) {
			b = run_end(frag, order, a, count);
			end = b < count ? run_end(frag, order, b, count) : count;
			merge(frag, order, a, b, end, spare);
		}
		memcpy(order, spare, count * sizeof(*order));
	} while (runs > 1);
}

static bool
is_partition(const struct plug_frag *frag, uint32_t count, uint32_t len)
{
	uint16_t order[NCCL_UNPACK_FRAGS], spare[NCCL_UNPACK_FRAGS];
	uint64_t at = 0;

	for (uint32_t i = 0; i < count; i++)
		order[i] = (uint16_t)i;
	sort(frag, order, spare, count);
	for (uint32_t i = 0; i < count; i++) {
		if (frag[order[i]].dst_off != at)
			return false;
		at += frag[order[i]].len;
	}
	return at == len;
}

int
plug_frags_check(const struct nccl_unpack_frag *list, uint64_t count, uint32_t len,
		 uint64_t bounce, struct plug_frag *out, uint32_t *out_count)
{
	bool in_order = true;
	uint64_t at = 0;
	uint32_t n = 0;

	if (count > NCCL_UNPACK_FRAGS)
		return TCPX_EFRAME;
	for (uint64_t i = 0; i < count; i++) {
		struct nccl_unpack_frag f = list[i];

		if (f.len == 0)
			continue;
		if (f.dst_off > len || f.len > len - f.dst_off ||
		    (uint64_t)f.src_off + f.len > POOL_BYTES)
			return TCPX_EFRAME;
		in_order = in_order && f.dst_off == at;
		at = f.dst_off + f.len;
		out[n++] = (struct plug_frag){ bounce + f.src_off, f.dst_off, f.len };
	}
	if (!(in_order && at == len) && !is_partition(out, n, len))
		return TCPX_EFRAME;
	*out_count = n;
	return 0;
}
