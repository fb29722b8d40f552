/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's table of a tuner, of version 5: NCCL 2.28 and newer look for it in the file of the net
 * plugin, unless NCCL_TUNER_PLUGIN names another. Older releases close a library for it that they
 * have not opened, and ask for tables of other versions, which are not here.
 */
#ifndef NCCL_TUNER_H
#define NCCL_TUNER_H

#include <stddef.h>
#include <stdint.h>

#include "net/plugin/nccl_net.h"

/* ncclFunc_t, of those that give each rank a part. */
enum nccl_func { NCCL_ALL_GATHER = 2, NCCL_REDUCE_SCATTER = 3, NCCL_ALL_REDUCE = 4 };
enum nccl_algo { NCCL_TREE, NCCL_RING };
enum nccl_proto { NCCL_LL, NCCL_LL128, NCCL_SIMPLE };

struct nccl_tuner_v5 {
	const char *name;
	enum nccl_result (*init)(void **ctx, uint64_t comm_id, size_t ranks, size_t nodes,
				 nccl_logger logger, void *domains, void *constants);
	/* @costs: of float[algos][protos], microseconds; below 0: not to be used. @channels: out. What
	 * is not set here NCCL decides. */
	enum nccl_result (*coll_info)(void *ctx, int func, size_t bytes, int pipe_ops, float **costs,
				      int algos, int protos, int registered, int *channels);
	enum nccl_result (*finalize)(void *ctx);
};

extern const struct nccl_tuner_v5 ncclTunerPlugin_v5;

#endif
