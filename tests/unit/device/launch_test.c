/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of a launch: every byte in one piece, cut on cache lines, the kernel that suits. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/rng.h"
#include "device/launch.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_PIECES   1024
#define SMS          132
#define MIB          (1u << 20)
#define TOP          (1ull << 48)

static struct tcpx_piece pieces[MAX_PIECES];

static uint64_t
piece_src(struct tcpx_piece p)
{
	return p.src & (TOP - 1);
}

static uint64_t
piece_len(struct tcpx_piece p)
{
	return (p.src >> 48) + 1;
}

TEST(every_piece_continues_the_one_before)
{
	static const struct {
		const char *name;
		struct tcpx_copy copy;
		size_t pieces;
	} rows[] = {
		{ "nothing", { 0x1000, 0x2000, 0 }, 0 },
		{ "nothing, anywhere", { UINT64_MAX, UINT64_MAX, 0 }, 0 },
		{ "a byte", { 0x1003, 0x2005, 1 }, 1 },
		{ "half a page, anywhere", { 0x1003, 0x2ff1, 2048 }, 1 },
		{ "a page", { 0x1000, 0x2000, 4096 }, 2 },
		{ "a page, anywhere", { 0x1003, 0x2ff1, 4096 }, 3 },
		{ "a page and a byte", { 0x1000, 0x2000, 4097 }, 3 },
		{ "two pages, off by one", { 0x1000, 0x2001, 8192 }, 5 },
		{ "the longest that a piece could hold", { 0x1000, 0x20000, 65536 }, 32 },
		{ "a MiB off by a line", { 0x100001, 0x200080, MIB }, 512 },
		{ "a MiB and a byte", { 0x100001, 0x200080, MIB + 1 }, 257 },
		{ "two MiB", { 0x100000, 0x200000, 2 * MIB }, 512 },
		{ "two MiB off by one", { 0x100000, 0x200001, 2 * MIB }, 513 },
		{ "the last byte in reach", { TOP - 1, TOP - 1, 1 }, 1 },
		{ "the last page in reach", { TOP - 4096, TOP - 4096, 4096 }, 2 },
		{ "from address 0", { 0, 0, 4096 }, 2 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_copy c = rows[i].copy;
		struct tcpx_launch launch;
		size_t n = tcpx_launch_pieces(&c, 1);

		if (n != rows[i].pieces)
			fail_msg("%s: %zu pieces, want %zu", rows[i].name, n, rows[i].pieces);
		if (tcpx_launch_plan(&c, 1, false, SMS, pieces, n, &launch) ||
		    launch.pieces != n)
			fail_msg("%s: no plan of %zu pieces", rows[i].name, n);
		for (size_t k = 0; k < n; k++) {
			uint64_t len = piece_len(pieces[k]);

			if (piece_src(pieces[k]) != c.src || pieces[k].dst != c.dst ||
			    len > c.len || len > TCPX_LAUNCH_PIECE_BYTES)
				fail_msg("%s: piece %zu has %llu bytes", rows[i].name, k,
					 (unsigned long long)len);
			if (k && pieces[k].dst % 128)
				fail_msg("%s: piece %zu begins inside a line", rows[i].name, k);
			c.src += len;
			c.dst += len;
			c.len -= len;
		}
		assert_int_equal(c.len, 0);
	}
}

/* The room that is asked for is enough for a plan over PCIe, and for one of a longer list. */
TEST(lists_of_a_mib_are_cut_shorter_but_over_pcie)
{
	static struct tcpx_copy list[257];
	static const struct {
		size_t count, pieces, pcie;
	} rows[] = { { 1, 2, 1 }, { 128, 256, 128 }, { 256, 512, 256 }, { 257, 257, 257 } };
	struct tcpx_launch launch;

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		list[i] = (struct tcpx_copy){ 0x1000000 + i * 8192, 0x2000000 + i * 8192, 4096 };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t count = rows[i].count;

		assert_int_equal(tcpx_launch_pieces(list, count), rows[i].pieces);
		assert_int_equal(tcpx_launch_plan(list, count, false, SMS, pieces,
						  rows[i].pieces, &launch),
				 0);
		assert_int_equal(launch.pieces, rows[i].pieces);
		assert_int_equal(tcpx_launch_plan(list, count, true, SMS, pieces,
						  rows[i].pieces, &launch),
				 0);
		assert_int_equal(launch.pieces, rows[i].pcie);
	}
}

TEST(what_does_not_fit_is_refused)
{
	static const struct {
		const char *name;
		struct tcpx_copy copy;
		size_t cap;
		int rc;
	} rows[] = {
		{ "no room for one", { 0x1000, 0x2000, 1 }, 0, -ENOBUFS },
		{ "no room for the third", { 0x1000, 0x2001, 4096 }, 2, -ENOBUFS },
		{ "nothing needs no room", { 0x1000, 0x2000, 0 }, 0, 0 },
		{ "source too high", { TOP, 0x2000, 1 }, 8, -ERANGE },
		{ "destination too high", { 0x1000, TOP, 1 }, 8, -ERANGE },
		{ "source ends too high", { TOP - 1, 0x2000, 2 }, 8, -ERANGE },
		{ "destination ends too high", { 0x1000, TOP - 1, 2 }, 8, -ERANGE },
		{ "source wraps around", { UINT64_MAX, 0x2000, 2 }, 8, -ERANGE },
		{ "longer than all memory", { 1, 1, UINT64_MAX }, 8, -ERANGE },
		{ "nothing, too high", { TOP, TOP, 0 }, 8, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_launch launch = { .pieces = 77 };
		int rc = tcpx_launch_plan(&rows[i].copy, 1, false, SMS, pieces, rows[i].cap,
					  &launch);

		if (rc != rows[i].rc)
			fail_msg("%s: %d, want %d", rows[i].name, rc, rows[i].rc);
		if (rc && launch.pieces != 77)
			fail_msg("%s: the plan was written all the same", rows[i].name);
	}
}

/* count fragments of len bytes; sources and destinations are apart by shift modulo 16. */
static struct tcpx_launch
plan_of(size_t count, uint64_t len, uint64_t shift, bool pcie)
{
	static struct tcpx_copy list[MAX_PIECES];
	struct tcpx_launch launch;

	assert_in_range(count, 0, MAX_PIECES);
	for (size_t i = 0; i < count; i++)
		list[i] = (struct tcpx_copy){ 0x10000000 + i * 65536 + shift,
					      0x20000000 + i * 65536, len };
	assert_int_equal(
		tcpx_launch_plan(list, count, pcie, SMS, pieces, MAX_PIECES, &launch), 0);
	return launch;
}

TEST(the_kernel_suits_the_pieces)
{
	static const struct {
		const char *name;
		size_t count;
		uint64_t len, shift;
		enum tcpx_launch_kernel kernel;
	} rows[] = {
		{ "pages", 128, 4096, 0, TCPX_LAUNCH_PAGES },
		{ "runs of pages", 8, 65536, 0, TCPX_LAUNCH_PAGES },
		{ "pages, shifted", 128, 4096, 3, TCPX_LAUNCH_MIXED },
		{ "packets", 362, 1448, 0, TCPX_LAUNCH_PACKETS },
		{ "packets, shifted", 362, 1448, 5, TCPX_LAUNCH_PACKETS },
		{ "single bytes", 100, 1, 1, TCPX_LAUNCH_PACKETS },
		{ "half pages", 100, 2048, 0, TCPX_LAUNCH_PAGES },
		{ "half pages, many", 600, 2048, 0, TCPX_LAUNCH_MIXED },
		{ "a page and a bit", 400, 4500, 0, TCPX_LAUNCH_MIXED },
		{ "many pages", 300, 4096, 0, TCPX_LAUNCH_PAGES },
		{ "many pages, shifted", 300, 4096, 3, TCPX_LAUNCH_MIXED },
		{ "nothing", 0, 0, 0, TCPX_LAUNCH_PACKETS },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_launch l =
			plan_of(rows[i].count, rows[i].len, rows[i].shift, false);

		if (l.kernel != rows[i].kernel)
			fail_msg("%s: %s, want %s", rows[i].name,
				 tcpx_launch_kernel_name(l.kernel),
				 tcpx_launch_kernel_name(rows[i].kernel));
	}
}

TEST(the_grid_is_no_larger_than_the_work_or_the_link)
{
	static const size_t counts[] = { 0, 1, 2, 3, 31, 128, 500, MAX_PIECES };
	static const uint64_t lens[] = { 1, 1448, 2048, 4096 };

	for (size_t i = 0; i < ARRAY_LEN(counts) * ARRAY_LEN(lens) * 2; i++) {
		size_t count = counts[i / 2 % ARRAY_LEN(counts)];
		uint64_t len = lens[i / 2 / ARRAY_LEN(counts)];
		bool pcie = i % 2;
		struct tcpx_launch l = plan_of(count, len, 0, pcie);
		uint32_t warps = l.threads / 32 * l.blocks;

		/* one block more than the work may be begun, never left without any */
		if (!l.blocks || !l.threads || l.threads % 32 ||
		    l.threads > tcpx_launch_threads_max(l.kernel) ||
		    (pcie && l.blocks > 16) || (count && warps >= l.pieces + l.threads / 32))
			fail_msg("%zu of %llu bytes: %u blocks of %u threads", count,
				 (unsigned long long)len, l.blocks, l.threads);
	}
	/* a chunk of pages is spread over the GPU, a link is filled by few blocks */
	assert_int_equal(plan_of(128, 4096, 0, false).blocks, 128);
	assert_int_equal(plan_of(1000, 4096, 0, false).blocks, 500);
	assert_int_equal(plan_of(1000, 4096, 0, true).blocks, 8);
	assert_int_equal(plan_of(1000, 1448, 1, true).blocks, 16);
}

/* Parts of several memories, anywhere, in one launch. */
TEST(sums_of_pieces_are_those_of_the_whole)
{
	static uint8_t mem[64 << 10] __attribute__((aligned(4096)));
	struct tcpx_rng rng = tcpx_rng_seed(3);
	struct tcpx_summed list[8];
	struct tcpx_launch l;

	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (uint8_t)tcpx_rng_next(&rng);
	for (int round = 0; round < 500; round++) {
		uint32_t want[3] = { 0, 1, 2 }, got[3] = { 0, 1, 2 };
		size_t n = tcpx_rng_between(&rng, 1, 8);

		for (size_t i = 0; i < n; i++) {
			uint64_t len = tcpx_rng_below(&rng, round % 2 ? 300 : 30000);
			const uint8_t *at = mem + tcpx_rng_below(&rng, sizeof(mem) - len);

			list[i] = (struct tcpx_summed){ (uintptr_t)at, len,
							(uint32_t)tcpx_rng_below(&rng, 3) };
			want[list[i].of] = tcpx_crc32c(want[list[i].of], at, len);
		}
		assert_int_equal(tcpx_launch_sum(list, n, SMS, pieces,
						 tcpx_launch_sum_pieces(list, n), &l), 0);
		assert_int_equal(l.kernel, TCPX_LAUNCH_SUM);
		assert_true(l.blocks * l.threads >= 32 * l.pieces);
		for (uint32_t i = 0; i < l.pieces; i++)
			assert_true(piece_len(pieces[i]) <= TCPX_LAUNCH_PIECE_BYTES);
		tcpx_launch_sum_host(pieces, l.pieces);
		tcpx_launch_sum_join(pieces, l.pieces, got);
		assert_memory_equal(got, want, sizeof(want));
	}
}

TEST(a_sum_that_cannot_be_launched_is_refused)
{
	struct tcpx_summed far = { TOP - 1, 2, 0 }, none = { UINT64_MAX, 0, 0 };
	struct tcpx_summed page = { 0x1001, 4096, 0 }, pair = { 0x1001, 4097, 0 };
	struct tcpx_launch l;

	assert_int_equal(tcpx_launch_sum(&far, 1, SMS, pieces, MAX_PIECES, &l), -ERANGE);
	assert_int_equal(tcpx_launch_sum(&page, 1, SMS, pieces, 1, &l), 0);
	assert_int_equal(tcpx_launch_sum(&pair, 1, SMS, pieces, 1, &l), -ENOBUFS);
	assert_int_equal(tcpx_launch_sum(&none, 1, SMS, pieces, 0, &l), 0);
	assert_int_equal(l.pieces, 0);
	assert_true(l.blocks && l.threads);
}

TEST(every_kernel_has_a_name)
{
	for (int i = 0; i < TCPX_LAUNCH_KERNELS; i++) {
		const char *name = tcpx_launch_kernel_name(i);
		char entry[64];

		/* as the PTX spells it, too */
		snprintf(entry, sizeof(entry), ".entry %s(", name);
		assert_non_null(strstr(tcpx_unpack_ptx, entry));
	}
}

TEST(text_is_the_last_image)
{
	size_t n = 0;

	while (tcpx_unpack_images[n])
		n++;
	assert_in_range(n, 1, 2);
	assert_ptr_equal(tcpx_unpack_images[n - 1], tcpx_unpack_ptx);
}

#define SPACE     (1u << 18)
#define FRAGMENTS 48

/* A random list whose destinations leave gaps, done by memcpy and by its plan. */
TEST(a_plan_copies_what_its_list_says)
{
	const char *given = getenv("TCPX_TEST_SEED");
	uint64_t first = given ? strtoull(given, NULL, 0) : 1;
	uint8_t *src = malloc(SPACE), *want = malloc(SPACE), *got = malloc(SPACE);

	assert_true(src && want && got);
	for (uint64_t seed = first; seed < first + 300; seed++) {
		struct tcpx_rng rng = tcpx_rng_seed(seed);
		struct tcpx_copy list[FRAGMENTS];
		struct tcpx_launch launch;
		bool pcie = seed % 2;
		uint64_t longest = 1ull << tcpx_rng_between(&rng, 0, 16);
		size_t count = 0, need;

		for (size_t i = 0; i < SPACE; i += 8)
			memcpy(src + i, &(uint64_t){ tcpx_rng_next(&rng) }, 8);
		memset(want, 0x5a, SPACE);
		memset(got, 0x5a, SPACE);
		for (uint64_t at = tcpx_rng_below(&rng, 64); count < FRAGMENTS; count++) {
			uint64_t len = tcpx_rng_between(&rng, 0, longest);
			uint64_t from = tcpx_rng_below(&rng, SPACE - len + 1);

			if (len > SPACE - at)
				break;
			list[count] = (struct tcpx_copy){ (uintptr_t)src + from,
							  (uintptr_t)got + at, len };
			memcpy(want + at, src + from, len);
			at += len + tcpx_rng_below(&rng, 3) * tcpx_rng_below(&rng, 200);
			if (at > SPACE)
				at = SPACE;
		}
		need = tcpx_launch_pieces(list, count);
		if (need > MAX_PIECES ||
		    tcpx_launch_plan(list, count, pcie, SMS, pieces, need, &launch) ||
		    (pcie ? launch.pieces > need : launch.pieces != need))
			fail_msg("TCPX_TEST_SEED=%llu: no plan", (unsigned long long)seed);
		tcpx_launch_run_host(pieces, launch.pieces);
		if (memcmp(got, want, SPACE))
			fail_msg("TCPX_TEST_SEED=%llu: bytes differ", (unsigned long long)seed);
	}
	free(src);
	free(want);
	free(got);
}
