/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel that sums, on a real GPU, against the host's sums: parts anywhere in GPU memory and in
 * pinned memory, pieces as a plan cuts them and longer, any grid; and how fast it is.
 * Usage: sums_test [--lists N] [--seed N] [--gpu N]; 77 without a GPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/rng.h"
#include "unpack_gpu.h"

enum {
	SPACE = 8 << 20, /* of a source */
	MESSAGE = 512 << 10,
	PARTS = 100,
	SUMS = 4,
	PIECES = 1 << 14
};

enum place { ON_GPU, PINNED, PLACES };

struct bed {
	struct unpack_gpu gpu;
	struct tcpx_rng rng;
	uint64_t src[PLACES];
	uint8_t *host;            /* pinned; what all sources hold */
	struct tcpx_piece *piece; /* pinned                        */
	unsigned failures;
};

static void
bed_close(struct bed *b)
{
	unpack_gpu_free(&b->gpu, b->src[ON_GPU]);
	unpack_gpu_unpin(&b->gpu, b->host);
	unpack_gpu_unpin(&b->gpu, b->piece);
	unpack_gpu_close(&b->gpu);
}

static int
bed_fill(struct bed *b)
{
	struct unpack_gpu *g = &b->gpu;
	struct tcpx_rng rng = tcpx_rng_seed(11);
	void *host = NULL, *piece = NULL;
	int rc;

	if ((rc = unpack_gpu_alloc(g, SPACE, &b->src[ON_GPU])) ||
	    (rc = unpack_gpu_pin(g, SPACE, &host)) ||
	    (rc = unpack_gpu_pin(g, PIECES * sizeof(*b->piece), &piece))) {
		unpack_gpu_unpin(g, host);
		return rc;
	}
	b->host = host;
	b->piece = piece;
	b->src[PINNED] = (uintptr_t)host;
	for (size_t i = 0; i < SPACE; i++)
		b->host[i] = (uint8_t)tcpx_rng_next(&rng);
	return unpack_gpu_ok(g, g->cuda.cuMemcpyHtoD(b->src[ON_GPU], host, SPACE),
			     "fill the source");
}

static int
launch(struct bed *b, const struct tcpx_launch *l)
{
	int rc = unpack_gpu_launch(&b->gpu, l, (uintptr_t)b->piece, true);

	return rc ? rc : unpack_gpu_await(&b->gpu);
}

/* Parts of 0 to longest bytes, some at the very end. */
static size_t
draw(struct bed *b, enum place from, struct tcpx_summed list[PARTS], uint32_t want[SUMS])
{
	static const uint64_t longests[] = { 40, 600, 9000, 200000 };
	uint64_t longest = longests[tcpx_rng_below(&b->rng, 4)];
	uint64_t unit = tcpx_rng_below(&b->rng, 2) ? 4096 : 1;
	size_t count = tcpx_rng_between(&b->rng, 1, PARTS);

	for (size_t i = 0; i < count; i++) {
		uint64_t len = tcpx_rng_below(&b->rng, longest + 1);
		uint64_t at = tcpx_rng_below(&b->rng, SPACE - len + 1) / unit * unit;
		uint32_t of = (uint32_t)tcpx_rng_below(&b->rng, SUMS);

		if (tcpx_rng_below(&b->rng, 20) == 0)
			at = SPACE - len;
		list[i] = (struct tcpx_summed){ b->src[from] + at, len, of };
		want[of] = tcpx_crc32c(want[of], b->host + at, len);
	}
	return count;
}

/* One piece for each part, up to 64 KiB: what the kernel can do though no plan asks for it. */
static uint32_t
join_pieces(const struct tcpx_summed *list, size_t count, struct tcpx_piece *piece)
{
	uint32_t n = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t addr = list[i].addr, left = list[i].len, len;

		for (; left; addr += len, left -= len) {
			len = left < 65536 ? left : 65536;
			piece[n++] = (struct tcpx_piece){ addr | (len - 1) << 48,
							  (uint64_t)list[i].of << 32 };
		}
	}
	return n;
}

static int
run_list(struct bed *b, uint64_t number)
{
	uint32_t want[SUMS] = { 0 }, got[SUMS] = { 0 };
	enum place from = number % 4 == 3 ? PINNED : ON_GPU;
	struct tcpx_summed list[PARTS];
	size_t count = draw(b, from, list, want);
	struct tcpx_launch l;
	int rc = tcpx_launch_sum(list, count, b->gpu.sms, b->piece, PIECES, &l);

	if (rc)
		return rc;
	if (number % 8 >= 6)
		l.pieces = join_pieces(list, count, b->piece);
	if (number % 2) { /* not the plan's choice: any must do */
		l.threads = 32 * (uint32_t)tcpx_rng_between(
					 &b->rng, 1, tcpx_launch_threads_max(l.kernel) / 32);
		l.blocks = (uint32_t)tcpx_rng_between(&b->rng, 1, 3 * b->gpu.sms);
	}
	rc = launch(b, &l);
	if (rc)
		return rc;
	tcpx_launch_sum_join(b->piece, l.pieces, got);
	for (int i = 0; i < SUMS; i++)
		if (got[i] != want[i]) {
			b->failures++;
			printf("# list %llu, sum %d: %08x, want %08x (%zu parts, %u pieces, %u blocks of "
			       "%u threads)\n", (unsigned long long)number, i, got[i], want[i], count,
			       l.pieces, l.blocks, l.threads);
		}
	return 0;
}

static int
sums_are_the_hosts(struct bed *b, uint64_t lists)
{
	int rc = 0;

	for (uint64_t i = 0; i < lists && rc == 0 && b->failures < 10; i++)
		rc = run_list(b, i);
	return rc;
}

/* Every changed bit of two pages, of which the kernel sums many alignments. */
static int
a_changed_bit_is_found(struct bed *b, uint64_t lists)
{
	int rc = 0;

	for (uint64_t i = 0; i < lists && rc == 0; i++) {
		uint64_t at = tcpx_rng_below(&b->rng, 4096), bit = tcpx_rng_below(&b->rng, 8 * 4096);
		struct tcpx_summed part = { b->src[PINNED] + at, 4096, 0 };
		uint32_t right = tcpx_crc32c(0, b->host + at, 4096), got = 0;
		struct tcpx_launch l;

		b->host[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
		rc = tcpx_launch_sum(&part, 1, b->gpu.sms, b->piece, PIECES, &l);
		if (rc == 0)
			rc = launch(b, &l);
		tcpx_launch_sum_join(b->piece, l.pieces, &got);
		b->failures += got == right;
		b->host[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	return rc;
}

/* Messages as they land; the rest is what the CPU does with the pages' sums. */
static int
their_speed(struct bed *b, uint64_t lists)
{
	static const uint32_t messages[] = { 1, 2, 4, 16 };
	int rc = 0;

	for (size_t k = 0; k < 4 && rc == 0; k++) {
		struct tcpx_summed list[16];
		uint32_t n = messages[k], sums[16] = { 0 };
		uint64_t began, joined, took = 0;
		struct tcpx_launch l;

		for (uint32_t i = 0; i < n; i++)
			list[i] = (struct tcpx_summed){ b->src[ON_GPU] + i * MESSAGE, MESSAGE, i };
		rc = tcpx_launch_sum(list, n, b->gpu.sms, b->piece, PIECES, &l);
		for (int warm = 1; warm >= 0 && rc == 0; warm--) {
			began = tcpx_clock_now(&tcpx_clock_system);
			for (uint64_t i = 0; i < lists && rc == 0; i++)
				rc = launch(b, &l);
			took = tcpx_clock_now(&tcpx_clock_system) - began;
		}
		began = tcpx_clock_now(&tcpx_clock_system);
		tcpx_launch_sum_join(b->piece, l.pieces, sums);
		joined = tcpx_clock_now(&tcpx_clock_system) - began;
		printf("# %2u x 512 KiB: %.1f us a launch with its wait, %.1f GB/s; %.1f us of the CPU\n",
		       n, (double)took / 1e3 / (double)lists,
		       (double)lists * n * MESSAGE / (double)(took ? took : 1), (double)joined / 1e3);
	}
	return rc;
}

static const struct {
	const char *name;
	int (*run)(struct bed *b, uint64_t lists);
} tests[] = {
	{ "sums of random parts are the host's", sums_are_the_hosts },
	{ "a changed bit is found", a_changed_bit_is_found },
	{ "their speed", their_speed },
};

enum { TESTS = sizeof(tests) / sizeof(tests[0]) };

int
main(int argc, char **argv)
{
	uint64_t lists = 1000, seed = 1, gpu = 0;
	struct bed b = { 0 };
	unsigned bad = 0;
	int rc;

	for (int i = 1; i < argc; i += 2) {
		uint64_t *value = !strcmp(argv[i], "--lists") ? &lists :
				  !strcmp(argv[i], "--seed")  ? &seed :
				  !strcmp(argv[i], "--gpu")   ? &gpu :
								NULL;

		if (!value || i + 1 == argc) {
			fprintf(stderr, "usage: sums_test [--lists N] [--seed N] [--gpu N]\n");
			return 2;
		}
		*value = strtoull(argv[i + 1], NULL, 0);
	}
	rc = unpack_gpu_open(NULL, (int)gpu, &b.gpu);
	if (rc == -ENODEV) {
		printf("skipped: no GPU here\n");
		return 77;
	}
	if (rc) {
		printf("Bail out! the GPU cannot be opened: %s\n", tcpx_err_text(rc));
		return 1;
	}
	printf("1..%d\n# %s, driver %d, %llu lists, seed %llu\n", TESTS, b.gpu.name, b.gpu.driver,
	       (unsigned long long)lists, (unsigned long long)seed);
	rc = bed_fill(&b);
	for (unsigned i = 0; i < TESTS; i++) {
		b.failures = 0;
		b.rng = tcpx_rng_seed(seed);
		if (rc == 0)
			rc = tests[i].run(&b, lists);
		printf("%sok %u - %s\n", rc || b.failures ? "not " : "", i + 1, tests[i].name);
		bad += rc || b.failures;
	}
	bed_close(&b);
	return bad > 0;
}
