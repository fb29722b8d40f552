/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool's own use of GPUs: memory to measure with, the pattern written and compared
 * there, plain copies. The library under test has its own calls and streams; both meet in
 * the GPU's primary context only. One thread at a time.
 */
#ifndef TOOL_PERF_GPU_H
#define TOOL_PERF_GPU_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/cuda_api.h"
#include "tool/gpu/pattern.h"
#include "tool/gpu/place.h"

struct gpus;

struct gpu_facts {
	int gpu;
	char name[64];
	char pci[16];          /* "0000:06:00.0", in small letters */
	uint64_t memory_bytes;
};

/* Loads the driver: @library, or the usual one if it is "". -ENODEV: none, or no GPU. */
TCPX_MUST_CHECK int gpus_open(const char *library, struct gpus **out);
/* All memory has been given back. NULL is allowed. */
void gpus_close(struct gpus *g);
unsigned gpus_count(const struct gpus *g);
/* 13000: the interface of CUDA 13.0. */
int gpus_driver_version(const struct gpus *g);
TCPX_MUST_CHECK int gpu_facts(struct gpus *g, int gpu, struct gpu_facts *facts);
/* Checks that all GPUs of a place exist; -ENODEV (logged, with the existing ones). Sets
 * them up: contexts, kernels. */
TCPX_MUST_CHECK int gpus_ready(struct gpus *g, const struct place *place);

/* Facts about the GPUs of a place as a JSON list. */
json_t *gpus_format(struct gpus *g, const struct place *place);

/* The calls below log what fails. Those that name a GPU need gpus_ready() for it. */

/* Memory that nobody has taken; 0: the driver does not say. */
uint64_t gpu_free_bytes(struct gpus *g, int gpu);
TCPX_MUST_CHECK int gpu_alloc(struct gpus *g, int gpu, uint64_t len, uint64_t *addr);
void gpu_free(struct gpus *g, int gpu, uint64_t addr);
/* Can this PTX be loaded? */
TCPX_MUST_CHECK int gpu_loads(struct gpus *g, int gpu, const char *ptx);
/* Page-locked host memory, good for all GPUs. */
TCPX_MUST_CHECK int gpu_pin(struct gpus *g, int gpu, uint64_t len, void **mem);
void gpu_unpin(struct gpus *g, int gpu, void *mem);

TCPX_MUST_CHECK int gpu_read(struct gpus *g, int gpu, uint64_t from, uint64_t len, void *to);
TCPX_MUST_CHECK int gpu_write(struct gpus *g, int gpu, const void *from, uint64_t len,
			      uint64_t to);

/* Enqueues pattern_fill() by the GPU itself; done after gpu_finish(). */
TCPX_MUST_CHECK int gpu_fill(struct gpus *g, int gpu, uint64_t addr, uint64_t len,
			     struct pattern p, uint64_t offset);
TCPX_MUST_CHECK int gpu_finish(struct gpus *g, int gpu);
/* Comparisons by the GPU between begin and end add up: *wrong bytes in all. */
TCPX_MUST_CHECK int gpu_check_begin(struct gpus *g, int gpu);
TCPX_MUST_CHECK int gpu_check(struct gpus *g, int gpu, uint64_t addr, uint64_t len,
			      struct pattern p, uint64_t offset);
TCPX_MUST_CHECK int gpu_check_end(struct gpus *g, int gpu, uint64_t *wrong);

/* Copies in flight on a GPU of its own stream, for measuring (perf_path.c). */
struct gpu_flow {
	struct gpus *gpus;
	int gpu;
	bool to_gpu;
	CUstream stream;
	CUevent event[2];
	void *host;
	uint64_t addr;
};
enum { GPU_FLOW_BYTES = 64 << 20 };

TCPX_MUST_CHECK int gpu_flow_open(struct gpus *g, int gpu, bool to_gpu, struct gpu_flow *f);
void gpu_flow_close(struct gpu_flow *f);
/* Enqueues GPU_FLOW_BYTES in copies of @copy_bytes, named by @turn. */
TCPX_MUST_CHECK int gpu_flow_post(struct gpu_flow *f, uint64_t copy_bytes, unsigned turn);
/* 0: that turn is done; -EAGAIN. */
TCPX_MUST_CHECK int gpu_flow_poll(struct gpu_flow *f, unsigned turn);
/* All turns are done. */
TCPX_MUST_CHECK int gpu_flow_wait(struct gpu_flow *f);

#endif
