/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure half of a launch. Every byte of the list is in exactly one piece. Cuts are where a
 * cache line of the destination begins, so that no two warps share a line.
 */
#include "device/launch.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/crc32c.h"

#define LINE_BYTES   128 /* of the GPU's L2 cache */
#define WARP_THREADS 32
#define ADDRESS_BITS 48
#define ADDRESS_END  (1ull << ADDRESS_BITS)

/* A list of a few microseconds is cut into shorter pieces: one turn of a warp's loads copies a
 * piece, and twice as many warps share the work. */
#define SHORT_LIST_BYTES  (1u << 20)
#define SHORT_PIECE_BYTES (TCPX_LAUNCH_PIECE_BYTES / 2)

static_assert(SHORT_PIECE_BYTES % LINE_BYTES == 0, "whole lines in a piece");
static_assert(sizeof(struct tcpx_piece) == 16, "one load of a thread");

/* Measured on an H200. Over PCIe few blocks fill the link. Elsewhere each warp has one piece,
 * in the smallest blocks that still fill a multiprocessor. A block that ends makes room for the
 * next at once, and the GPU's scheduler balances the load better than a loop in the kernel. */
#define THREADS      64
#define THREADS_PCIE 256

static const struct shape {
	const char *name;
	uint32_t blocks_pcie; /* at most */
} shapes[TCPX_LAUNCH_KERNELS] = {
	[TCPX_LAUNCH_PAGES]   = { "tcpx_unpack_pages", 8 },
	[TCPX_LAUNCH_PACKETS] = { "tcpx_unpack_packets", 16 },
	[TCPX_LAUNCH_MIXED]   = { "tcpx_unpack_mixed", 16 },
	[TCPX_LAUNCH_SUM]     = { "tcpx_sum", 0 }, /* never of host memory */
};

const char *
tcpx_launch_kernel_name(enum tcpx_launch_kernel k)
{
	return shapes[k].name;
}

uint32_t
tcpx_launch_threads_max(enum tcpx_launch_kernel k)
{
	(void)k; /* the same for all kernels */
	return 1024;
}

/* The longest piece of the list; a part of a list never has longer ones. */
static uint64_t
piece_limit(const struct tcpx_copy *list, size_t count)
{
	uint64_t room = SHORT_LIST_BYTES;

	for (size_t i = 0; i < count; i++) {
		if (list[i].len > room)
			return TCPX_LAUNCH_PIECE_BYTES;
		room -= list[i].len;
	}
	return SHORT_PIECE_BYTES;
}

/* The length of the first piece of a copy of len bytes. */
static uint64_t
piece_len(uint64_t dst, uint64_t len, uint64_t limit)
{
	return len <= limit ? len : limit - dst % LINE_BYTES;
}

size_t
tcpx_launch_pieces(const struct tcpx_copy *list, size_t count)
{
	const uint64_t limit = piece_limit(list, count);
	size_t pieces = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t len = list[i].len;
		uint64_t rest = len ? len - piece_len(list[i].dst, len, limit) : 0;

		pieces += (len > 0) + rest / limit + (rest % limit > 0);
	}
	return pieces;
}

static bool
in_reach(uint64_t addr, uint64_t len)
{
	return addr < ADDRESS_END && len <= ADDRESS_END - addr;
}

/* What a plan counts in its list. */
struct tally {
	uint64_t bytes;
	uint64_t shifted; /* bytes whose source and destination differ modulo 16 */
	size_t pieces;
};

static enum tcpx_launch_kernel
choose_kernel(const struct tally *t, uint64_t limit)
{
	const uint64_t page = limit * 3 / 4;           /* nearly              */
	const uint64_t packet = 3 * WARP_THREADS * 16; /* one turn of PACKETS */

	if (t->bytes <= t->pieces * packet)
		return TCPX_LAUNCH_PACKETS;
	if (t->bytes >= t->pieces * page && t->shifted <= t->bytes / 4)
		return TCPX_LAUNCH_PAGES;
	return TCPX_LAUNCH_MIXED;
}

static uint32_t
divide_up(uint64_t n, uint64_t by)
{
	return (uint32_t)((n + by - 1) / by);
}

/* Few pieces are spread over the multiprocessors, which have separate paths to memory. */
static void
choose_grid(bool pcie, uint32_t sms, struct tcpx_launch *launch)
{
	uint32_t most = pcie ? shapes[launch->kernel].blocks_pcie : UINT32_MAX;
	uint32_t threads = pcie ? THREADS_PCIE : THREADS;
	uint32_t warps = divide_up(launch->pieces, pcie && most < sms ? most : sms);

	if (warps > threads / WARP_THREADS)
		warps = threads / WARP_THREADS;
	if (warps < 2)
		warps = launch->pieces > 1 ? 2 : 1;
	launch->threads = warps * WARP_THREADS;
	launch->blocks = divide_up(launch->pieces, warps);
	if (launch->blocks > most)
		launch->blocks = most;
	if (!launch->blocks)
		launch->blocks = 1;
}

int
tcpx_launch_plan(const struct tcpx_copy *list, size_t count, bool pcie, uint32_t sms,
		 struct tcpx_piece *piece, size_t cap, struct tcpx_launch *launch)
{
	const uint64_t limit = pcie ? TCPX_LAUNCH_PIECE_BYTES : piece_limit(list, count);
	struct tally t = { 0 };

	if (cap > INT32_MAX) /* a kernel counts beyond its pieces */
		cap = INT32_MAX;
	for (size_t i = 0; i < count; i++) {
		struct tcpx_copy c = list[i];

		if (c.len && (!in_reach(c.src, c.len) || !in_reach(c.dst, c.len)))
			return -ERANGE;
		t.bytes += c.len;
		t.shifted += (c.src - c.dst) % 16 ? c.len : 0;
		while (c.len) {
			uint64_t len = piece_len(c.dst, c.len, limit);

			if (t.pieces == cap)
				return -ENOBUFS;
			piece[t.pieces++] = (struct tcpx_piece){
				.src = c.src | (len - 1) << ADDRESS_BITS,
				.dst = c.dst,
			};
			c.src += len;
			c.dst += len;
			c.len -= len;
		}
	}
	launch->kernel = choose_kernel(&t, limit);
	launch->pieces = (uint32_t)t.pieces;
	choose_grid(pcie, sms ? sms : 1, launch);
	return 0;
}

static size_t
length_of(const struct tcpx_piece *p)
{
	return (size_t)(p->src >> ADDRESS_BITS) + 1;
}

void
tcpx_launch_run_host(const struct tcpx_piece *piece, uint32_t pieces)
{
	for (uint32_t i = 0; i < pieces; i++) {
		uint64_t src = piece[i].src & (ADDRESS_END - 1);

		memcpy((void *)(uintptr_t)piece[i].dst, (const void *)(uintptr_t)src,
		       length_of(&piece[i]));
	}
}

/* ---- sums -------------------------------------------------------------------------- */

size_t
tcpx_launch_sum_pieces(const struct tcpx_summed *list, size_t count)
{
	size_t pieces = 0;

	for (size_t i = 0; i < count; i++)
		pieces += list[i].len > TCPX_LAUNCH_PIECE_BYTES ?
				  list[i].len / TCPX_LAUNCH_PIECE_BYTES + 2 : list[i].len > 0;
	return pieces;
}

int
tcpx_launch_sum(const struct tcpx_summed *list, size_t count, uint32_t sms,
		struct tcpx_piece *piece, size_t cap, struct tcpx_launch *launch)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct tcpx_summed s = list[i];

		if (s.len && !in_reach(s.addr, s.len))
			return -ERANGE;
		while (s.len) {
			uint64_t len = piece_len(s.addr, s.len, TCPX_LAUNCH_PIECE_BYTES);

			if (n == cap)
				return -ENOBUFS;
			piece[n++] = (struct tcpx_piece){
				.src = s.addr | (len - 1) << ADDRESS_BITS,
				.dst = (uint64_t)s.of << 32,
			};
			s.addr += len;
			s.len -= len;
		}
	}
	launch->kernel = TCPX_LAUNCH_SUM;
	launch->pieces = (uint32_t)n;
	choose_grid(false, sms ? sms : 1, launch);
	return 0;
}

/* The kernel inverts nothing, neither before nor after. */
void
tcpx_launch_sum_host(struct tcpx_piece *piece, uint32_t pieces)
{
	for (struct tcpx_piece *p = piece; p < piece + pieces; p++) {
		const void *mem = (const void *)(uintptr_t)(p->src & (ADDRESS_END - 1));

		p->dst = p->dst >> 32 << 32 | (uint32_t)~tcpx_crc32c(~0u, mem, length_of(p));
	}
}

/* Most pieces are of one length. */
void
tcpx_launch_sum_join(const struct tcpx_piece *piece, uint32_t pieces, uint32_t *sums)
{
	uint32_t mover = 0, *sum;
	size_t of = 0;

	for (const struct tcpx_piece *p = piece; p < piece + pieces; p++) {
		if (length_of(p) != of) {
			of = length_of(p);
			mover = tcpx_crc32c_mover(of);
		}
		sum = &sums[p->dst >> 32];
		*sum = ~(tcpx_crc32c_past(~*sum, mover) ^ (uint32_t)p->dst);
	}
}
