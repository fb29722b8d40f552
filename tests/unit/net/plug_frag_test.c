/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of fragments: random partitions in runs are taken, and nothing else is. */
#include "cases.h"

#include <string.h>

#include "base/rng.h"
#include "base/err.h"
#include "net/plugin/frag.h"

#define ROUNDS 3000

static struct nccl_unpack_frag list[NCCL_UNPACK_FRAGS + 1];
static struct plug_frag out[PLUG_FRAGS_MAX];

static uint32_t
below(struct tcpx_rng *rng, uint32_t limit)
{
	return (uint32_t)tcpx_rng_below(rng, limit);
}

/* A partition in some runs, with empty fragments among them; returns the length. */
static uint32_t
make(struct tcpx_rng *rng, uint32_t count)
{
	uint32_t at = 0, filled = 0, runs = 1 + below(rng, 9);
	static struct nccl_unpack_frag whole[NCCL_UNPACK_FRAGS];
	static uint8_t run[NCCL_UNPACK_FRAGS];

	for (uint32_t i = 0; i < count; i++) {
		uint32_t len = below(rng, 8) ? 1 + below(rng, 4096) : 0;

		whole[i] = (struct nccl_unpack_frag){ below(rng, 1u << 31), len, at };
		run[i] = (uint8_t)below(rng, runs);
		at += len;
	}
	for (uint32_t r = 0; r < runs; r++)
		for (uint32_t i = 0; i < count; i++)
			if (run[i] == r)
				list[filled++] = whole[i];
	return at;
}

static void
shuffle(struct tcpx_rng *rng, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t k = below(rng, i);
		struct nccl_unpack_frag f = list[i - 1];

		list[i - 1] = list[k];
		list[k] = f;
	}
}

static int
check(uint32_t count, uint32_t len, uint32_t *n)
{
	return plug_frags_check(list, count, len, 1ull << 40, out, n);
}

TEST(partitions_are_taken_as_they_are)
{
	struct tcpx_rng rng = tcpx_rng_seed(1);

	for (int round = 0; round < ROUNDS; round++) {
		uint32_t count = below(&rng, round % 50 ? 200 : NCCL_UNPACK_FRAGS + 1), n, k = 0;
		uint32_t len = make(&rng, count);

		if (round % 3 == 0)
			shuffle(&rng, count);
		assert_int_equal(plug_frags_sum(list, count, len), len);
		assert_int_equal(check(count, len, &n), 0);
		for (uint32_t i = 0; i < count; i++) {
			if (!list[i].len)
				continue;
			assert_int_equal(out[k].src, (1ull << 40) + list[i].src_off);
			assert_int_equal(out[k].dst_off, list[i].dst_off);
			assert_int_equal(out[k].len, list[i].len);
			k++;
		}
		assert_int_equal(n, k);
	}
}

/* Of a partition one thing is changed: no partition is left, however it is looked at. */
TEST(everything_else_is_refused)
{
	struct tcpx_rng rng = tcpx_rng_seed(2);

	for (int round = 0; round < ROUNDS; round++) {
		uint32_t count = 2 + below(&rng, 100), n, len = make(&rng, count), i;
		struct nccl_unpack_frag *f;

		shuffle(&rng, count);
		do {
			i = below(&rng, count);
		} while (!list[i].len && len);
		f = &list[i];
		if (!len)
			continue;
		switch (round % 6) {
		case 0: /* a hole */
			f->len--;
			break;
		case 1: /* an overlap, or beyond the end */
			f->len++;
			break;
		case 2: /* elsewhere, so a hole and an overlap */
			f->dst_off += f->dst_off ? -1 : 1;
			break;
		case 3: /* the same again */
			list[count++] = *f;
			break;
		case 4: /* one that swallows others: their sum is kept by leaving one out */
			f->dst_off = (uint64_t)len * 2;
			break;
		case 5: /* shorter than said */
			len++;
			break;
		}
		assert_int_equal(check(count, len, &n), TCPX_EFRAME);
	}
}

/* Sums that are right by overlap and hole of the same size. */
TEST(a_right_sum_is_not_enough)
{
	uint32_t n;

	list[0] = (struct nccl_unpack_frag){ 0, 2, 0 };
	list[1] = (struct nccl_unpack_frag){ 4096, 2, 0 };
	assert_int_equal(check(2, 4, &n), TCPX_EFRAME);
	list[1].dst_off = 1;
	assert_int_equal(check(2, 4, &n), TCPX_EFRAME);
	list[1].dst_off = 2;
	assert_int_equal(check(2, 4, &n), 0);
	assert_int_equal(check(0, 0, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(check(0, 1, &n), TCPX_EFRAME);
}

TEST(ends_are_not_passed)
{
	uint32_t n;

	list[0] = (struct nccl_unpack_frag){ UINT32_MAX - 99, 100, 0 };
	assert_int_equal(check(1, 100, &n), 0);
	assert_int_equal(plug_frags_sum(list, 1, 100), 100);
	assert_int_equal(plug_frags_sum(list, 1, 99), UINT64_MAX);
	list[0].src_off++;
	assert_int_equal(check(1, 100, &n), TCPX_EFRAME);
	assert_int_equal(plug_frags_sum(list, 1, 100), UINT64_MAX);
	list[0] = (struct nccl_unpack_frag){ 0, 100, UINT64_MAX - 50 };
	assert_int_equal(check(1, 100, &n), TCPX_EFRAME);
	assert_int_equal(plug_frags_sum(list, 1, 1000), UINT64_MAX);
	memset(list, 0, sizeof(list));
	assert_int_equal(plug_frags_sum(list, NCCL_UNPACK_FRAGS, 0), 0);
	assert_int_equal(plug_frags_sum(list, NCCL_UNPACK_FRAGS + 1, 0), UINT64_MAX);
	assert_int_equal(check(NCCL_UNPACK_FRAGS + 1, 0, &n), TCPX_EFRAME);
}
