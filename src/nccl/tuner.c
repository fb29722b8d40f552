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
#include <strings.h>

/* The first row counts whose part is not smaller than a rank's. By docs/results/nccl.md. */
static const struct tuner_way ways[] = {
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

/* NCCL takes this tuner for its sockets, too, where NCCL_NET chooses those. */
static bool
is_another_net(void)
{
	const char *net = getenv("NCCL_NET");

	return net && *net && strcasecmp(net, "tcpx-p2p") != 0;
}

/* A job that sets the number of channels keeps it. With several ranks a node NCCL decides, too: a
 * channel then has links within the node, which are not ours. */
enum nccl_result
tcpx_nccl_tuner_open(size_t ranks, size_t nodes, void **ctx)
{
	size_t *keep = NULL;

	if (nodes > 1 && nodes == ranks && !sets_channels() && !is_another_net()) {
		keep = malloc(sizeof(*keep));
		if (!keep)
			return NCCL_SYSTEM_ERROR;
		*keep = ranks;
	}
	*ctx = keep;
	return NCCL_OK;
}

enum nccl_result
tcpx_nccl_tuner_close(void *ctx)
{
	free(ctx);
	return NCCL_OK;
}

const struct tuner_way *
tcpx_nccl_tuner_way(const void *ctx, int func, size_t bytes)
{
	const size_t *ranks = ctx;

	if (!ranks ||
	    (func != NCCL_ALL_GATHER && func != NCCL_REDUCE_SCATTER && func != NCCL_ALL_REDUCE))
		return NULL;
	for (const struct tuner_way *w = ways;; w++)
		if (bytes / *ranks <= w->part)
			return w;
}

enum nccl_result
tcpx_nccl_tuner_costs(void *ctx, int func, size_t bytes, int pipe_ops, float **costs, int algos,
		      int protos, int registered, int *channels)
{
	const struct tuner_way *w = tcpx_nccl_tuner_way(ctx, func, bytes);
	float *cost = (float *)costs;

	(void)pipe_ops, (void)registered;
	if (w && (int)w->algo < algos && (int)w->proto < protos &&
	    cost[w->algo * protos + w->proto] >= 0) {
		cost[w->algo * protos + w->proto] = 0;
		*channels = w->channels;
	}
	return NCCL_OK;
}

static enum nccl_result
init(void **ctx, uint64_t comm_id, size_t ranks, size_t nodes, nccl_logger logger, void *domains,
     void *constants)
{
	(void)comm_id, (void)logger, (void)domains, (void)constants;
	return tcpx_nccl_tuner_open(ranks, nodes, ctx);
}

__attribute__((visibility("default"))) const struct nccl_tuner_v5 ncclTunerPlugin_v5 = {
	"tcpx-p2p", init, tcpx_nccl_tuner_costs, tcpx_nccl_tuner_close,
};
