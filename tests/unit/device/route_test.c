/* SPDX-License-Identifier: Apache-2.0 */
/* The route of each batch, at the limits and beside them. */

#include "cases.h"
#include "device/route.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define SMALL	     TCPX_ROUTE_SMALL_BYTES
#define ENGINE	     TCPX_ROUTE_ENGINE_BYTES
#define BUSY	     TCPX_ROUTE_BUSY_NS
#define NEVER	     UINT64_MAX
#define SRC	     0x10000000ull
#define DST	     0x90000000ull

TEST(a_batch_goes_by_size_and_by_what_the_gpu_does)
{
	static const struct {
		const char *name;
		uint64_t len;
		size_t count;
		enum tcpx_flow flow;
		uint64_t other_ns;
		enum tcpx_route want;
	} cases[] = {
		{ "one small copy in", SMALL, 1, TCPX_FLOW_UNPACK, NEVER, TCPX_ROUTE_ENGINE },
		{ "one small copy out", SMALL, 1, TCPX_FLOW_PACK, NEVER, TCPX_ROUTE_ENGINE },
		{ "small while it packs", 8, 1, TCPX_FLOW_UNPACK, 0, TCPX_ROUTE_ENGINE },
		{ "not so small", SMALL + 1, 1, TCPX_FLOW_UNPACK, NEVER, TCPX_ROUTE_KERNEL },
		{ "two small ones", 8, 2, TCPX_FLOW_UNPACK, NEVER, TCPX_ROUTE_KERNEL },
		{ "one way", 1 << 20, 8, TCPX_FLOW_UNPACK, NEVER, TCPX_ROUTE_KERNEL },
		{ "it packs now", 1 << 20, 8, TCPX_FLOW_UNPACK, 0, TCPX_ROUTE_RUNS },
		{ "it has just packed", 1 << 20, 8, TCPX_FLOW_UNPACK, BUSY, TCPX_ROUTE_RUNS },
		{ "it has long packed", 1 << 20, 8, TCPX_FLOW_UNPACK, BUSY + 1,
		  TCPX_ROUTE_KERNEL },
		{ "packing is the kernel's", 1 << 20, 8, TCPX_FLOW_PACK, 0, TCPX_ROUTE_KERNEL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tcpx_copy list[8];

		for (size_t k = 0; k < cases[i].count; k++)
			list[k] = (struct tcpx_copy){ SRC + (k << 24), DST + (k << 24),
						      cases[i].len };
		if (tcpx_route_batch(list, cases[i].count, cases[i].flow, cases[i].other_ns) !=
		    cases[i].want)
			fail_msg("%s", cases[i].name);
	}
}

/* Lists in short: each entry says how far it lies behind the end of the one before. */
TEST(entries_that_belong_together_go_together)
{
	static const struct {
		const char *name;
		struct {
			uint64_t src_gap, dst_gap, len;
		} entry[6];
		struct tcpx_route_run want;
	} cases[] = {
		{ "a chunk", { { 0, 0, ENGINE } }, { TCPX_ROUTE_ENGINE, 1, ENGINE } },
		{ "a short chunk", { { 0, 0, ENGINE - 1 } },
		  { TCPX_ROUTE_KERNEL, 1, ENGINE - 1 } },
		{ "a chunk in two entries", { { 0, 0, ENGINE / 2 }, { 0, 0, ENGINE / 2 } },
		  { TCPX_ROUTE_ENGINE, 2, ENGINE } },
		{ "then another chunk", { { 0, 0, ENGINE }, { 64, 64, ENGINE } },
		  { TCPX_ROUTE_ENGINE, 1, ENGINE } },
		{ "fragments of a chunk",
		  { { 0, 0, 60000 }, { 0, 9, 60000 }, { 0, 9, 60000 }, { 5, 9, 60000 } },
		  { TCPX_ROUTE_BOUNCE, 3, 180000 } },
		{ "few fragments", { { 0, 0, 60000 }, { 0, 9, 60000 }, { 5, 9, 60000 } },
		  { TCPX_ROUTE_KERNEL, 2, 120000 } },
		{ "fragments, then a chunk", { { 0, 0, 600 }, { 0, 9, 600 }, { 0, 9, ENGINE } },
		  { TCPX_ROUTE_KERNEL, 2, 1200 } },
		{ "nothing, then a chunk", { { 0, 0, 0 }, { 5, 5, ENGINE } },
		  { TCPX_ROUTE_KERNEL, 1, 0 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t src = SRC, dst = DST;
		struct tcpx_copy list[6];
		struct tcpx_route_run run;
		size_t count = 0;

		for (; count < 6 && (cases[i].entry[count].len || count == 0); count++) {
			src += cases[i].entry[count].src_gap;
			dst += cases[i].entry[count].dst_gap;
			list[count] = (struct tcpx_copy){ src, dst, cases[i].entry[count].len };
			src += list[count].len;
			dst += list[count].len;
		}
		run = tcpx_route_run(list, count);
		if (run.route != cases[i].want.route || run.count != cases[i].want.count ||
		    run.len != cases[i].want.len)
			fail_msg("%s: route %d, %zu entries, %llu bytes", cases[i].name,
				 (int)run.route, run.count, (unsigned long long)run.len);
	}
}

TEST(a_run_of_fragments_leaves_bounce_memory_for_the_next)
{
	struct tcpx_copy list[600];
	struct tcpx_route_run run;

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		list[i] = (struct tcpx_copy){ SRC + i * 4096, DST + i * 8192, 4096 };
	run = tcpx_route_run(list, ARRAY_LEN(list));
	assert_int_equal(run.route, TCPX_ROUTE_BOUNCE);
	assert_int_equal(run.len, TCPX_ROUTE_BOUNCE_BYTES);
	assert_int_equal(run.count, TCPX_ROUTE_BOUNCE_BYTES / 4096);
}
