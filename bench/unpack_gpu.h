/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One GPU with the library's copy kernels on it, driven directly: for measuring and testing
 * what one launch does. Used by the thread that opened it, whose context it is until closed.
 */
#ifndef BENCH_UNPACK_GPU_H
#define BENCH_UNPACK_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda_api.h"
#include "device/launch.h"

struct unpack_gpu {
	struct tcpx_cuda_api cuda;
	char name[64];
	int driver;                /* 13000: the interface of CUDA 13.0 */
	uint32_t sms;
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUmodule module;
	CUfunction kernel[TCPX_LAUNCH_KERNELS];
	CUdeviceptr arrived;       /* one word, 0 between launches       */
	volatile uint64_t *done;   /* pinned: the last ticket            */
	uint64_t ticket;           /* of the last launch that has one    */
};

/* -ENODEV: no driver, or no such GPU. library as in struct tcpx_device_params, but the usual
 * one is loaded if need be. What fails has been logged. */
TCPX_MUST_CHECK int unpack_gpu_open(const char *library, int ordinal, struct unpack_gpu *g);
/* Memory has been given back. */
void unpack_gpu_close(struct unpack_gpu *g);

/* 0, or the logged code of a driver call that failed. */
TCPX_MUST_CHECK int unpack_gpu_ok(const struct unpack_gpu *g, CUresult result,
				  const char *what);
TCPX_MUST_CHECK int unpack_gpu_alloc(struct unpack_gpu *g, uint64_t len, uint64_t *addr);
/* Page-locked host memory, at the same address on the GPU. */
TCPX_MUST_CHECK int unpack_gpu_pin(struct unpack_gpu *g, uint64_t len, void **mem);
/* 0 and NULL are allowed. */
void unpack_gpu_free(struct unpack_gpu *g, uint64_t addr);
void unpack_gpu_unpin(struct unpack_gpu *g, void *mem);

/* Enqueues one launch; pieces: where they lie. With report it has a ticket. */
TCPX_MUST_CHECK int unpack_gpu_launch(struct unpack_gpu *g, const struct tcpx_launch *l,
				      uint64_t pieces, bool report);
/* The stream itself writes a ticket, as a launch with report does. */
TCPX_MUST_CHECK int unpack_gpu_report(struct unpack_gpu *g);
/* Looks at *done until the last ticket is there; then at the stream, if not within 10 s. */
TCPX_MUST_CHECK int unpack_gpu_await(struct unpack_gpu *g);
TCPX_MUST_CHECK int unpack_gpu_finish(struct unpack_gpu *g);

#endif
