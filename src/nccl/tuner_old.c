/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of NCCL 2.21 to 2.27. */
#include "nccl/tuner.h"

#include <stdlib.h>

static enum nccl_result
init(size_t ranks, size_t nodes, nccl_logger logger, void **ctx)
{
	(void)logger;
	return tcpx_nccl_tuner_open(ranks, nodes, ctx);
}

static enum nccl_result
coll_info_v3(void *ctx, int func, size_t bytes, int pipe_ops, float **costs, int algos, int protos,
	     int *channels)
{
	return tcpx_nccl_tuner_costs(ctx, func, bytes, pipe_ops, costs, algos, protos, 0, channels);
}

/* No cost says what the job does not allow, nor that all-reduces alone have trees. */
static enum nccl_result
coll_info_v2(void *ctx, int func, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo, int *proto,
	     int *channels)
{
	const struct tuner_way *w = tcpx_nccl_tuner_way(ctx, func, bytes);

	(void)collnet, (void)nvls, (void)pipe_ops;
	if (w && (w->algo != NCCL_TREE || func == NCCL_ALL_REDUCE) && !getenv("NCCL_ALGO") &&
	    !getenv("NCCL_PROTO")) {
		*algo = w->algo;
		*proto = w->proto;
		*channels = w->channels;
	}
	return NCCL_OK;
}

__attribute__((visibility("default"))) const struct nccl_tuner_v4 ncclTunerPlugin_v4 = {
	"tcpx-p2p", init, tcpx_nccl_tuner_costs, tcpx_nccl_tuner_close,
};
__attribute__((visibility("default"))) const struct nccl_tuner_v3 ncclTunerPlugin_v3 = {
	"tcpx-p2p", init, coll_info_v3, tcpx_nccl_tuner_close,
};
__attribute__((visibility("default"))) const struct nccl_tuner_v2 ncclTunerPlugin_v2 = {
	"tcpx-p2p", init, coll_info_v2, tcpx_nccl_tuner_close,
};
