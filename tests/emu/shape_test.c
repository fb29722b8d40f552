/* SPDX-License-Identifier: Apache-2.0 */
/* How fragments are cut: the pure rule by itself, and its effect on a client. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

#include "emu/client.h"
#include "emu/rng.h"
#include "emu/shape.h"

static struct pair p;

/* ---- the rule ------------------------------------------------------------------------------- */

static struct emu_fault
fault(enum emu_fault_kind kind, int64_t n)
{
	return (struct emu_fault){ .kind = kind, .n = n };
}

/* All bytes, each once, in at most 2047 pieces that fit into pages. */
static uint32_t
cut_all(const struct emu_fault *f, uint64_t seed, uint32_t len)
{
	struct emu_shape s;
	uint64_t sum = 0;

	emu_shape_begin(&s, f, seed, 0, len, len);
	while (s.left) {
		struct emu_cut cut = emu_shape_next(&s);

		if (f && f->kind == EMU_FAULT_FRAG_LARGE)
			assert_true(cut.src < EMU_PAGE && (cut.len <= f->n || cut.len <= EMU_PAGE));
		else
			assert_true(cut.src + cut.len <= EMU_PAGE);
		assert_true(cut.len >= 1);
		sum += cut.len;
	}
	assert_int_equal(sum, len);
	return s.made;
}

TEST(any_shape_covers_a_chunk)
{
	uint64_t rng = 11;

	for (unsigned i = 0; i < 300; i++) {
		static const enum emu_fault_kind kinds[] = {
			EMU_FAULT_FRAG_SIZE, EMU_FAULT_FRAG_ODD_EVEN, EMU_FAULT_FRAG_ALIGN,
			EMU_FAULT_FRAG_COUNT, EMU_FAULT_FRAG_LARGE,
		};
		uint32_t len = 1 + emu_rng_below(&rng, i % 2 ? 5000 : 2047 * EMU_PAGE);
		struct emu_fault f = fault(kinds[i % 5], 1 + emu_rng_below(&rng, EMU_PAGE));

		if (f.kind == EMU_FAULT_FRAG_LARGE)
			f.n *= 16;
		if (f.kind == EMU_FAULT_FRAG_COUNT && f.n > 2047)
			f.n = 2047;
		assert_true(cut_all(&f, i, len) <= 2047);
		assert_true(cut_all(NULL, i, len) <= 2047);
	}
	/* one page too many for anybody */
	assert_int_equal(cut_all(NULL, 1, 2048 * EMU_PAGE), 2048);
}

TEST(a_count_is_kept_over_all_chunks)
{
	for (int64_t n = 2000; n <= 2049; n += 7) {
		struct emu_fault f = fault(EMU_FAULT_FRAG_COUNT, n);
		uint32_t total = 3 * 512 * 1024 + 77, at = 0, made = 0;

		while (at < total) {
			uint32_t len = total - at < 524288 ? total - at : 524288;
			struct emu_shape s;

			emu_shape_begin(&s, &f, 1, at, len, total);
			while (s.left)
				emu_shape_next(&s);
			made += s.made;
			at += len;
		}
		assert_int_equal(made, n);
	}
}

TEST(a_seed_repeats)
{
	struct emu_shape a, b;

	emu_shape_begin(&a, NULL, 5, 0, CHUNK, CHUNK);
	emu_shape_begin(&b, NULL, 5, 0, CHUNK, CHUNK);
	while (a.left) {
		struct emu_cut x = emu_shape_next(&a), y = emu_shape_next(&b);

		assert_memory_equal(&x, &y, sizeof(x));
	}
	assert_int_equal(b.left, 0);
}

/* ---- what a client sees: entries stay in the queue in faithful mode --------------------------- */

struct shape_case {
	uint32_t bytes;
	uint32_t count;    /* of fragments, 0: any    */
	uint32_t len;      /* of all but the last, 0: any */
	bool all_places;   /* all 256 alignments      */
};

static int
moves_so(void *arg)
{
	const struct shape_case *c = arg;
	struct work w = { .comms = 1, .messages = 3, .max = c->bytes, .whole = true, .seed = 8 };
	bool seen[16][16] = { { false } };
	unsigned places = 0;

	CHECK(pair_moves(&p, 0, &w));
	for (unsigned slot = 0; slot < w.messages; slot++) {
		uint64_t n = p.meta->cnt[slot];

		CHECK(!c->count || n == c->count);
		for (uint64_t i = 0; i < n; i++) {
			const struct nccl_unpack_frag *f = &p.meta->mem[slot][i];

			CHECK(!c->len || i + 1 == n || f->len == c->len);
			places += !seen[f->src_off % 16][f->dst_off % 16];
			seen[f->src_off % 16][f->dst_off % 16] = true;
		}
	}
	CHECK(!c->all_places || places == 256);
	return 0;
}

static int
moves_many(void *arg)
{
	struct work w = { .comms = 1, .messages = 40, .max = CHUNK, .whole = true, .seed = 9 };

	CHECK(pair_moves(&p, 0, &w));
	pair_close(&p);
	return 0;
}

TEST(a_client_takes_any_shape)
{
	struct shape_case ones = { 2000, 2000, 1, false }, large = { 4095 * 20 + 3, 21, 4095, false };
	struct shape_case most = { CHUNK, 2047, 0, false }, two = { 2 * CHUNK, 2048, 0, false };
	struct shape_case over = { 9000 * 20 + 3, 21, 9000, false };
	struct shape_case any = { CHUNK, 0, 0, false }, places = { CHUNK, 0, 0, true };
	struct shape_case whole = { 65536, 1, 0, false };

	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-size:n=1", moves_so, &ones);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-size:n=1", moves_so, &any);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-size:n=4095", moves_so, &large);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-large", moves_so, &over);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-large:n=65536", moves_so, &any);
	/* one that needs every page of the pool, unless it begins with a page */
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-large:n=65536|TCPX_EMU_POOL=17|NCCL_NSOCKS_PERTHREAD=1",
		  moves_so, &whole);
	/* more messages than the pool has pages for: they come back */
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-large|TCPX_EMU_POOL=3000|NCCL_NSOCKS_PERTHREAD=1",
		  moves_many, NULL);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-odd-even", moves_so, &any);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-align", moves_so, &places);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-count:n=2047", moves_so, &most);
	must_pass(FAITHFUL "|TCPX_EMU_FAULT=frag-count:n=2048", moves_so, &two);
}

TEST(too_many_fragments_end_the_process)
{
	struct shape_case one = { CHUNK, 0, 0, false }, two = { 2 * CHUNK, 0, 0, false };

	must_exit("task-fragments", FAITHFUL "|TCPX_EMU_FAULT=frag-count:n=2048", moves_so, &one);
	must_exit("request-fragments", FAITHFUL "|TCPX_EMU_FAULT=frag-count:n=2049", moves_so,
		  &two);
}
