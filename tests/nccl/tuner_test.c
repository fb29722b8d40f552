/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin's tuner says of a collective. Usage: nccl_tuner PLUGIN */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

#include "net/plugin/nccl_net.h"
#include "nccl/tuner.h"

#define ALGOS 7
#define PROTOS 3
#define UNSET 77 /* what NCCL has, unless the tuner says otherwise */

static const char *path;
static void *plugin, *before; /* the two files */
static const struct nccl_tuner_v5 *tuner;

/* What it said last. */
static float costs[ALGOS][PROTOS];
static int channels;

static void *
open_tuner(size_t ranks, size_t nodes)
{
	void *ctx = &ctx;

	assert_int_equal(tuner->init(&ctx, 1, ranks, nodes, NULL, NULL, NULL), NCCL_OK);
	return ctx;
}

/* Each way costs 5, but those of LL128, which are not allowed, and trees of what has none. */
static void
like_asked(float cost[ALGOS][PROTOS], int func)
{
	for (int a = 0; a < ALGOS; a++)
		for (int p = 0; p < PROTOS; p++)
			cost[a][p] = p == NCCL_LL128 ||
				     (a == NCCL_TREE && func != NCCL_ALL_REDUCE) ? -1 : 5;
}

static void
ask(void *ctx, int func, size_t bytes)
{
	like_asked(costs, func);
	channels = UNSET;
	assert_int_equal(tuner->coll_info(ctx, func, bytes, 1, (float **)costs, ALGOS, PROTOS, 0,
					  &channels), NCCL_OK);
}

static int
count_chosen(void)
{
	int chosen = 0;

	for (int a = 0; a < ALGOS; a++)
		for (int p = 0; p < PROTOS; p++) {
			chosen += costs[a][p] == 0;
			assert_true(costs[a][p] == -1 || (p != NCCL_LL128 && (costs[a][p] == 0 || costs[a][p] == 5)));
		}
	return chosen;
}

TEST(collectives_have_channels_by_their_size)
{
	void *ctx = open_tuner(2, 2);

	ask(ctx, NCCL_ALL_REDUCE, 8);
	assert_int_equal(channels, 1);
	assert_true(costs[NCCL_TREE][NCCL_LL] == 0);
	ask(ctx, NCCL_ALL_REDUCE, 128 << 10);
	assert_int_equal(channels, 1);
	assert_true(costs[NCCL_RING][NCCL_SIMPLE] == 0);
	ask(ctx, NCCL_ALL_REDUCE, 1 << 20);
	assert_int_equal(channels, 2);
	ask(ctx, NCCL_ALL_REDUCE, 4 << 20);
	assert_int_equal(channels, 4);
	assert_true(costs[NCCL_RING][NCCL_SIMPLE] == 0);
	ask(ctx, NCCL_ALL_REDUCE, 16 << 20);
	assert_int_equal(channels, 8);
	ask(ctx, NCCL_ALL_REDUCE, 25 << 20); /* a bucket of DDP; a large layer makes it longer */
	assert_int_equal(channels, 12);
	ask(ctx, NCCL_ALL_REDUCE, 33 << 20);
	assert_int_equal(channels, 12);
	ask(ctx, NCCL_ALL_REDUCE, 64 << 20);
	assert_int_equal(channels, 8);
	ask(ctx, NCCL_ALL_REDUCE, (size_t)1 << 40);
	assert_int_equal(channels, 8);
	assert_true(costs[NCCL_RING][NCCL_SIMPLE] == 0);
	ask(ctx, NCCL_REDUCE_SCATTER, 8); /* a tree, which it has not */
	assert_int_equal(channels, UNSET);
	for (size_t bytes = 4096; bytes <= 1 << 30; bytes *= 2) {
		ask(ctx, NCCL_REDUCE_SCATTER, bytes);
		assert_in_range(channels, 1, 12);
		assert_int_equal(count_chosen(), 1);
	}
	assert_int_equal(tuner->finalize(ctx), NCCL_OK);
}

TEST(other_kinds_are_as_nccl_has_them)
{
	void *ctx = open_tuner(2, 2);

	ask(ctx, 0, 8); /* a broadcast */
	assert_int_equal(channels, UNSET);
	assert_int_equal(count_chosen(), 0);
	tuner->finalize(ctx);
}

TEST(a_part_for_each_rank_counts)
{
	void *two = open_tuner(2, 2), *four = open_tuner(4, 4);
	int of_two;

	ask(two, NCCL_ALL_REDUCE, 256 << 10);
	of_two = channels;
	ask(four, NCCL_ALL_REDUCE, 512 << 10);
	assert_int_equal(channels, of_two);
	tuner->finalize(two);
	tuner->finalize(four);
}

/* NCCL_ALGO and NCCL_PROTO come as ways that are not allowed. */
TEST(a_way_that_is_not_allowed_stays_so)
{
	void *ctx = open_tuner(2, 2);
	float none[ALGOS][PROTOS];

	for (int i = 0; i < ALGOS * PROTOS; i++)
		none[i / PROTOS][i % PROTOS] = -1;
	channels = UNSET;
	tuner->coll_info(ctx, NCCL_ALL_REDUCE, 8, 1, (float **)none, ALGOS, PROTOS, 0, &channels);
	for (int i = 0; i < ALGOS * PROTOS; i++)
		assert_true(none[i / PROTOS][i % PROTOS] == -1);
	assert_int_equal(channels, UNSET);
	tuner->finalize(ctx);
}

TEST(what_the_job_sets_and_links_of_a_node_stay)
{
	void *ctx[4] = { open_tuner(8, 1), open_tuner(16, 2) };

	setenv("NCCL_MAX_NCHANNELS", "4", 1);
	ctx[2] = open_tuner(2, 2);
	unsetenv("NCCL_MAX_NCHANNELS");
	setenv("NCCL_NET", "Socket", 1);
	ctx[3] = open_tuner(2, 2);
	unsetenv("NCCL_NET");
	for (int i = 0; i < 4; i++) {
		ask(ctx[i], NCCL_ALL_REDUCE, 8);
		assert_int_equal(channels, UNSET);
		assert_int_equal(count_chosen(), 0);
		tuner->finalize(ctx[i]);
	}
}

/* ---- NCCL up to 2.27 --------------------------------------------------------------- */

static char says[1000];

static void
note(enum nccl_log_level level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	(void)level, (void)flags, (void)file, (void)line;
	va_start(ap, fmt);
	vsnprintf(says, sizeof(says), fmt, ap);
	va_end(ap);
}

/* Only those that ask for old tables: newer ones find the tuner in the plugin's file. */
TEST(the_plugin_names_the_tuner_of_its_folder)
{
	const struct nccl_net_v10 *old = dlsym(plugin, "ncclNetPlugin_v10");
	const struct nccl_net_v11 *new = dlsym(plugin, "ncclNetPlugin_v11");
	const char *name;
	void *ctx;

	unsetenv("NCCL_TUNER_PLUGIN");
	assert_int_equal(new->init(&ctx, 1, NULL, note, NULL), NCCL_OK);
	assert_null(getenv("NCCL_TUNER_PLUGIN"));
	assert_int_equal(new->finalize(ctx), NCCL_OK);
	setenv("NCCL_NET_PLUGIN", "tcpx-p2p", 1); /* the loader finds both files */
	assert_int_equal(old->init(note, NULL), NCCL_OK);
	assert_string_equal(getenv("NCCL_TUNER_PLUGIN"), "libnccl-tuner-tcpx-p2p.so");
	assert_int_equal(new->finalize(ctx), NCCL_OK); /* the last one, for the plugin */
	unsetenv("NCCL_TUNER_PLUGIN");
	setenv("NCCL_NET_PLUGIN", path, 1);
	assert_int_equal(old->init(note, NULL), NCCL_OK);
	name = getenv("NCCL_TUNER_PLUGIN");
	assert_non_null(name);
	assert_string_equal(strrchr(name, '/'), "/libnccl-tuner-tcpx-p2p.so");
	assert_non_null(strstr(says, name));
	before = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(before);
}

/* Of one body with version 5. */
TEST(older_tables_say_the_same)
{
	const struct nccl_tuner_v4 *v4 = dlsym(before, "ncclTunerPlugin_v4");
	const struct nccl_tuner_v3 *v3 = dlsym(before, "ncclTunerPlugin_v3");
	const struct nccl_tuner_v2 *v2 = dlsym(before, "ncclTunerPlugin_v2");
	float old[ALGOS][PROTOS];
	void *ctx, *mine = open_tuner(2, 2);

	assert_int_equal(v4->init(2, 2, NULL, &ctx), NCCL_OK);
	for (size_t bytes = 8; bytes <= 1 << 30; bytes *= 2)
		for (int func = NCCL_ALL_GATHER; func <= NCCL_ALL_REDUCE; func++) {
			int algo = UNSET, proto = UNSET, of_v2 = UNSET, of_v3 = UNSET, of_v4 = UNSET;

			ask(mine, func, bytes);
			like_asked(old, func);
			v4->coll_info(ctx, func, bytes, 1, (float **)old, ALGOS, PROTOS, 0, &of_v4);
			assert_true(of_v4 == channels && !memcmp(old, costs, sizeof(old)));
			like_asked(old, func);
			v3->coll_info(ctx, func, bytes, 1, (float **)old, ALGOS, PROTOS, &of_v3);
			assert_true(of_v3 == channels && !memcmp(old, costs, sizeof(old)));
			v2->coll_info(ctx, func, bytes, 0, 0, 1, &algo, &proto, &of_v2);
			assert_int_equal(of_v2, channels);
			assert_true(channels == UNSET ? algo == UNSET && proto == UNSET : costs[algo][proto] == 0);
		}
	assert_int_equal(v3->destroy(ctx), NCCL_OK);
	tuner->finalize(mine);
}

TEST(version_2_leaves_what_the_job_chooses)
{
	const struct nccl_tuner_v2 *v2 = dlsym(before, "ncclTunerPlugin_v2");
	int algo = UNSET, proto = UNSET, count = UNSET;
	void *ctx;

	v2->init(2, 2, NULL, &ctx);
	setenv("NCCL_PROTO", "Simple", 1);
	v2->coll_info(ctx, NCCL_ALL_REDUCE, 8, 0, 0, 1, &algo, &proto, &count);
	unsetenv("NCCL_PROTO");
	v2->coll_info(ctx, 0, 8, 0, 0, 1, &algo, &proto, &count); /* a broadcast */
	assert_true(algo == UNSET && proto == UNSET && count == UNSET);
	v2->destroy(ctx);
}

int
main(int argc, char **argv)
{
	path = argc > 1 ? argv[1] : "";
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	tuner = plugin ? dlsym(plugin, "ncclTunerPlugin_v5") : NULL;
	return tuner ? run_cases(NULL, NULL) : 2;
}
