/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy kernels and the pattern kernels on a real GPU, against the same work done by the
 * host. Every destination is poisoned and compared whole, so that a byte too many is seen.
 * Usage: kernels_test [--lists N] [--seed N] [--gpu N]; 77 without a GPU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/rng.h"
#include "tool/gpu/pattern.h"
#include "tool/gpu/pattern_kernels.h"
#include "unpack_gpu.h"

enum {
	SPACE = 1 << 20, /* of a source, of a destination */
	PAGE = 4096,
	FRAGMENTS = 100,
	PIECES = 1024,
	POISON = 0xa5
};

/* The memory of one side of the copies. Pinned memory has no neighbours: a GPU that touches
 * too much gets a fault. */
enum place { ON_GPU, PINNED, PLACES };

struct bed {
	struct unpack_gpu gpu;
	struct tcpx_rng rng;
	uint64_t src[PLACES], dst[PLACES];
	uint64_t list[PLACES];  /* room for PIECES pieces                        */
	uint8_t *source;        /* the host's copy of what all sources hold      */
	uint8_t *want, *got;    /* a destination as it shall be, and as it is    */
};

static unsigned failures;

#define fail(...)                                                                            \
	do {                                                                                 \
		failures++;                                                                  \
		printf("# " __VA_ARGS__);                                                    \
		putchar('\n');                                                               \
	} while (0)

/* size bytes of pinned memory between two pages that nobody can reach. */
static int
pin_fenced(struct unpack_gpu *g, size_t size, uint64_t *addr)
{
	uint8_t *mem = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED || mprotect(mem + PAGE, size, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	*addr = (uintptr_t)mem + PAGE;
	return unpack_gpu_ok(g,
			     g->cuda.cuMemHostRegister(mem + PAGE, size,
						       CU_MEMHOSTREGISTER_PORTABLE |
							       CU_MEMHOSTALLOC_DEVICEMAP),
			     "register memory");
}

static void
unpin_fenced(struct unpack_gpu *g, size_t size, uint64_t addr)
{
	if (!addr)
		return;
	g->cuda.cuMemHostUnregister((void *)(uintptr_t)addr);
	munmap((void *)(uintptr_t)(addr - PAGE), size + 2 * PAGE);
}

static void
bed_close(struct bed *b)
{
	struct unpack_gpu *g = &b->gpu;

	unpack_gpu_free(g, b->src[ON_GPU]);
	unpack_gpu_free(g, b->dst[ON_GPU]);
	unpack_gpu_free(g, b->list[ON_GPU]);
	unpin_fenced(g, SPACE, b->src[PINNED]);
	unpin_fenced(g, SPACE, b->dst[PINNED]);
	unpin_fenced(g, PIECES * sizeof(struct tcpx_piece), b->list[PINNED]);
	unpack_gpu_close(g);
	free(b->source);
	free(b->want);
	free(b->got);
}

static int
bed_fill(struct bed *b)
{
	struct unpack_gpu *g = &b->gpu;
	const size_t list = PIECES * sizeof(struct tcpx_piece);
	int rc;

	/* aligned as GPU memory is: the host's plan of a list is then the GPU's */
	b->source = aligned_alloc(PAGE, SPACE);
	b->want = aligned_alloc(PAGE, SPACE);
	b->got = aligned_alloc(PAGE, SPACE);
	if (!b->source || !b->want || !b->got)
		return -ENOMEM;
	pattern_fill(pattern_of(1, 1), 0, b->source, SPACE);
	if ((rc = unpack_gpu_alloc(g, SPACE, &b->src[ON_GPU])) ||
	    (rc = unpack_gpu_alloc(g, SPACE, &b->dst[ON_GPU])) ||
	    (rc = unpack_gpu_alloc(g, list, &b->list[ON_GPU])) ||
	    (rc = pin_fenced(g, SPACE, &b->src[PINNED])) ||
	    (rc = pin_fenced(g, SPACE, &b->dst[PINNED])) ||
	    (rc = pin_fenced(g, list, &b->list[PINNED])))
		return rc;
	memcpy((void *)(uintptr_t)b->src[PINNED], b->source, SPACE);
	return unpack_gpu_ok(g, g->cuda.cuMemcpyHtoD(b->src[ON_GPU], b->source, SPACE),
			     "fill the source");
}

/* A list of relative addresses: fragments of 1..longest bytes in the order of their
 * destinations, gaps between most, the alignment of both sides drawn for the whole list. */
static size_t
draw_list(struct bed *b, struct tcpx_copy *list)
{
	static const uint64_t aligned[] = { 1, 1, 2, 4, 8, 16, 16, 4096 };
	uint64_t longest = tcpx_rng_below(&b->rng, 4) ? 9000 : 40;
	uint64_t from_unit = aligned[tcpx_rng_below(&b->rng, 8)];
	uint64_t to_unit = aligned[tcpx_rng_below(&b->rng, 8)];
	uint64_t gap = tcpx_rng_below(&b->rng, 3) ? 300 : 1;
	size_t count = tcpx_rng_between(&b->rng, 1, FRAGMENTS), n = 0;

	for (uint64_t at = 0; n < count; n++) {
		uint64_t len = tcpx_rng_between(&b->rng, 1, longest);
		uint64_t from = tcpx_rng_below(&b->rng, SPACE - len + 1) / from_unit * from_unit;

		at = (at + tcpx_rng_below(&b->rng, gap) + to_unit - 1) / to_unit * to_unit;
		if (at + len > SPACE)
			break;
		if (tcpx_rng_below(&b->rng, 20) == 0)
			from = SPACE - len; /* the very end, a fence behind it */
		list[n] = (struct tcpx_copy){ from, at, len };
		at += len;
	}
	if (n == count && tcpx_rng_below(&b->rng, 4) == 0) { /* the very end of the other */
		list[n - 1].dst = SPACE - list[n - 1].len;
	}
	return n;
}

/* One piece an entry, up to 64 KiB: what kernels can do though no plan asks for it. */
static size_t
draw_long_pieces(struct bed *b, struct tcpx_copy *list)
{
	size_t n = 0;

	for (uint64_t at = tcpx_rng_below(&b->rng, 64); n < 8; n++) {
		uint64_t len = tcpx_rng_between(&b->rng, 30000, 65536);

		list[n] = (struct tcpx_copy){ tcpx_rng_below(&b->rng, SPACE - len + 1), at, len };
		at += len + tcpx_rng_below(&b->rng, 64);
	}
	return n;
}

static size_t
pieces_of(const struct tcpx_copy *list, size_t count, uint64_t src, uint64_t dst,
	  struct tcpx_piece *piece)
{
	for (size_t i = 0; i < count; i++)
		piece[i] = (struct tcpx_piece){ (list[i].src + src) | (list[i].len - 1) << 48,
						list[i].dst + dst };
	return count;
}

/* The list with both sides moved to where they lie, as pieces: whole ones, as long as a piece
 * may be, or as a plan cuts them, which a link makes longer. */
static int
plan(const struct bed *b, const struct tcpx_copy *list, size_t count, bool whole, bool pcie,
     uint64_t src, uint64_t dst, struct tcpx_piece *piece, struct tcpx_launch *l)
{
	struct tcpx_copy moved[FRAGMENTS] = { 0 };
	int rc;

	for (size_t i = 0; i < count; i++)
		moved[i] = (struct tcpx_copy){ list[i].src + src, list[i].dst + dst,
					       list[i].len };
	rc = tcpx_launch_plan(moved, count, pcie, b->gpu.sms, piece, PIECES, l);
	if (whole && rc == 0)
		l->pieces = (uint32_t)pieces_of(list, count, src, dst, piece);
	return rc;
}

/* Writes the pieces to where the GPU reads them. */
static int
put_list(struct bed *b, enum place place, const struct tcpx_piece *piece, uint32_t count)
{
	if (place == ON_GPU)
		return unpack_gpu_ok(&b->gpu,
				     b->gpu.cuda.cuMemcpyHtoD(b->list[ON_GPU], piece,
							      count * sizeof(*piece)),
				     "write the list");
	memcpy((void *)(uintptr_t)b->list[PINNED], piece, count * sizeof(*piece));
	return 0;
}

static int
poison(struct bed *b, enum place place)
{
	if (place == PINNED) {
		memset((void *)(uintptr_t)b->dst[PINNED], POISON, SPACE);
		return 0;
	}
	return unpack_gpu_ok(&b->gpu, b->gpu.cuda.cuMemsetD8(b->dst[ON_GPU], POISON, SPACE),
			     "poison the destination");
}

/* What the host sees once the ticket is there, nothing else having been waited for. */
static int
fetch(struct bed *b, enum place place)
{
	if (place == PINNED) {
		memcpy(b->got, (void *)(uintptr_t)b->dst[PINNED], SPACE);
		return 0;
	}
	return unpack_gpu_ok(&b->gpu, b->gpu.cuda.cuMemcpyDtoH(b->got, b->dst[ON_GPU], SPACE),
			     "read the destination");
}

static void
compare(const struct bed *b, uint64_t number, const struct tcpx_launch *l)
{
	size_t first = 0, wrong = 0;

	for (size_t i = SPACE; i-- > 0;)
		if (b->got[i] != b->want[i]) {
			first = i;
			wrong++;
		}
	if (wrong)
		fail("list %llu: %zu bytes wrong, the first at %zu: 0x%02x, want 0x%02x (%s, "
		     "%u blocks of %u threads)",
		     (unsigned long long)number, wrong, first, b->got[first], b->want[first],
		     tcpx_launch_kernel_name(l->kernel), l->blocks, l->threads);
}

static int
run_list(struct bed *b, uint64_t number, enum place from, enum place to)
{
	struct tcpx_copy list[FRAGMENTS];
	struct tcpx_piece piece[PIECES];
	struct tcpx_launch l;
	enum place list_place = tcpx_rng_below(&b->rng, PLACES);
	bool whole = number % 8 == 7, pcie = number % 3 == 0, report = number % 4 != 3;
	size_t count = whole ? draw_long_pieces(b, list) : draw_list(b, list);
	uint32_t arrived;
	int rc;

	rc = plan(b, list, count, whole, pcie, (uintptr_t)b->source, (uintptr_t)b->want,
		  piece, &l);
	if (rc)
		return rc;
	memset(b->want, POISON, SPACE);
	tcpx_launch_run_host(piece, l.pieces);

	if ((rc = plan(b, list, count, whole, pcie, b->src[from], b->dst[to], piece, &l)) ||
	    (rc = put_list(b, list_place, piece, l.pieces)) || (rc = poison(b, to)))
		return rc;
	if (number % 2) { /* not the plan's choice: any must do */
		l.kernel = tcpx_rng_below(&b->rng, TCPX_LAUNCH_COPIES);
		l.threads = 32 * (uint32_t)tcpx_rng_between(
					 &b->rng, 1, tcpx_launch_threads_max(l.kernel) / 32);
		l.blocks = (uint32_t)tcpx_rng_between(&b->rng, 1, 3 * b->gpu.sms);
	}
	rc = unpack_gpu_launch(&b->gpu, &l, b->list[list_place], report);
	if (rc == 0)
		rc = report ? unpack_gpu_await(&b->gpu) : unpack_gpu_finish(&b->gpu);
	if (rc == 0)
		rc = fetch(b, to);
	if (rc)
		return rc;
	compare(b, number, &l);
	rc = unpack_gpu_finish(&b->gpu);
	if (rc == 0)
		rc = unpack_gpu_ok(&b->gpu,
				   b->gpu.cuda.cuMemcpyDtoH(&arrived, b->gpu.arrived, 4),
				   "read the count");
	if (rc == 0 && arrived)
		fail("list %llu: the count of blocks is left at %u", (unsigned long long)number,
		     arrived);
	return rc;
}

static int
run_lists(struct bed *b, uint64_t lists, enum place from, enum place to)
{
	int rc = 0;

	for (uint64_t i = 0; i < lists && rc == 0 && failures < 10; i++)
		rc = run_list(b, i, from, to);
	return rc;
}

static int
lists_on_the_gpu(struct bed *b, uint64_t lists)
{
	return run_lists(b, lists, ON_GPU, ON_GPU);
}

static int
lists_from_the_host(struct bed *b, uint64_t lists)
{
	return run_lists(b, lists, PINNED, ON_GPU);
}

static int
lists_to_the_host(struct bed *b, uint64_t lists)
{
	return run_lists(b, lists, ON_GPU, PINNED);
}

/* No piece at all: the ticket comes all the same. */
static int
a_launch_of_nothing_is_done(struct bed *b, uint64_t lists)
{
	struct tcpx_piece piece[1];
	struct tcpx_launch l;
	int rc = tcpx_launch_plan(NULL, 0, false, b->gpu.sms, piece, 1, &l);

	for (int k = 0; k < TCPX_LAUNCH_KERNELS && rc == 0; k++) {
		l.kernel = k;
		l.blocks = 1 + (uint32_t)k * 50;
		rc = unpack_gpu_launch(&b->gpu, &l, b->list[PINNED], true);
		if (rc == 0)
			rc = unpack_gpu_await(&b->gpu);
	}
	return rc;
}

static int
launch_pattern(struct bed *b, CUfunction kernel, void **params)
{
	int rc = unpack_gpu_ok(&b->gpu,
			       b->gpu.cuda.cuLaunchKernel(
				       kernel, (unsigned)tcpx_rng_between(&b->rng, 1, 300), 1, 1,
				       32 * (unsigned)tcpx_rng_between(&b->rng, 1, 16), 1, 1, 0,
				       b->gpu.stream, params, NULL),
			       "pattern");

	return rc ? rc : unpack_gpu_finish(&b->gpu);
}

/* Fills a random range and compares it; spoils some bytes and lets both sides find them. */
static int
run_pattern(struct bed *b, uint64_t number, CUfunction fill, CUfunction check)
{
	struct { uint64_t wrong, first; } found = { 0, UINT64_MAX }, want = { 0, UINT64_MAX };
	uint64_t len = tcpx_rng_between(&b->rng, 1, tcpx_rng_below(&b->rng, 2) ? 40 : 100000);
	uint64_t at = tcpx_rng_below(&b->rng, SPACE - len + 1);
	uint64_t offset = tcpx_rng_next(&b->rng) >> tcpx_rng_between(&b->rng, 20, 63);
	struct pattern p = pattern_of(tcpx_rng_next(&b->rng), number);
	uint64_t mem = b->dst[ON_GPU] + at, wrong = b->list[ON_GPU], first = wrong + 8;
	void *fill_params[] = { &mem, &len, &p.key, &offset };
	void *check_params[] = { &mem, &len, &p.key, &offset, &wrong, &first };
	int rc;

	memset(b->want, POISON, SPACE);
	pattern_fill(p, offset, b->want + at, len);
	if ((rc = poison(b, ON_GPU)) || (rc = launch_pattern(b, fill, fill_params)) ||
	    (rc = fetch(b, ON_GPU)))
		return rc;
	if (memcmp(b->got, b->want, SPACE))
		fail("pattern %llu: %llu bytes at %llu are not the host's",
		     (unsigned long long)number, (unsigned long long)len, (unsigned long long)at);
	for (uint64_t n = tcpx_rng_below(&b->rng, 4); n; n--)
		b->want[at + tcpx_rng_below(&b->rng, len)] ^= 0x40;
	want.wrong = pattern_check(p, offset, b->want + at, len, &want.first);
	if ((rc = unpack_gpu_ok(&b->gpu,
				b->gpu.cuda.cuMemcpyHtoD(b->dst[ON_GPU], b->want, SPACE),
				"spoil")) ||
	    (rc = unpack_gpu_ok(&b->gpu, b->gpu.cuda.cuMemcpyHtoD(wrong, &found, sizeof(found)),
				"begin")) ||
	    (rc = launch_pattern(b, check, check_params)) ||
	    (rc = unpack_gpu_ok(&b->gpu, b->gpu.cuda.cuMemcpyDtoH(&found, wrong, sizeof(found)),
				"verdict")))
		return rc;
	if (found.wrong != want.wrong || found.first != want.first)
		fail("pattern %llu: %llu wrong, first %llu; want %llu, first %llu",
		     (unsigned long long)number, (unsigned long long)found.wrong,
		     (unsigned long long)found.first, (unsigned long long)want.wrong,
		     (unsigned long long)want.first);
	return 0;
}

static int
the_pattern_is_the_hosts(struct bed *b, uint64_t lists)
{
	const struct tcpx_cuda_api *cu = &b->gpu.cuda;
	CUfunction fill, check;
	CUmodule module;
	int rc = unpack_gpu_ok(&b->gpu, cu->cuModuleLoadData(&module, pattern_ptx), "pattern_ptx");

	if (rc)
		return rc;
	if ((rc = unpack_gpu_ok(&b->gpu,
				cu->cuModuleGetFunction(&fill, module, PATTERN_KERNEL_FILL),
				PATTERN_KERNEL_FILL)) == 0)
		rc = unpack_gpu_ok(&b->gpu,
				   cu->cuModuleGetFunction(&check, module, PATTERN_KERNEL_CHECK),
				   PATTERN_KERNEL_CHECK);
	for (uint64_t i = 0; i < (lists + 9) / 10 && rc == 0 && failures < 10; i++)
		rc = run_pattern(b, i, fill, check);
	cu->cuModuleUnload(module);
	return rc;
}

static const struct {
	const char *name;
	int (*run)(struct bed *b, uint64_t lists);
} tests[] = {
	{ "random lists on the GPU are what the host makes of them", lists_on_the_gpu },
	{ "random lists out of pinned memory are, too", lists_from_the_host },
	{ "random lists into pinned memory are, too", lists_to_the_host },
	{ "a launch of nothing is done", a_launch_of_nothing_is_done },
	{ "the pattern is the host's, and what is spoiled is found", the_pattern_is_the_hosts },
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
			fprintf(stderr, "usage: kernels_test [--lists N] [--seed N] [--gpu N]\n");
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
	printf("1..%d\n# %s, %u multiprocessors, driver %d, %llu lists, seed %llu\n", TESTS,
	       b.gpu.name, b.gpu.sms, b.gpu.driver, (unsigned long long)lists,
	       (unsigned long long)seed);
	rc = bed_fill(&b);
	for (unsigned i = 0; i < TESTS; i++) {
		failures = 0;
		b.rng = tcpx_rng_seed(seed);
		if (rc == 0)
			rc = tests[i].run(&b, lists);
		printf("%sok %u - %s\n", rc || failures ? "not " : "", i + 1, tests[i].name);
		bad += rc || failures;
	}
	bed_close(&b);
	return bad > 0;
}
