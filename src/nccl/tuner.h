/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's tables of a tuner. NCCL 2.28 and newer find version 5 in the file of the net plugin, unless
 * NCCL_TUNER_PLUGIN names another. NCCL 2.25 to 2.27 close the net plugin's file for a tuner that they find
 * there, and then wait for ever: 2.21 to 2.27 find versions 2 to 4 in a file of their own.
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

/* As of version 5. */
struct nccl_tuner_v4 {
	const char *name;
	enum nccl_result (*init)(size_t ranks, size_t nodes, nccl_logger logger, void **ctx);
	enum nccl_result (*coll_info)(void *ctx, int func, size_t bytes, int pipe_ops, float **costs,
				      int algos, int protos, int registered, int *channels);
	enum nccl_result (*destroy)(void *ctx);
};

struct nccl_tuner_v3 {
	const char *name;
	enum nccl_result (*init)(size_t ranks, size_t nodes, nccl_logger logger, void **ctx);
	enum nccl_result (*coll_info)(void *ctx, int func, size_t bytes, int pipe_ops, float **costs,
				      int algos, int protos, int *channels);
	enum nccl_result (*destroy)(void *ctx);
};

/* @algo, @proto, @channels: out, as they are without a way of the tuner. */
struct nccl_tuner_v2 {
	const char *name;
	enum nccl_result (*init)(size_t ranks, size_t nodes, nccl_logger logger, void **ctx);
	enum nccl_result (*coll_info)(void *ctx, int func, size_t bytes, int collnet, int nvls,
				      int pipe_ops, int *algo, int *proto, int *channels);
	enum nccl_result (*destroy)(void *ctx);
};

extern const struct nccl_tuner_v5 ncclTunerPlugin_v5;
extern const struct nccl_tuner_v4 ncclTunerPlugin_v4;
extern const struct nccl_tuner_v3 ncclTunerPlugin_v3;
extern const struct nccl_tuner_v2 ncclTunerPlugin_v2;

struct tuner_way {
	size_t part; /* a rank's, in bytes, at most */
	enum nccl_algo algo;
	enum nccl_proto proto;
	int channels;
};

/* *ctx: of a communicator; NULL: NCCL decides. */
enum nccl_result tcpx_nccl_tuner_open(size_t ranks, size_t nodes, void **ctx);
enum nccl_result tcpx_nccl_tuner_close(void *ctx);
/* NULL: NCCL decides. */
const struct tuner_way *tcpx_nccl_tuner_way(const void *ctx, int func, size_t bytes);
/* coll_info() of tables with costs. A way that the job, or the collective, does not allow is none. */
enum nccl_result tcpx_nccl_tuner_costs(void *ctx, int func, size_t bytes, int pipe_ops, float **costs,
				       int algos, int protos, int registered, int *channels);

#endif
