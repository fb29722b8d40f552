/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call enters the GPU's primary context and leaves it again, so no thread keeps one.
 * Kernels and comparisons run on a stream of the tool's own.
 */
#include "tool/gpu/gpu.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/gpu/pattern_kernels.h"

enum { BLOCKS = 1024, BLOCK_THREADS = 256, WORD_BYTES = 8 };

struct gpu {
	CUcontext context; /* NULL: not ready */
	CUmodule module;
	CUfunction fill, check;
	CUstream stream;
	CUdeviceptr verdict; /* wrong bytes, first of them */
};

struct gpus {
	struct tcpx_cuda_api api;
	unsigned count;
	struct gpu gpu[PLACE_GPUS];
};

/* Calls the driver; a failure is logged and becomes the value. */
#define CALL(g, call, ...)                                                               \
	({                                                                               \
		CUresult result_ = (g)->api.call;                                        \
		result_ == CUDA_SUCCESS ? 0 : tcpx_cuda_fail(&(g)->api, result_, __VA_ARGS__); \
	})

int
gpus_open(const char *library, struct gpus **out)
{
	struct gpus *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return -ENOMEM;
	rc = tcpx_cuda_api_load(library[0] ? library : TCPX_CUDA_LIBRARY, &g->api);
	if (rc) {
		free(g);
		return rc;
	}
	g->count = (unsigned)g->api.gpus < PLACE_GPUS ? (unsigned)g->api.gpus : PLACE_GPUS;
	*out = g;
	return 0;
}

static int
enter(struct gpus *g, int gpu)
{
	return CALL(g, cuCtxPushCurrent(g->gpu[gpu].context), "using GPU %d", gpu);
}

/* Leaves the context and returns @rc. */
static int
leave(struct gpus *g, int rc)
{
	CUcontext context;

	(void)g->api.cuCtxPopCurrent(&context);
	return rc;
}

static void
drop(struct gpus *g, int gpu)
{
	struct gpu *u = &g->gpu[gpu];

	if (!enter(g, gpu)) {
		if (u->verdict)
			(void)g->api.cuMemFree(u->verdict);
		if (u->stream)
			(void)g->api.cuStreamDestroy(u->stream);
		if (u->module)
			(void)g->api.cuModuleUnload(u->module);
		(void)leave(g, 0);
	}
	(void)g->api.cuDevicePrimaryCtxRelease(gpu);
	*u = (struct gpu){ 0 };
}

void
gpus_close(struct gpus *g)
{
	if (!g)
		return;
	for (unsigned i = 0; i < g->count; i++)
		if (g->gpu[i].context)
			drop(g, (int)i);
	tcpx_cuda_api_unload(&g->api);
	free(g);
}

unsigned
gpus_count(const struct gpus *g)
{
	return g->count;
}

int
gpus_driver_version(const struct gpus *g)
{
	int version = 0;

	return g->api.cuDriverGetVersion(&version) == CUDA_SUCCESS ? version : 0;
}

int
gpu_facts(struct gpus *g, int gpu, struct gpu_facts *facts)
{
	struct gpu_facts f = { .gpu = gpu };
	CUdevice device;
	size_t bytes;
	int rc = CALL(g, cuDeviceGet(&device, gpu), "GPU %d", gpu);

	if (!rc)
		rc = CALL(g, cuDeviceGetName(f.name, sizeof(f.name), device), "name of GPU %d", gpu);
	if (!rc)
		rc = CALL(g, cuDeviceGetPCIBusId(f.pci, sizeof(f.pci), device), "place of GPU %d",
			  gpu);
	if (!rc)
		rc = CALL(g, cuDeviceTotalMem(&bytes, device), "memory of GPU %d", gpu);
	if (rc)
		return rc;
	for (char *c = f.pci; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	f.memory_bytes = bytes;
	*facts = f;
	return 0;
}

json_t *
gpus_format(struct gpus *g, const struct place *place)
{
	json_t *list = json_array();
	struct gpu_facts f;

	for (unsigned i = 0; i < place->gpus; i++)
		if (!gpu_facts(g, place->gpu[i], &f))
			json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:I}", "gpu", f.gpu,
							      "name", f.name, "pci", f.pci,
							      "memory_bytes",
							      (json_int_t)f.memory_bytes));
	return list;
}

/* Gives a GPU everything beside its context. */
static int
equip(struct gpus *g, int gpu)
{
	struct gpu *u = &g->gpu[gpu];
	int rc = CALL(g, cuModuleLoadData(&u->module, pattern_ptx),
		      "loading the pattern's kernels on GPU %d", gpu);

	if (!rc)
		rc = CALL(g, cuModuleGetFunction(&u->fill, u->module, PATTERN_KERNEL_FILL),
			  "kernel %s", PATTERN_KERNEL_FILL);
	if (!rc)
		rc = CALL(g, cuModuleGetFunction(&u->check, u->module, PATTERN_KERNEL_CHECK),
			  "kernel %s", PATTERN_KERNEL_CHECK);
	if (!rc)
		rc = CALL(g, cuStreamCreate(&u->stream, CU_STREAM_NON_BLOCKING), "stream on GPU %d",
			  gpu);
	if (!rc)
		rc = CALL(g, cuMemAlloc(&u->verdict, 2 * WORD_BYTES), "memory of GPU %d", gpu);
	return rc;
}

static int
ready_one(struct gpus *g, int gpu)
{
	CUdevice device;
	int rc;

	if (gpu < 0 || (unsigned)gpu >= g->count)
		return tcpx_fail(TCPX_SUB_TOOL, -ENODEV, "GPU %d: this process sees %u, 0 to %u", gpu,
				 g->count, g->count - 1);
	if (g->gpu[gpu].context)
		return 0;
	rc = CALL(g, cuDeviceGet(&device, gpu), "GPU %d", gpu);
	if (!rc)
		rc = CALL(g, cuDevicePrimaryCtxRetain(&g->gpu[gpu].context, device),
			  "context of GPU %d", gpu);
	if (rc)
		return rc;
	rc = enter(g, gpu);
	if (!rc)
		rc = leave(g, equip(g, gpu));
	if (rc)
		drop(g, gpu);
	return rc;
}

int
gpus_ready(struct gpus *g, const struct place *place)
{
	int rc = 0;

	for (unsigned i = 0; !rc && i < place->gpus; i++)
		rc = ready_one(g, place->gpu[i]);
	return rc;
}

uint64_t
gpu_free_bytes(struct gpus *g, int gpu)
{
	size_t left = 0, total;

	if (!g->api.cuMemGetInfo || enter(g, gpu))
		return 0;
	return leave(g, CALL(g, cuMemGetInfo(&left, &total), "free memory of GPU %d", gpu)) ? 0 : left;
}

int
gpu_alloc(struct gpus *g, int gpu, uint64_t len, uint64_t *addr)
{
	CUdeviceptr p;
	int rc = enter(g, gpu);

	if (rc)
		return rc;
	rc = leave(g, CALL(g, cuMemAlloc(&p, len), "%" PRIu64 " MiB of GPU %d", len >> 20, gpu));
	if (!rc)
		*addr = p;
	return rc;
}

void
gpu_free(struct gpus *g, int gpu, uint64_t addr)
{
	if (!enter(g, gpu))
		(void)leave(g, CALL(g, cuMemFree(addr), "memory of GPU %d", gpu));
}

int
gpu_loads(struct gpus *g, int gpu, const char *ptx)
{
	CUmodule module;
	int rc = enter(g, gpu);

	if (rc)
		return rc;
	rc = CALL(g, cuModuleLoadData(&module, ptx), "loading kernels on GPU %d", gpu);
	if (!rc)
		rc = CALL(g, cuModuleUnload(module), "unloading kernels on GPU %d", gpu);
	return leave(g, rc);
}

int
gpu_pin(struct gpus *g, int gpu, uint64_t len, void **mem)
{
	const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
	void *p;
	int rc = enter(g, gpu);

	if (rc)
		return rc;
	rc = leave(g, CALL(g, cuMemHostAlloc(&p, len, flags), "%" PRIu64 " MiB of page-locked memory",
			   len >> 20));
	if (!rc)
		*mem = p;
	return rc;
}

void
gpu_unpin(struct gpus *g, int gpu, void *mem)
{
	if (!enter(g, gpu))
		(void)leave(g, CALL(g, cuMemFreeHost(mem), "page-locked memory"));
}

int
gpu_read(struct gpus *g, int gpu, uint64_t from, uint64_t len, void *to)
{
	int rc = enter(g, gpu);

	return rc ? rc : leave(g, CALL(g, cuMemcpyDtoH(to, from, len), "%" PRIu64
				       " bytes from GPU %d", len, gpu));
}

int
gpu_write(struct gpus *g, int gpu, const void *from, uint64_t len, uint64_t to)
{
	int rc = enter(g, gpu);

	return rc ? rc : leave(g, CALL(g, cuMemcpyHtoD(to, from, len), "%" PRIu64
				       " bytes to GPU %d", len, gpu));
}

/* Enough blocks for a word a thread, up to a number that fills any GPU. */
static int
launch(struct gpus *g, int gpu, CUfunction kernel, uint64_t len, void **params)
{
	uint64_t blocks = (len / WORD_BYTES + BLOCK_THREADS) / BLOCK_THREADS;
	unsigned grid = blocks < BLOCKS ? (unsigned)blocks : BLOCKS;
	int rc = enter(g, gpu);

	return rc ? rc : leave(g, CALL(g, cuLaunchKernel(kernel, grid, 1, 1, BLOCK_THREADS, 1, 1, 0,
							 g->gpu[gpu].stream, params, NULL),
				       "starting a kernel on GPU %d", gpu));
}

int
gpu_fill(struct gpus *g, int gpu, uint64_t addr, uint64_t len, struct pattern p, uint64_t offset)
{
	void *params[] = { &addr, &len, &p.key, &offset };

	return len ? launch(g, gpu, g->gpu[gpu].fill, len, params) : 0;
}

int
gpu_finish(struct gpus *g, int gpu)
{
	int rc = enter(g, gpu);

	return rc ? rc : leave(g, CALL(g, cuStreamSynchronize(g->gpu[gpu].stream),
				       "a kernel on GPU %d", gpu));
}

int
gpu_check_begin(struct gpus *g, int gpu)
{
	const uint64_t verdict[2] = { 0, UINT64_MAX };

	return gpu_write(g, gpu, verdict, sizeof(verdict), g->gpu[gpu].verdict);
}

int
gpu_check(struct gpus *g, int gpu, uint64_t addr, uint64_t len, struct pattern p,
	  uint64_t offset)
{
	uint64_t wrong = g->gpu[gpu].verdict, first = wrong + WORD_BYTES;
	void *params[] = { &addr, &len, &p.key, &offset, &wrong, &first };

	return len ? launch(g, gpu, g->gpu[gpu].check, len, params) : 0;
}

int
gpu_check_end(struct gpus *g, int gpu, uint64_t *wrong)
{
	int rc = gpu_finish(g, gpu);

	return rc ? rc : gpu_read(g, gpu, g->gpu[gpu].verdict, sizeof(*wrong), wrong);
}

/* ---- flows ----------------------------------------------------------------------- */

int
gpu_flow_open(struct gpus *g, int gpu, bool to_gpu, struct gpu_flow *f)
{
	struct gpu_flow made = { .gpus = g, .gpu = gpu, .to_gpu = to_gpu };
	int rc = gpu_alloc(g, gpu, GPU_FLOW_BYTES, &made.addr);

	if (!rc)
		rc = gpu_pin(g, gpu, GPU_FLOW_BYTES, &made.host);
	if (!rc)
		rc = enter(g, gpu);
	if (rc) {
		gpu_flow_close(&made);
		return rc;
	}
	memset(made.host, 0, GPU_FLOW_BYTES);
	rc = CALL(g, cuStreamCreate(&made.stream, CU_STREAM_NON_BLOCKING), "stream on GPU %d", gpu);
	for (int i = 0; !rc && i < 2; i++)
		rc = CALL(g, cuEventCreate(&made.event[i], CU_EVENT_DISABLE_TIMING),
			  "event on GPU %d", gpu);
	rc = leave(g, rc);
	if (rc)
		gpu_flow_close(&made);
	else
		*f = made;
	return rc;
}

void
gpu_flow_close(struct gpu_flow *f)
{
	struct gpus *g = f->gpus;

	if (g && f->stream && !enter(g, f->gpu)) {
		(void)g->api.cuStreamSynchronize(f->stream);
		for (int i = 0; i < 2; i++)
			if (f->event[i])
				(void)g->api.cuEventDestroy(f->event[i]);
		(void)g->api.cuStreamDestroy(f->stream);
		(void)leave(g, 0);
	}
	if (f->host)
		gpu_unpin(g, f->gpu, f->host);
	if (f->addr)
		gpu_free(g, f->gpu, f->addr);
	*f = (struct gpu_flow){ 0 };
}

int
gpu_flow_post(struct gpu_flow *f, uint64_t copy_bytes, unsigned turn)
{
	struct gpus *g = f->gpus;
	int rc = enter(g, f->gpu);

	if (rc)
		return rc;
	for (uint64_t at = 0; !rc && at < GPU_FLOW_BYTES; at += copy_bytes) {
		char *host = (char *)f->host + at;

		if (f->to_gpu)
			rc = CALL(g, cuMemcpyHtoDAsync(f->addr + at, host, copy_bytes, f->stream),
				  "copy to GPU %d", f->gpu);
		else
			rc = CALL(g, cuMemcpyDtoHAsync(host, f->addr + at, copy_bytes, f->stream),
				  "copy from GPU %d", f->gpu);
	}
	if (!rc)
		rc = CALL(g, cuEventRecord(f->event[turn % 2], f->stream), "event on GPU %d", f->gpu);
	return leave(g, rc);
}

int
gpu_flow_poll(struct gpu_flow *f, unsigned turn)
{
	struct gpus *g = f->gpus;
	CUresult result;
	int rc = enter(g, f->gpu);

	if (rc)
		return rc;
	result = g->api.cuEventQuery(f->event[turn % 2]);
	if (result == CUDA_ERROR_NOT_READY)
		return leave(g, -EAGAIN);
	return leave(g, result == CUDA_SUCCESS ? 0 : tcpx_cuda_fail(&g->api, result,
								      "copies of GPU %d", f->gpu));
}

int
gpu_flow_wait(struct gpu_flow *f)
{
	struct gpus *g = f->gpus;
	int rc = enter(g, f->gpu);

	return rc ? rc : leave(g, CALL(g, cuStreamSynchronize(f->stream), "copies of GPU %d",
				       f->gpu));
}
