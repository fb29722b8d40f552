/* SPDX-License-Identifier: Apache-2.0 */
/* Fragment lists against a model that records the place of every byte of the stream. */
#include "base_test.h"
#include "proto/frag.h"

#define FRAGS 24
#define BYTES 2048

struct model {
	struct tcpx_frag frag[FRAGS];
	uint64_t start[FRAGS + 1];
	struct tcpx_fraglist list;
	uint64_t place[BYTES]; /* of every byte of the stream */
	uint64_t total;
};

/* A list of @total bytes: some fragments empty, some touching, some not. */
static void
model_init(struct model *m, struct tcpx_rng *rng, uint64_t total)
{
	uint64_t addr = tcpx_rng_between(rng, 1, 1u << 30), left = total;
	size_t n = 0;

	m->total = 0;
	while (n < FRAGS && (left || tcpx_rng_below(rng, 4))) {
		uint64_t len = n == FRAGS - 1 ? left : tcpx_rng_below(rng, 200);

		len = len < left ? len : left;
		m->frag[n++] = (struct tcpx_frag){ addr, len };
		for (uint64_t i = 0; i < len; i++)
			m->place[m->total++] = addr + i;
		left -= len;
		addr += len + tcpx_rng_below(rng, 3) * 50;
	}
	m->list = (struct tcpx_fraglist){ m->frag, m->start, n };
	assert_int_equal(tcpx_frag_sums(m->frag, n, m->start), total);
}

TEST(what_grows_keeps_every_place)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 500; round++) {
		struct tcpx_frag frag[FRAGS];
		uint64_t start[FRAGS + 1], sums[FRAGS + 1];
		struct tcpx_fraggrow g = { .frag = frag, .start = start };
		struct model m;
		uint64_t k = 0;

		model_init(&m, &rng, tcpx_rng_below(&rng, BYTES));
		for (size_t i = 0; i < m.list.count; i++)
			tcpx_frag_add(&g, m.frag[i].addr, m.frag[i].len);
		check_random(seed, tcpx_frag_end(&g) == m.total);
		for (size_t i = 0; i < g.count; i++) {
			check_random(seed, frag[i].len > 0);
			check_random(seed, !i || frag[i - 1].addr + frag[i - 1].len != frag[i].addr);
			for (uint64_t b = 0; b < frag[i].len; b++)
				check_random(seed, m.place[k++] == frag[i].addr + b);
		}
		check_random(seed, k == m.total);
		tcpx_frag_sums(frag, g.count, sums);
		check_random(seed, !memcmp(start, sums, (g.count + 1) * sizeof(sums[0])));
	}
}

TEST(growing_notices_overflow)
{
	struct tcpx_frag frag[3];
	uint64_t start[4];
	struct tcpx_fraggrow g = { .frag = frag, .start = start };

	tcpx_frag_add(&g, 0, UINT64_MAX - 1);
	assert_true(tcpx_frag_end(&g) == UINT64_MAX - 1);
	tcpx_frag_add(&g, 0, 2);
	assert_true(tcpx_frag_end(&g) == UINT64_MAX);
	tcpx_frag_add(&g, 7, 1); /* does not make it right again */
	assert_true(tcpx_frag_end(&g) == UINT64_MAX);
}

TEST(sums_refuse_overflow)
{
	const struct tcpx_frag f[] = { { 0, UINT64_MAX - 1 }, { 0, 1 }, { 0, 1 } };
	uint64_t start[4];

	assert_true(tcpx_frag_sums(f, 1, start) == UINT64_MAX - 1);
	assert_true(tcpx_frag_sums(f, 3, start) == UINT64_MAX);
	assert_true(tcpx_frag_sums(f, 0, start) == 0);
	assert_true(tcpx_frag_total(&(struct tcpx_fraglist){ f, start, 0 }) == 0);
}

TEST(seek_finds_the_place_of_every_byte)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 200; round++) {
		struct tcpx_fragpos pos;
		struct model m;

		model_init(&m, &rng, tcpx_rng_below(&rng, BYTES));
		for (uint64_t k = 0; k < m.total; k++) {
			pos = tcpx_frag_seek(&m.list, k);
			check_random(seed, pos.within < m.frag[pos.index].len);
			check_random(seed, m.frag[pos.index].addr + pos.within == m.place[k]);
		}
		pos = tcpx_frag_seek(&m.list, m.total);
		check_random(seed, pos.index == m.list.count && pos.within == 0);
		pos = tcpx_frag_seek(&m.list, UINT64_MAX);
		check_random(seed, pos.index == m.list.count && pos.within == 0);
	}
}

TEST(take_covers_the_stream_in_order)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 500; round++) {
		struct tcpx_frag out[5];
		struct tcpx_fragpos pos;
		struct model m;
		uint64_t at;

		model_init(&m, &rng, tcpx_rng_below(&rng, BYTES));
		at = tcpx_rng_below(&rng, m.total + 1);
		pos = tcpx_frag_seek(&m.list, at);
		while (at < m.total) {
			uint64_t len = tcpx_rng_between(&rng, 1, 300), covered, sum = 0;
			size_t cap = tcpx_rng_between(&rng, 1, ARRAY_LEN(out));
			size_t n = tcpx_frag_next(&m.list, &pos, len, out, cap, &covered);

			check_random(seed, n > 0 && n <= cap && covered <= len);
			for (size_t i = 0; i < n; i++) {
				check_random(seed, out[i].len > 0);
				for (uint64_t b = 0; b < out[i].len; b++)
					check_random(seed, m.place[at++] == out[i].addr + b);
				sum += out[i].len;
			}
			check_random(seed, sum == covered);
			check_random(seed, n == cap || covered == len || at == m.total);
		}
		check_random(seed, tcpx_frag_next(&m.list, &pos, 1, out, 1, &at) == 0 && at == 0);
	}
}

static bool
touch(const struct tcpx_span *a, const struct tcpx_span *b)
{
	return a->src + a->len == b->src && a->dst + a->len == b->dst;
}

TEST(compose_covers_every_byte_once)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 500; round++) {
		uint64_t total = tcpx_rng_below(&rng, BYTES), at, covered;
		struct tcpx_fragpos spos, dpos;
		struct tcpx_span out[7];
		struct model src, dst;

		model_init(&src, &rng, total);
		model_init(&dst, &rng, total);
		at = tcpx_rng_below(&rng, total + 1);
		spos = tcpx_frag_seek(&src.list, at);
		dpos = tcpx_frag_seek(&dst.list, at);
		while (at < total) {
			uint64_t len = tcpx_rng_between(&rng, 1, 500), sum = 0;
			size_t cap = tcpx_rng_between(&rng, 1, ARRAY_LEN(out));
			size_t n = tcpx_frag_compose(&src.list, &spos, &dst.list, &dpos, len, out,
						     cap, &covered);

			check_random(seed, n > 0 && n <= cap && covered <= len);
			for (size_t i = 0; i < n; i++) {
				check_random(seed, !i || !touch(&out[i - 1], &out[i]));
				for (uint64_t b = 0; b < out[i].len; b++, at++)
					check_random(seed, src.place[at] == out[i].src + b &&
								   dst.place[at] == out[i].dst + b);
				sum += out[i].len;
			}
			check_random(seed, sum == covered);
			check_random(seed, n == cap || covered == len || at == total);
		}
	}
}

TEST(compose_joins_what_touches_on_both_sides)
{
	const struct tcpx_frag src[] = { { 100, 10 }, { 110, 10 }, { 0, 0 }, { 120, 10 } };
	const struct tcpx_frag dst[] = { { 500, 15 }, { 515, 5 }, { 600, 10 } };
	uint64_t sstart[5], dstart[4], covered;
	struct tcpx_fraglist s = { src, sstart, 4 }, d = { dst, dstart, 3 };
	struct tcpx_fragpos spos = { 0 }, dpos = { 0 };
	struct tcpx_span out[4];

	tcpx_frag_sums(src, 4, sstart);
	tcpx_frag_sums(dst, 3, dstart);
	assert_int_equal(
		tcpx_frag_compose(&s, &spos, &d, &dpos, UINT64_MAX, out, 4, &covered), 2);
	assert_int_equal(covered, 30);
	assert_int_equal(out[0].len, 20);
	assert_int_equal(out[1].src, 120);
	assert_int_equal(out[1].dst, 600);
}

TEST(compose_stops_at_the_shorter_list)
{
	const struct tcpx_frag src[] = { { 100, 10 } }, dst[] = { { 500, 4 } };
	uint64_t sstart[2], dstart[2], covered;
	struct tcpx_fraglist s = { src, sstart, 1 }, d = { dst, dstart, 1 };
	struct tcpx_fragpos spos = { 0 }, dpos = { 0 };
	struct tcpx_span out[2];

	tcpx_frag_sums(src, 1, sstart);
	tcpx_frag_sums(dst, 1, dstart);
	assert_int_equal(tcpx_frag_compose(&s, &spos, &d, &dpos, 10, out, 2, &covered), 1);
	assert_int_equal(covered, 4);
	assert_int_equal(tcpx_frag_compose(&s, &spos, &d, &dpos, 10, out, 2, &covered), 0);
	assert_int_equal(covered, 0);
	assert_int_equal(spos.within, 4);
}
