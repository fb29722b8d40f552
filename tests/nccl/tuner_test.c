/* SPDX-License-Identifier: Apache-2.0 */
/* How many channels the plugin's tuner leaves to a collective. Usage: nccl_tuner PLUGIN */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "nccl/tuner.h"

#define UNSET 77 /* what NCCL has, unless the tuner says otherwise */

static const struct nccl_tuner_v5 *tuner;

static void *
open_tuner(size_t ranks, size_t nodes)
{
	void *ctx = &ctx;

	assert_int_equal(tuner->init(&ctx, 1, ranks, nodes, NULL, NULL, NULL), NCCL_OK);
	return ctx;
}

static int
channels(void *ctx, int func, size_t bytes)
{
	int n = UNSET;

	assert_int_equal(tuner->coll_info(ctx, func, bytes, 1, NULL, 7, 3, 0, &n), NCCL_OK);
	return n;
}

static void
small_collectives_have_few(void **state)
{
	void *ctx = open_tuner(2, 2);
	int last = 1, n;

	(void)state;
	assert_int_equal(channels(ctx, NCCL_ALL_REDUCE, 8), 1);
	assert_int_equal(channels(ctx, NCCL_ALL_GATHER, 0), 1);
	assert_int_equal(channels(ctx, NCCL_ALL_REDUCE, 1 << 30), UNSET);
	for (size_t bytes = 8; bytes < 64 << 20; bytes *= 2) {
		n = channels(ctx, NCCL_REDUCE_SCATTER, bytes);
		assert_true(n >= last);
		last = n;
	}
	assert_int_equal(channels(ctx, 0, 8), UNSET); /* a broadcast */
	assert_int_equal(tuner->finalize(ctx), NCCL_OK);
}

static void
a_part_for_each_rank(void **state)
{
	void *two = open_tuner(2, 2), *four = open_tuner(4, 4);

	(void)state;
	assert_int_equal(channels(two, NCCL_ALL_REDUCE, 256 << 10),
			 channels(four, NCCL_ALL_REDUCE, 512 << 10));
	tuner->finalize(two);
	tuner->finalize(four);
}

static void
others_keep_theirs(void **state)
{
	void *node = open_tuner(8, 1), *nodes = open_tuner(16, 2), *asked;

	(void)state;
	assert_int_equal(channels(node, NCCL_ALL_REDUCE, 8), UNSET);
	assert_int_equal(channels(nodes, NCCL_ALL_REDUCE, 8), UNSET);
	setenv("NCCL_MAX_NCHANNELS", "4", 1);
	asked = open_tuner(2, 2);
	unsetenv("NCCL_MAX_NCHANNELS");
	assert_int_equal(channels(asked, NCCL_ALL_REDUCE, 8), UNSET);
	tuner->finalize(node);
	tuner->finalize(nodes);
	tuner->finalize(asked);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_collectives_have_few),
		cmocka_unit_test(a_part_for_each_rank),
		cmocka_unit_test(others_keep_theirs),
	};
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	tuner = plugin ? dlsym(plugin, "ncclTunerPlugin_v5") : NULL;
	return tuner ? cmocka_run_group_tests_name("nccl/tuner", tests, NULL, NULL) : 2;
}
