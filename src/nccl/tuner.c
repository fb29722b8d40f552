/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fewer channels for small collectives. NCCL spreads 64 KiB over all of its channels, which is many
 * messages of some KiB for the one thread that moves them. It has no cost of a message in its model.
 */
#include "nccl/tuner.h"

#include <stdbool.h>
#include <stdlib.h>

#define PART_BYTES (32u << 10) /* of a channel and a rank, at least: docs/results/nccl.md */
#define MANY       16          /* from here on NCCL decides                               */

int
tcpx_nccl_channels(int func, size_t bytes, size_t ranks)
{
	size_t channels;

	if ((func != NCCL_ALL_GATHER && func != NCCL_REDUCE_SCATTER && func != NCCL_ALL_REDUCE) || !ranks)
		return 0;
	channels = bytes / ranks / PART_BYTES;
	return channels >= MANY ? 0 : channels ? (int)channels : 1;
}

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

/* A job that sets the number of channels keeps it. With several ranks a node NCCL decides, too: a channel then
 * has links within the node, which are not ours. */
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

static enum nccl_result
coll_info(void *ctx, int func, size_t bytes, int pipe_ops, float **costs, int algos, int protos,
	  int registered, int *channels)
{
	const size_t *ranks = ctx;
	int most = ranks ? tcpx_nccl_channels(func, bytes, *ranks) : 0;

	(void)pipe_ops, (void)costs, (void)algos, (void)protos, (void)registered;
	if (most)
		*channels = most;
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
