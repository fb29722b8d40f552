/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments lie scattered over a pool and are copied into one run, like received packets.
 * Four pools and destinations take turns, so that nothing is in a cache. A way of copying
 * and its reference take turns, too, so that both have the same clocks.
 */
#include "unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "tool/gpu/pattern.h"
#include "tool/stats.h"
#include "unpack_gpu.h"

enum {
	SETS = 4,
	BYTES = 64 << 20,       /* of a launch                                      */
	POOL_BYTES = 132 << 20, /* enough for 64 MiB / 1448 slots of 2 KiB          */
	PIECES = 1 << 16,
	LIST_BYTES = PIECES * sizeof(struct tcpx_piece),
	WARM_UP_ROUNDS = 3,
	CHUNK_BYTES = 512 << 10,
	CHUNK_PAIRS = 301,
	CHUNK_WARM_UP = 50,
	POISON = 0xa5
};

static const struct unpack_case {
	const char *name;
	uint32_t len;  /* of each fragment; 0: 1..4096, evenly */
	uint32_t slot; /* a fragment's room in the pool        */
	bool shifted;  /* it lies anywhere in its slot, and the destination off by 3 */
	bool pull;     /* out of host memory, too              */
} cases[UNPACK_CASES] = {
	{ "4 KiB pages", 4096, 4096, false, true },
	{ "8 KiB", 8192, 8192, false, false },
	{ "64 KiB", 65536, 65536, false, false },
	{ "1448 B, aligned", 1448, 2048, false, false },
	{ "1448 B, misaligned", 1448, 2048, true, true },
	{ "1..4096 B, anywhere", 0, 4096, true, false },
};

/* The timed ways. Each start of a way uses the next set. */
enum way { COPY, UNPACK, UNPACK_FEW, HOST_COPY, PULL };

static const unsigned turns_of[] = { /* a round: some milliseconds */
	[COPY] = 40, [UNPACK] = 40, [UNPACK_FEW] = 4, [HOST_COPY] = 4, [PULL] = 4
};
#define ROUND_US 20000.0 /* a driver in software takes this long for one turn: then fewer */

struct set {
	uint64_t pool, dst, list;
	struct tcpx_launch launch;
};

struct bench {
	struct unpack_gpu gpu;
	unsigned rounds;
	struct set set[SETS];
	struct set pull;             /* from the pinned pool to the first destination */
	struct set chunk[SETS];      /* the beginning of each set                     */
	uint8_t *pool;               /* pinned; the content of every pool             */
	struct tcpx_piece *list;     /* pinned, room for one                          */
	struct tcpx_copy *copies;    /* PIECES, relative to pool and destination      */
	uint32_t *slots;             /* the pool's, in the order they are used        */
	uint8_t *got;                /* a destination                                 */
	CUevent begin, end;
};

/* Lays the fragments of a case out: the same for the same seed. */
static size_t
lay_out(struct bench *b, const struct unpack_case *c, uint64_t seed)
{
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	uint32_t slots = POOL_BYTES / c->slot;
	uint64_t at = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < slots; i++) { /* a random order, made as it grows */
		uint32_t k = (uint32_t)tcpx_rng_below(&rng, i + 1);

		b->slots[i] = b->slots[k];
		b->slots[k] = i;
	}
	for (; at < BYTES && n < slots && n < PIECES; n++) {
		uint64_t len = c->len ? c->len : tcpx_rng_between(&rng, 1, 4096);
		uint64_t src = (uint64_t)b->slots[n] * c->slot;

		if (len > BYTES - at)
			len = BYTES - at;
		if (c->shifted)
			src += tcpx_rng_below(&rng, c->slot - len + 1);
		b->copies[n] = (struct tcpx_copy){ src, at + (c->shifted ? 3 : 0), len };
		at += len;
	}
	return n;
}

/* The same list between these addresses, planned and put where the kernel reads it. */
static int
plan(struct bench *b, size_t count, uint64_t pool, uint64_t dst, bool pcie, uint64_t list,
     struct set *set)
{
	struct tcpx_launch *l = &set->launch;
	int rc;

	for (size_t i = 0; i < count; i++) {
		b->copies[i].src += pool;
		b->copies[i].dst += dst;
	}
	rc = tcpx_launch_plan(b->copies, count, pcie, b->gpu.sms, b->list, PIECES, l);
	for (size_t i = 0; i < count; i++) {
		b->copies[i].src -= pool;
		b->copies[i].dst -= dst;
	}
	if (rc)
		return tcpx_fail(TCPX_SUB_TOOL, rc, "plan %zu fragments", count);
	set->pool = pool;
	set->dst = dst;
	set->list = list;
	return unpack_gpu_ok(&b->gpu,
			     b->gpu.cuda.cuMemcpyHtoD(list, b->list,
						      l->pieces * sizeof(struct tcpx_piece)),
			     "write the list");
}

/* One block on each of two multiprocessors, as many threads as one can have. */
static struct tcpx_launch
on_two(struct tcpx_launch l)
{
	l.threads = tcpx_launch_threads_max(l.kernel);
	l.blocks = 2;
	return l;
}

static int
start(struct bench *b, enum way way, unsigned turn)
{
	const struct tcpx_cuda_api *cu = &b->gpu.cuda;
	struct set *set = &b->set[turn % SETS];
	struct tcpx_launch few = on_two(set->launch);

	switch (way) {
	case COPY:
		return unpack_gpu_ok(&b->gpu,
				     cu->cuMemcpyDtoDAsync(set->dst, set->pool, BYTES,
							   b->gpu.stream),
				     "copy from device to device");
	case HOST_COPY:
		return unpack_gpu_ok(&b->gpu,
				     cu->cuMemcpyHtoDAsync(set->dst, b->pool, BYTES,
							   b->gpu.stream),
				     "copy from host to device");
	case UNPACK:
		return unpack_gpu_launch(&b->gpu, &set->launch, set->list, false);
	case UNPACK_FEW:
		return unpack_gpu_launch(&b->gpu, &few, set->list, false);
	default:
		return unpack_gpu_launch(&b->gpu, &b->pull.launch, b->pull.list, false);
	}
}

/* Microseconds a turn, of @turns back to back. */
static int
time_way(struct bench *b, enum way way, unsigned turns, double *us)
{
	const struct tcpx_cuda_api *cu = &b->gpu.cuda;
	float ms;
	int rc;

	rc = unpack_gpu_ok(&b->gpu, cu->cuEventRecord(b->begin, b->gpu.stream), "event");
	for (unsigned i = 0; i < turns && rc == 0; i++)
		rc = start(b, way, i);
	if (rc ||
	    (rc = unpack_gpu_ok(&b->gpu, cu->cuEventRecord(b->end, b->gpu.stream), "event")) ||
	    (rc = unpack_gpu_finish(&b->gpu)) ||
	    (rc = unpack_gpu_ok(&b->gpu, cu->cuEventElapsedTime(&ms, b->begin, b->end), "time")))
		return rc;
	*us = ms * 1000.0 / turns;
	return 0;
}

/* Turns of a round: as many as fit, one at least. */
static int
turns_that_fit(struct bench *b, enum way way, unsigned *turns)
{
	double us;
	int rc = time_way(b, way, 1, &us);

	*turns = turns_of[way];
	if (rc == 0 && us * *turns > ROUND_US)
		*turns = us < ROUND_US ? (unsigned)(ROUND_US / us) : 1;
	return rc;
}

/* Medians of both, and of reference / way of each pair. */
static int
compare(struct bench *b, enum way reference, enum way way, double *reference_us, double *us,
	double *fraction)
{
	double ref[UNPACK_ROUNDS_MAX], own[UNPACK_ROUNDS_MAX], part[UNPACK_ROUNDS_MAX];
	unsigned ref_turns, turns;
	double ignored;
	int rc = turns_that_fit(b, reference, &ref_turns);

	rc = rc ? rc : turns_that_fit(b, way, &turns);
	for (unsigned i = 0; i < WARM_UP_ROUNDS && rc == 0; i++)
		if ((rc = time_way(b, reference, ref_turns, &ignored)) == 0)
			rc = time_way(b, way, turns, &ignored);
	for (unsigned i = 0; i < b->rounds && rc == 0; i++) {
		if ((rc = time_way(b, reference, ref_turns, &ref[i])) ||
		    (rc = time_way(b, way, turns, &own[i])))
			break;
		part[i] = ref[i] / own[i];
	}
	if (rc)
		return rc;
	*reference_us = stats_median(ref, b->rounds);
	*us = stats_median(own, b->rounds);
	*fraction = stats_median(part, b->rounds);
	return 0;
}

/* Poisons the destination, launches once, and counts the bytes that the list did not bring. */
static int
verify(struct bench *b, const struct set *set, const struct tcpx_launch *l, size_t count,
       uint64_t *wrong)
{
	const struct tcpx_cuda_api *cu = &b->gpu.cuda;
	int rc;

	if ((rc = unpack_gpu_ok(&b->gpu,
				cu->cuMemsetD8Async(set->dst, POISON, BYTES + 3, b->gpu.stream),
				"poison")) ||
	    (rc = unpack_gpu_launch(&b->gpu, l, set->list, true)) ||
	    (rc = unpack_gpu_await(&b->gpu)) ||
	    (rc = unpack_gpu_ok(&b->gpu, cu->cuMemcpyDtoH(b->got, set->dst, BYTES + 3), "read")))
		return rc;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *got = b->got + b->copies[i].dst;
		const uint8_t *want = b->pool + b->copies[i].src;

		if (!memcmp(got, want, b->copies[i].len))
			continue;
		for (uint64_t k = 0; k < b->copies[i].len; k++)
			*wrong += got[k] != want[k];
	}
	return 0;
}

static int
run_case(struct bench *b, const struct unpack_case *c, struct unpack_bench *all,
	 struct unpack_bench_row *row)
{
	struct tcpx_launch few;
	double copy_us, few_us, pull_us, ignored;
	int rc = 0;

	*row = (struct unpack_bench_row){ .name = c->name };
	for (unsigned i = 0; i < SETS && rc == 0; i++) {
		struct set *set = &b->set[i];
		size_t count = lay_out(b, c, i + 1);

		if ((rc = plan(b, count, set->pool, set->dst, false, set->list, set)) ||
		    (rc = verify(b, set, &set->launch, count, &row->wrong)))
			return rc;
		few = on_two(set->launch);
		if (i == 0 && (rc = verify(b, set, &few, count, &row->wrong)))
			return rc;
	}
	row->kernel = tcpx_launch_kernel_name(b->set[0].launch.kernel);
	if ((rc = compare(b, COPY, UNPACK, &copy_us, &row->us, &row->of_copy)) ||
	    (rc = compare(b, UNPACK, UNPACK_FEW, &ignored, &few_us, &ignored)))
		return rc;
	all->copy_us = copy_us;
	row->GBps = BYTES / row->us / 1000;
	row->few_GBps = BYTES / few_us / 1000;
	if (!c->pull)
		return 0;

	size_t count = lay_out(b, c, 1);

	if ((rc = plan(b, count, (uintptr_t)b->pool, b->set[0].dst, true, b->pull.list,
		       &b->pull)) ||
	    (rc = verify(b, &b->pull, &b->pull.launch, count, &row->wrong)) ||
	    (rc = compare(b, HOST_COPY, PULL, &copy_us, &pull_us, &row->pull_of_copy)))
		return rc;
	all->host_copy_GBps = BYTES / copy_us / 1000;
	row->pull_GBps = BYTES / pull_us / 1000;
	return 0;
}

/* The copy of a chunk, and how the host learns of its end: by waiting for the stream,
 * or by polling a word in its memory, which a launch writes itself and the stream
 * writes after a copy. */
enum chunk_way { CHUNK_COPY, CHUNK_UNPACK, CHUNK_COPY_WORD, CHUNK_UNPACK_WORD,
		 CHUNK_UNPACK_HOST_LIST, CHUNK_WAYS };

static int
start_chunk(struct bench *b, enum chunk_way way, const struct set *set)
{
	const struct tcpx_cuda_api *cu = &b->gpu.cuda;
	int rc;

	switch (way) {
	case CHUNK_UNPACK:
		return unpack_gpu_launch(&b->gpu, &set->launch, set->list, false);
	case CHUNK_UNPACK_WORD:
		return unpack_gpu_launch(&b->gpu, &set->launch, set->list, true);
	case CHUNK_UNPACK_HOST_LIST:
		return unpack_gpu_launch(&b->gpu, &set->launch, (uintptr_t)b->list, true);
	default:
		rc = unpack_gpu_ok(&b->gpu,
				   cu->cuMemcpyDtoDAsync(set->dst, set->pool, CHUNK_BYTES,
							 b->gpu.stream),
				   "copy a chunk");
		return rc || way == CHUNK_COPY ? rc : unpack_gpu_report(&b->gpu);
	}
}

/* From the call until the host knows the end. */
static int
time_chunk(struct bench *b, enum chunk_way way, unsigned turn, double *us)
{
	/* the list in host memory is the last chunk's */
	unsigned nth = way == CHUNK_UNPACK_HOST_LIST ? SETS - 1 : turn % SETS;
	uint64_t began = tcpx_clock_now(&tcpx_clock_system);
	int rc = start_chunk(b, way, &b->chunk[nth]);

	if (rc == 0)
		rc = way <= CHUNK_UNPACK ? unpack_gpu_finish(&b->gpu) :
					   unpack_gpu_await(&b->gpu);
	*us = (double)(tcpx_clock_now(&tcpx_clock_system) - began) / 1000;
	/* the next one shall find the stream idle */
	return rc ? rc : unpack_gpu_finish(&b->gpu);
}

static int
run_chunks(struct bench *b, struct unpack_bench *all)
{
	double us[CHUNK_WAYS][CHUNK_PAIRS], part[CHUNK_PAIRS], word_part[CHUNK_PAIRS];
	int rc = 0;

	for (unsigned i = 0; i < SETS && rc == 0; i++) {
		const struct set *set = &b->set[i];

		lay_out(b, &cases[0], i + 1);
		rc = plan(b, CHUNK_BYTES / cases[0].len, set->pool, set->dst, false, set->list,
			  &b->chunk[i]);
	}
	for (unsigned r = 0; r < CHUNK_PAIRS + CHUNK_WARM_UP && rc == 0; r++) {
		unsigned at = r < CHUNK_WARM_UP ? 0 : r - CHUNK_WARM_UP;

		for (unsigned way = 0; way < CHUNK_WAYS && rc == 0; way++)
			rc = time_chunk(b, way, r * CHUNK_WAYS + way, &us[way][at]);
		part[at] = us[CHUNK_UNPACK][at] / us[CHUNK_COPY][at];
		word_part[at] = us[CHUNK_UNPACK_WORD][at] / us[CHUNK_COPY_WORD][at];
	}
	if (rc)
		return rc;
	all->chunk_pairs = CHUNK_PAIRS;
	all->chunk_us = stats_median(us[CHUNK_UNPACK], CHUNK_PAIRS);
	all->chunk_copy_us = stats_median(us[CHUNK_COPY], CHUNK_PAIRS);
	all->chunk_of_copy = stats_median(part, CHUNK_PAIRS);
	all->chunk_word_us = stats_median(us[CHUNK_UNPACK_WORD], CHUNK_PAIRS);
	all->chunk_word_copy_us = stats_median(us[CHUNK_COPY_WORD], CHUNK_PAIRS);
	all->chunk_word_of_copy = stats_median(word_part, CHUNK_PAIRS);
	all->chunk_host_list_us = stats_median(us[CHUNK_UNPACK_HOST_LIST], CHUNK_PAIRS);
	return 0;
}

static int
allocate(struct bench *b)
{
	struct unpack_gpu *g = &b->gpu;
	void *pool = NULL, *list = NULL;
	int rc;

	b->copies = calloc(PIECES, sizeof(*b->copies));
	b->slots = calloc(POOL_BYTES / 2048, sizeof(*b->slots));
	b->got = malloc(BYTES + 3);
	if (!b->copies || !b->slots || !b->got)
		return tcpx_fail(TCPX_SUB_TOOL, -ENOMEM, "memory for fragment lists");
	if ((rc = unpack_gpu_pin(g, POOL_BYTES, &pool)))
		return rc;
	b->pool = pool;
	if ((rc = unpack_gpu_pin(g, LIST_BYTES, &list)))
		return rc;
	b->list = list;
	pattern_fill(pattern_of(1, 1), 0, b->pool, POOL_BYTES);
	for (unsigned i = 0; i < SETS; i++) {
		struct set *set = &b->set[i];

		if ((rc = unpack_gpu_alloc(g, POOL_BYTES, &set->pool)) ||
		    (rc = unpack_gpu_alloc(g, BYTES + 4096, &set->dst)) ||
		    (rc = unpack_gpu_alloc(g, LIST_BYTES, &set->list)) ||
		    (rc = unpack_gpu_ok(g, g->cuda.cuMemcpyHtoD(set->pool, pool, POOL_BYTES),
					"fill a pool")))
			return rc;
	}
	if ((rc = unpack_gpu_alloc(g, LIST_BYTES, &b->pull.list)) ||
	    (rc = unpack_gpu_ok(g, g->cuda.cuEventCreate(&b->begin, 0), "event")))
		return rc;
	return unpack_gpu_ok(g, g->cuda.cuEventCreate(&b->end, 0), "event");
}

static void
release(struct bench *b)
{
	struct unpack_gpu *g = &b->gpu;

	if (b->begin)
		g->cuda.cuEventDestroy(b->begin);
	if (b->end)
		g->cuda.cuEventDestroy(b->end);
	for (unsigned i = 0; i < SETS; i++) {
		unpack_gpu_free(g, b->set[i].pool);
		unpack_gpu_free(g, b->set[i].dst);
		unpack_gpu_free(g, b->set[i].list);
	}
	unpack_gpu_free(g, b->pull.list);
	unpack_gpu_unpin(g, b->pool);
	unpack_gpu_unpin(g, b->list);
	free(b->copies);
	free(b->slots);
	free(b->got);
	unpack_gpu_close(g);
}

int
unpack_bench_run(const char *library, unsigned gpu, unsigned rounds,
		 struct unpack_bench *result)
{
	struct unpack_bench all = { 0 };
	struct bench b = { .rounds = rounds };
	int rc = unpack_gpu_open(library, (int)gpu, &b.gpu);

	if (rc)
		return rc;
	memcpy(all.gpu_name, b.gpu.name, sizeof(all.gpu_name));
	all.driver = b.gpu.driver;
	all.sms = b.gpu.sms;
	all.rounds = b.rounds;
	rc = allocate(&b);
	for (unsigned i = 0; i < UNPACK_CASES && rc == 0; i++) {
		fprintf(stderr, "unpack: copying %s, %u of %d\n", cases[i].name, i + 1,
			UNPACK_CASES);
		rc = run_case(&b, &cases[i], &all, &all.row[i]);
	}
	if (rc == 0)
		rc = run_chunks(&b, &all);
	release(&b);
	if (rc == 0)
		*result = all;
	return rc;
}
