/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One GPU of a device: its primary context, its kernels, and what its queues know of each
 * other. Retained at first use, so that GPUs that nobody uses cost nothing.
 */
#ifndef DEVICE_CUDA_GPU_H
#define DEVICE_CUDA_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/cuda_api.h"
#include "device/device.h"
#include "device/launch.h"

/*
 * A stream of copies in one direction that queues share. A copy engine that has the copies of
 * twelve streams does all of them a little at a time: of 16 copies of 1 MiB none was done before
 * 250 us, the last after 590; behind each other in one stream the bus carries one in 20.
 */
struct tcpx_copier {
	pthread_mutex_t lock; /* held while a copy and what tells its end are enqueued */
	CUstream stream;      /* NULL until a queue needs it                           */
};

/* While one copy tells its end the other stream's runs. */
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
	/* When a queue of each flow last had much to do; 0: never. */
	_Atomic uint64_t busy_ns[TCPX_FLOWS];
	struct tcpx_copier copier[TCPX_FLOWS][TCPX_GPU_COPIERS];
	uint32_t copiers_given[TCPX_FLOWS]; /* to so many queues; guarded by the device's lock */
};

struct tcpx_device {
	struct tcpx_cuda_api cu;
	enum tcpx_unpack_impl impl;
	const struct tcpx_clock *clock; /* borrowed */
	atomic_int seen;                /* the GPU that where() last found */
	pthread_mutex_t lock;           /* guards what is below            */
	struct tcpx_gpu gpu[TCPX_GPUS_MAX];
	struct tcpx_gpu *home;          /* whose context makes pinned memory; or NULL */
};

/* The GPU of that ordinal; with kernels: those are loaded, or its impl says why not. */
int tcpx_gpu_get(struct tcpx_device *dev, int ordinal, bool kernels, struct tcpx_gpu **gpu);
/* The GPU of pinned memory: one in use, else one that has been seen, else the first. */
int tcpx_gpu_home(struct tcpx_device *dev, struct tcpx_gpu **gpu);
void tcpx_gpu_put_all(struct tcpx_device *dev);
/* One of the GPU's copiers for a queue that opens; kept until put_all(). With the GPU entered. */
CUresult tcpx_gpu_copier(struct tcpx_device *dev, struct tcpx_gpu *gpu, enum tcpx_flow flow,
			 struct tcpx_copier **copier);
/* A stream of the highest priority: our few blocks run before the rest of an application's
 * kernels, and not behind one of its streams that waits for us. With the GPU entered. */
CUresult tcpx_gpu_stream(struct tcpx_gpu *gpu, CUstream *stream);

/* Between enter and leave the GPU's context is the caller's current one. */
int tcpx_gpu_enter(struct tcpx_gpu *gpu);
void tcpx_gpu_leave(struct tcpx_gpu *gpu);

#endif
