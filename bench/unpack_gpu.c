/* SPDX-License-Identifier: Apache-2.0 */
/* The driver calls behind a single launch. */
#include "unpack_gpu.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"

enum { PAGE = 4096, AWAIT_S = 10 };

int
unpack_gpu_ok(const struct unpack_gpu *g, CUresult result, const char *what)
{
	return result == CUDA_SUCCESS ? 0 : tcpx_cuda_fail(&g->cuda, result, "%s", what);
}

/* Whatever was opened before a failure is in *g: close() gives it back. */
static int
open_gpu(struct unpack_gpu *g, int ordinal)
{
	const struct tcpx_cuda_api *cu = &g->cuda;
	int rc = 0, sms = 0;
	void *done = NULL;

	if (ordinal < 0 || ordinal >= cu->gpus)
		return tcpx_fail(TCPX_SUB_TOOL, -ENODEV, "GPU %d; there are 0..%d", ordinal,
				 cu->gpus - 1);
	if ((rc = unpack_gpu_ok(g, cu->cuDriverGetVersion(&g->driver), "driver version")) ||
	    (rc = unpack_gpu_ok(g, cu->cuDeviceGet(&g->device, ordinal), "device")) ||
	    (rc = unpack_gpu_ok(g, cu->cuDeviceGetName(g->name, sizeof(g->name), g->device),
				"name")) ||
	    (rc = unpack_gpu_ok(g,
				cu->cuDeviceGetAttribute(
					&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, g->device),
				"multiprocessors")) ||
	    (rc = unpack_gpu_ok(g, cu->cuDevicePrimaryCtxRetain(&g->context, g->device),
				"context")))
		return rc;
	g->sms = (uint32_t)sms;
	if ((rc = unpack_gpu_ok(g, cu->cuCtxPushCurrent(g->context), "push context")) ||
	    (rc = unpack_gpu_ok(g, cu->cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING),
				"stream")) ||
	    (rc = unpack_gpu_ok(g, tcpx_launch_load(cu, &g->module),
				"load the copy kernels")))
		return rc;
	for (int i = 0; i < TCPX_LAUNCH_KERNELS; i++)
		if ((rc = unpack_gpu_ok(g,
					cu->cuModuleGetFunction(&g->kernel[i], g->module,
								tcpx_launch_kernel_name(i)),
					tcpx_launch_kernel_name(i))))
			return rc;
	if ((rc = unpack_gpu_alloc(g, PAGE, &g->arrived)) ||
	    (rc = unpack_gpu_ok(g, cu->cuMemsetD8(g->arrived, 0, PAGE), "clear")) ||
	    (rc = unpack_gpu_pin(g, PAGE, &done)))
		return rc;
	memset(done, 0, PAGE);
	g->done = done;
	return 0;
}

int
unpack_gpu_open(const char *library, int ordinal, struct unpack_gpu *g)
{
	int rc;

	memset(g, 0, sizeof(*g));
	rc = tcpx_cuda_api_load(library && *library ? library : TCPX_CUDA_LIBRARY, &g->cuda);
	if (rc)
		return rc;
	rc = open_gpu(g, ordinal);
	if (rc)
		unpack_gpu_close(g);
	return rc;
}

void
unpack_gpu_close(struct unpack_gpu *g)
{
	const struct tcpx_cuda_api *cu = &g->cuda;
	CUcontext context;

	unpack_gpu_unpin(g, (void *)g->done);
	unpack_gpu_free(g, g->arrived);
	if (g->module)
		cu->cuModuleUnload(g->module);
	if (g->stream)
		cu->cuStreamDestroy(g->stream);
	if (g->context) {
		cu->cuCtxPopCurrent(&context);
		cu->cuDevicePrimaryCtxRelease(g->device);
	}
	tcpx_cuda_api_unload(&g->cuda);
}

int
unpack_gpu_alloc(struct unpack_gpu *g, uint64_t len, uint64_t *addr)
{
	return unpack_gpu_ok(g, g->cuda.cuMemAlloc(addr, len), "GPU memory");
}

int
unpack_gpu_pin(struct unpack_gpu *g, uint64_t len, void **mem)
{
	return unpack_gpu_ok(
		g, g->cuda.cuMemHostAlloc(mem, len,
					  CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
		"page-locked memory");
}

void
unpack_gpu_free(struct unpack_gpu *g, uint64_t addr)
{
	if (addr)
		g->cuda.cuMemFree(addr);
}

void
unpack_gpu_unpin(struct unpack_gpu *g, void *mem)
{
	if (mem)
		g->cuda.cuMemFreeHost(mem);
}

int
unpack_gpu_launch(struct unpack_gpu *g, const struct tcpx_launch *l, uint64_t pieces,
		  bool report)
{
	uint64_t done = report ? (uintptr_t)g->done : 0, ticket = report ? ++g->ticket : 0;
	uint32_t count = l->pieces;
	void *params[] = { &pieces, &count, &g->arrived, &done, &ticket };

	return unpack_gpu_ok(g,
			     g->cuda.cuLaunchKernel(g->kernel[l->kernel], l->blocks, 1, 1,
						    l->threads, 1, 1, 0, g->stream, params,
						    NULL),
			     tcpx_launch_kernel_name(l->kernel));
}

int
unpack_gpu_report(struct unpack_gpu *g)
{
	if (!g->cuda.cuStreamWriteValue64)
		return tcpx_fail(TCPX_SUB_TOOL, -ENOTSUP,
				 "this driver has no cuStreamWriteValue64");
	return unpack_gpu_ok(g,
			     g->cuda.cuStreamWriteValue64(g->stream, (uintptr_t)g->done,
							  ++g->ticket, 0),
			     "write a ticket");
}

int
unpack_gpu_await(struct unpack_gpu *g)
{
	uint64_t began = tcpx_clock_now(&tcpx_clock_system);

	for (unsigned looks = 1; *g->done != g->ticket; looks++) {
		if (looks % 4096 ||
		    tcpx_clock_now(&tcpx_clock_system) - began < AWAIT_S * TCPX_SEC)
			continue;
		if (unpack_gpu_finish(g) == 0 && *g->done == g->ticket)
			return 0;
		return tcpx_fail(TCPX_SUB_TOOL, -EIO, "launch %llu is not done after %d s",
				 (unsigned long long)g->ticket, AWAIT_S);
	}
	atomic_thread_fence(memory_order_acquire); /* copied data is read after it */
	return 0;
}

int
unpack_gpu_finish(struct unpack_gpu *g)
{
	return unpack_gpu_ok(g, g->cuda.cuStreamSynchronize(g->stream), "wait for the copies");
}
