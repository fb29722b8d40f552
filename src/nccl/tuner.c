/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How collectives go: NCCL spreads 64 KiB over all of its channels, in messages of some KiB, and its
 * model has no cost of a message. The one thread that moves them has. Large ones are fastest with eight
 * channels, of which NCCL may make 26. With twelve, those of the size of DDP's buckets have 0.96 to 1.07 of the
 * rate when they run alone, and steps of DDP 1.17.
 */
#include "nccl/tuner.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The first row whose part is not smaller than a rank's part of the collective. */
struct way {
	size_t part; /* bytes, at most */
	enum nccl_algo algo;
	enum nccl_proto proto;
	int channels;
};

/* By docs/results/nccl.md. */
static const struct way ways[] = {
	{ 1 << 10, NCCL_TREE, NCCL_LL, 1 },
	{ 16 << 10, NCCL_RING, NCCL_LL, 1 },
	{ 256 << 10, NCCL_RING, NCCL_SIMPLE, 1 },
	{ 512 << 10, NCCL_RING, NCCL_SIMPLE, 2 },
	{ 4 << 20, NCCL_RING, NCCL_SIMPLE, 4 },
	{ 10 << 20, NCCL_RING, NCCL_SIMPLE, 8 },
	{ 24 << 20, NCCL_RING, NCCL_SIMPLE, 12 },
	{ SIZE_MAX, NCCL_RING, NCCL_SIMPLE, 8 },
};

static bool
sets_channels(void)
{
	static const char *const names[] = { "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS",
					     "NCCL_MIN_CTAS", "NCCL_MAX_CTAS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]))
			return true;
	return false;
}

/* A job that sets the number of channels keeps it. With several ranks a node NCCL decides, too: a
 * channel then has links within the node, which are not ours. */
static enum nccl_result
init(void **ctx, uint64_t comm_id, size_t ranks, size_t nodes, nccl_logger logger, void *domains,
     void *constants)
{
	size_t *keep = NULL;

	(void)comm_id, (void)logger, (void)domains, (void)constants;
	if (nodes > 1 && nodes == ranks && !sets_channels()) {
		keep = malloc(sizeof(*keep));
		if (!keep)
			return NCCL_SYSTEM_ERROR;
		*keep = ranks;
	}
	*ctx = keep;
	return NCCL_OK;
}

static const struct way *
way_of(int func, size_t part)
{
	if (func != NCCL_ALL_GATHER && func != NCCL_REDUCE_SCATTER && func != NCCL_ALL_REDUCE)
		return NULL;
	for (const struct way *w = ways;; w++)
		if (part <= w->part)
			return w;
}

/* A way that the job, or the collective, does not allow is none. */
static enum nccl_result
coll_info(void *ctx, int func, size_t bytes, int pipe_ops, float **costs, int algos, int protos,
	  int registered, int *channels)
{
	const size_t *ranks = ctx;
	const struct way *w = ranks ? way_of(func, bytes / *ranks) : NULL;
	float *cost = (float *)costs;

	(void)pipe_ops, (void)registered;
	if (!w)
		return NCCL_OK;
	if ((int)w->algo < algos && (int)w->proto < protos && cost[w->algo * protos + w->proto] >= 0) {
		cost[w->algo * protos + w->proto] = 0;
		*channels = w->channels;
	}
	return NCCL_OK;
}

static enum nccl_result
finalize(void *ctx)
{
	free(ctx);
	return NCCL_OK;
}

__attribute__((visibility("default"))) const struct nccl_tuner_v5 ncclTunerPlugin_v5 = {
	"tcpx-p2p", init, coll_info, finalize,
};
