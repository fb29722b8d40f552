/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and kernels of the software driver. A kernel is recognised by its name; its list
 * is read when it runs, as on a GPU.
 */
#include "fake/libcuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/launch.h"
#include "tool/gpu/pattern.h"
#include "tool/gpu/pattern_kernels.h"

/* ---- copies ------------------------------------------------------------------------------ */

static CUresult
copy(uint64_t dst, uint64_t src, size_t len, CUstream stream)
{
	return fake_queue(stream, &(struct op){ .kind = OP_COPY, .dst = dst, .src = src,
						.len = len });
}

static CUresult
copy_now(uint64_t dst, uint64_t src, size_t len)
{
	CUresult result = copy(dst, src, len, NULL);

	return result == CUDA_SUCCESS ? fake_queue_wait(NULL) : result;
}

EXPORT CUresult
cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t len)
{
	ENTER(cuMemcpyHtoD);
	LEAVE(copy_now(dst, (uintptr_t)src, len));
}

EXPORT CUresult
cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t len)
{
	ENTER(cuMemcpyDtoH);
	LEAVE(copy_now((uintptr_t)dst, src, len));
}

EXPORT CUresult
cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t len, CUstream stream)
{
	ENTER(cuMemcpyHtoDAsync);
	LEAVE(copy(dst, (uintptr_t)src, len, stream));
}

EXPORT CUresult
cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t len, CUstream stream)
{
	ENTER(cuMemcpyDtoHAsync);
	LEAVE(copy((uintptr_t)dst, src, len, stream));
}

EXPORT CUresult
cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t len, CUstream stream)
{
	ENTER(cuMemcpyDtoDAsync);
	LEAVE(copy(dst, src, len, stream));
}

EXPORT CUresult
cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t len, CUstream stream)
{
	ENTER(cuMemcpyAsync);
	LEAVE(copy(dst, src, len, stream));
}

EXPORT CUresult
cuMemsetD8Async(CUdeviceptr dst, unsigned char byte, size_t len, CUstream stream)
{
	ENTER(cuMemsetD8Async);
	LEAVE(fake_queue(stream, &(struct op){ .kind = OP_SET, .dst = dst, .len = len,
					       .byte = byte }));
}

EXPORT CUresult
cuMemsetD8_v2(CUdeviceptr dst, unsigned char byte, size_t len)
{
	CUresult result;

	ENTER(cuMemsetD8);
	result = fake_queue(NULL, &(struct op){ .kind = OP_SET, .dst = dst, .len = len,
						.byte = byte });
	LEAVE(result == CUDA_SUCCESS ? fake_queue_wait(NULL) : result);
}

/* ---- modules ------------------------------------------------------------------------------ */

EXPORT CUresult
cuModuleLoadData(CUmodule *module, const void *image)
{
	CUmodule m;

	ENTER(cuModuleLoadData);
	if (!fake_context("cuModuleLoadData") || !strstr(image, ".version"))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	m = calloc(1, sizeof(*m));
	if (!m)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	m->image = image;
	m->live = true;
	m->next = fake.modules;
	fake.modules = m;
	*module = m;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *option,
		   void **value)
{
	(void)count;
	(void)option;
	(void)value;
	ENTER(cuModuleLoadDataEx);
	fake_leave(CUDA_SUCCESS);
	return cuModuleLoadData(module, image);
}

EXPORT CUresult
cuModuleUnload(CUmodule module)
{
	ENTER(cuModuleUnload);
	if (!module || !module->live || !fake_context("cuModuleUnload"))
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_HANDLE, "cuModuleUnload of no module"));
	module->live = false;
	LEAVE(CUDA_SUCCESS);
}

static bool
identify(struct CUfunc_st *f)
{
	for (int k = 0; k < TCPX_LAUNCH_KERNELS; k++) {
		if (!strcmp(f->name, tcpx_launch_kernel_name(k))) {
			f->kernel = k == TCPX_LAUNCH_SUM ? KERNEL_SUM : KERNEL_UNPACK;
			f->threads_max = tcpx_launch_threads_max(k);
			return true;
		}
	}
	f->threads_max = 1024;
	f->kernel = strcmp(f->name, PATTERN_KERNEL_FILL) ? KERNEL_CHECK : KERNEL_FILL;
	return f->kernel == KERNEL_FILL || !strcmp(f->name, PATTERN_KERNEL_CHECK);
}

EXPORT CUresult
cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	struct CUfunc_st f = { 0 };

	ENTER(cuModuleGetFunction);
	snprintf(f.name, sizeof(f.name), "%s", name);
	if (!module->live || !strstr(module->image, name) || !identify(&f) ||
	    module->functions == FUNCTIONS_MAX)
		LEAVE(CUDA_ERROR_NOT_FOUND);
	module->function[module->functions] = f;
	*function = &module->function[module->functions++];
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
					    int block_threads, size_t shared_bytes)
{
	(void)shared_bytes;
	ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
	*blocks = (unsigned)block_threads <= function->threads_max ? 2048 / block_threads : 0;
	LEAVE(CUDA_SUCCESS);
}

/* ---- kernels ------------------------------------------------------------------------------ */

/* Parameters in 64 bits each. Of those that copy or sum: piece, pieces, arrived, done, ticket. */
static void
take_parameters(CUfunction f, void **params, uint64_t arg[6])
{
	static const unsigned counts[] = { [KERNEL_UNPACK] = 5, [KERNEL_SUM] = 5,
					   [KERNEL_FILL] = 4, [KERNEL_CHECK] = 6 };

	for (unsigned i = 0; i < counts[f->kernel]; i++) {
		if (f->kernel <= KERNEL_SUM && i == 1)
			arg[i] = *(uint32_t *)params[i];
		else
			memcpy(&arg[i], params[i], sizeof(arg[i]));
	}
}

EXPORT CUresult
cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
	       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
	       CUstream stream, void **params, void **extra)
{
	struct op op = { .kind = OP_KERNEL, .function = function };

	(void)shared_bytes;
	ENTER(cuLaunchKernel);
	if (!grid_x || grid_y != 1 || grid_z != 1 || !block_x || block_y != 1 || block_z != 1 ||
	    block_x > function->threads_max || block_x % 32 || extra)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_VALUE, "launch of %u x %u threads", grid_x,
				   block_x));
	take_parameters(function, params, op.arg);
	LEAVE(fake_queue(stream, &op));
}

static bool
piece_good(const struct tcpx_piece *p, enum kernel kernel)
{
	uint64_t src = p->src & ((1ull << 48) - 1), len = (p->src >> 48) + 1;

	return fake_memory_good(src, len, true, "kernel reads") &&
	       (kernel == KERNEL_SUM || fake_memory_good(p->dst, len, true, "kernel writes"));
}

static void
run_unpack(enum kernel kernel, const uint64_t arg[6])
{
	struct tcpx_piece *piece = (struct tcpx_piece *)(uintptr_t)arg[0];
	uint32_t pieces = (uint32_t)arg[1];

	if (!fake_memory_good(arg[0], pieces * sizeof(*piece), true, "kernel reads its list") ||
	    !fake_memory_good(arg[2], sizeof(uint32_t), true, "kernel counts its blocks"))
		return;
	if (*(uint32_t *)(uintptr_t)arg[2] != 0)
		fake_mistake(0, "the count of arrived blocks is not 0");
	for (uint32_t i = 0; i < pieces; i++) {
		if (!piece_good(&piece[i], kernel))
			return;
	}
	if (kernel == KERNEL_SUM)
		tcpx_launch_sum_host(piece, pieces);
	else
		tcpx_launch_run_host(piece, pieces);
	if (arg[3] && !fake.mute && fake_memory_good(arg[3], 8, true, "kernel tells its end"))
		__atomic_store_n((uint64_t *)(uintptr_t)arg[3], arg[4], __ATOMIC_RELEASE);
}

static void
run_check(const uint64_t arg[6])
{
	uint64_t *wrong = (uint64_t *)(uintptr_t)arg[4];
	uint64_t *first = (uint64_t *)(uintptr_t)arg[5];
	uint64_t n, at = 0;

	n = pattern_check((struct pattern){ arg[2] }, arg[3], (void *)(uintptr_t)arg[0], arg[1],
			  &at);
	*wrong += n;
	if (n && at < *first)
		*first = at;
}

void
fake_kernel_run(const struct op *op)
{
	if (op->function->kernel <= KERNEL_SUM) {
		run_unpack(op->function->kernel, op->arg);
	} else if (fake_memory_good(op->arg[0], op->arg[1], true, "pattern")) {
		if (op->function->kernel == KERNEL_FILL)
			pattern_fill((struct pattern){ op->arg[2] }, op->arg[3],
				     (void *)(uintptr_t)op->arg[0], op->arg[1]);
		else
			run_check(op->arg);
	}
}
