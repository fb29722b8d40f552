/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One GPU of a device: its primary context, its kernels, and what its queues share. It is
 * retained at first use, so unused GPUs cost nothing.
 */
#ifndef DEVICE_CUDA_GPU_H
#define DEVICE_CUDA_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/cuda_api.h"
#include "device/device.h"
#include "device/launch.h"

/*
 * A stream of copies in one direction that queues share. A copy engine with twelve streams works
 * on all their copies in turn: of 16 copies of 1 MiB the first was done after 250 us, the last
 * after 590. In one stream each takes the bus for 20 us.
 */
struct tcpx_copier {
	pthread_mutex_t lock; /* held while a copy and its signal are enqueued         */
	CUstream stream;      /* NULL until a queue needs it                           */
};

/* While one copy signals its end, a copy of the other stream runs. */
#define TCPX_GPU_COPIERS 2

struct tcpx_gpu {
	const struct tcpx_cuda_api *cu; /* borrowed; NULL until it is used           */
	int ordinal;
	CUdevice device;
	CUcontext context;
	uint32_t sms;
	bool memops;                /* streams can write and await 64-bit words      */
	enum tcpx_unpack_impl impl; /* the device's, or d2d: the kernels do not load */
	CUmodule module;            /* NULL until a queue needs it                   */
	CUfunction kernel[TCPX_LAUNCH_KERNELS];
	/* When a queue of each flow last had a large batch; 0: never. */
	_Atomic uint64_t busy_ns[TCPX_FLOWS];
	struct tcpx_copier copier[TCPX_FLOWS][TCPX_GPU_COPIERS];
	uint32_t copiers_given[TCPX_FLOWS]; /* number of queues that have one; guarded by the device's lock */
};

struct tcpx_device {
	struct tcpx_cuda_api cu;
	enum tcpx_unpack_impl impl;
	const struct tcpx_clock *clock; /* borrowed */
	atomic_int seen;                /* the GPU that where() last found */
	pthread_mutex_t lock;           /* guards everything below         */
	struct tcpx_gpu gpu[TCPX_GPUS_MAX];
	struct tcpx_gpu *home;          /* its context makes pinned memory; NULL: none yet */
};

/* The GPU of that ordinal. With kernels: they are loaded, or its impl is d2d. */
int tcpx_gpu_get(struct tcpx_device *dev, int ordinal, bool kernels, struct tcpx_gpu **gpu);
/* The GPU that makes pinned memory: one in use, else one that where() found, else the first. */
int tcpx_gpu_home(struct tcpx_device *dev, struct tcpx_gpu **gpu);
void tcpx_gpu_put_all(struct tcpx_device *dev);
/* A copier of the GPU for a queue that opens; it stays until put_all(). With the GPU entered. */
CUresult tcpx_gpu_copier(struct tcpx_device *dev, struct tcpx_gpu *gpu, enum tcpx_flow flow,
			 struct tcpx_copier **copier);
/* A stream of the highest priority: its few blocks run before the application's kernels, and not
 * behind a stream that waits for them. With the GPU entered. */
CUresult tcpx_gpu_stream(struct tcpx_gpu *gpu, CUstream *stream);

/* From enter to leave the GPU's context is the caller's current one. */
int tcpx_gpu_enter(struct tcpx_gpu *gpu);
void tcpx_gpu_leave(struct tcpx_gpu *gpu);

#endif
