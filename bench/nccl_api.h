/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of NCCL and of the GPU driver that the comparison calls. They are looked up
 * at its start, so no header of either is needed to build it. All functions return 0 or an
 * error of theirs.
 */
#ifndef BENCH_NCCL_API_H
#define BENCH_NCCL_API_H

#include <stddef.h>
#include <stdint.h>

enum { NCCL_UINT8 = 1, NCCL_UINT32 = 3 }; /* ncclUint8, ncclUint32 */
enum { NCCL_SUM = 0 };                     /* ncclSum */

struct nccl_id {
	char bytes[128];
};

struct nccl_api {
	int (*nccl_version)(int *version);
	int (*nccl_id)(struct nccl_id *id);
	int (*nccl_init)(void **comm, int ranks, struct nccl_id id, int rank);
	int (*nccl_send)(const void *buf, size_t n, int type, int peer, void *comm, void *stream);
	int (*nccl_recv)(void *buf, size_t n, int type, int peer, void *comm, void *stream);
	int (*nccl_all_reduce)(const void *from, void *to, size_t n, int type, int op, void *comm,
			       void *stream);
	int (*nccl_all_gather)(const void *from, void *to, size_t n, int type, void *comm, void *stream);
	int (*nccl_reduce_scatter)(const void *from, void *to, size_t n, int type, int op, void *comm,
				   void *stream);
	int (*nccl_group_start)(void);
	int (*nccl_group_end)(void);
	int (*nccl_destroy)(void *comm);
	const char *(*nccl_strerror)(int rc);
	/* the driver; its handles are pointers, its addresses 64 bits */
	int (*init)(unsigned flags);
	int (*device)(int *device, int ordinal);
	int (*set_flags)(int device, unsigned flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*alloc)(uint64_t *addr, size_t n);
	int (*free)(uint64_t addr);
	int (*alloc_host)(void **mem, size_t n, unsigned flags);
	int (*free_host)(void *mem);
	int (*to_gpu)(uint64_t dst, const void *src, size_t n);
	int (*to_host)(void *dst, uint64_t src, size_t n);
	int (*to_gpu_async)(uint64_t dst, const void *src, size_t n, void *stream);
	int (*to_host_async)(void *dst, uint64_t src, size_t n, void *stream);
	int (*fill)(uint64_t addr, unsigned char value, size_t n);
	int (*stream)(void **stream, unsigned flags);
	int (*sync)(void *stream);
	int (*event)(void **event, unsigned flags);
	int (*record)(void *event, void *stream);
	int (*elapsed)(float *ms, void *from, void *to);
};

/* Loads both. Returns NULL, or the name of what is missing. */
const char *nccl_api_load(struct nccl_api *api, const char *nccl, const char *cuda);

#endif
