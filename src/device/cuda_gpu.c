/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU's primary context is shared with the application and its frameworks, so their memory can
 * be addressed here. It is retained once and released when the device closes.
 */
#include "device/cuda_gpu.h"

#include <errno.h>

#include "base/mutex.h"

int
tcpx_gpu_enter(struct tcpx_gpu *gpu)
{
	CUresult result = gpu->cu->cuCtxPushCurrent(gpu->context);

	if (result == CUDA_SUCCESS)
		return 0;
	return tcpx_cuda_fail(gpu->cu, result, "enter the context of GPU %d", gpu->ordinal);
}

void
tcpx_gpu_leave(struct tcpx_gpu *gpu)
{
	CUcontext ours;

	(void)gpu->cu->cuCtxPopCurrent(&ours);
}

static int
describe(struct tcpx_gpu *gpu)
{
	const struct tcpx_cuda_api *cu = gpu->cu;
	char name[64] = "";
	int sms = 0, memops = 0;
	CUresult result;

	result = cu->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
					  gpu->device);
	if (result != CUDA_SUCCESS)
		return tcpx_cuda_fail(cu, result, "multiprocessors of GPU %d", gpu->ordinal);
	/* an older driver has none of these; events replace them */
	if (cu->cuDeviceGetAttribute(&memops, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
				     gpu->device) != CUDA_SUCCESS || !cu->cuStreamWriteValue64)
		memops = 0;
	if (cu->cuDeviceGetName(name, sizeof(name), gpu->device) != CUDA_SUCCESS)
		name[0] = '\0';
	gpu->sms = (uint32_t)sms;
	gpu->memops = memops != 0;
	tcpx_info(TCPX_SUB_DEV, "GPU %d: %s, %d multiprocessors%s", gpu->ordinal, name, sms,
		  memops ? "" : ", no stream memory operations: events tell the end of copies");
	return 0;
}

static int
retain(struct tcpx_device *dev, int ordinal)
{
	struct tcpx_gpu *gpu = &dev->gpu[ordinal];
	CUresult result;
	int rc;

	gpu->cu = &dev->cu;
	gpu->ordinal = ordinal;
	gpu->impl = dev->impl;
	result = dev->cu.cuDeviceGet(&gpu->device, ordinal);
	if (result != CUDA_SUCCESS) {
		rc = tcpx_cuda_fail(&dev->cu, result, "open GPU %d", ordinal);
		goto fail;
	}
	rc = describe(gpu);
	if (rc)
		goto fail;
	result = dev->cu.cuDevicePrimaryCtxRetain(&gpu->context, gpu->device);
	if (result == CUDA_SUCCESS) {
		for (int i = 0; i < TCPX_FLOWS * TCPX_GPU_COPIERS; i++)
			tcpx_mutex_init(&gpu->copier[i / TCPX_GPU_COPIERS]
						    [i % TCPX_GPU_COPIERS].lock);
		return 0;
	}
	rc = tcpx_cuda_fail(&dev->cu, result, "retain the context of GPU %d", ordinal);
fail:
	gpu->cu = NULL;
	return rc;
}

static CUresult
load_kernels(struct tcpx_gpu *gpu)
{
	CUresult result = tcpx_launch_load(gpu->cu, &gpu->module);
	int blocks;

	for (int k = 0; k < TCPX_LAUNCH_KERNELS && result == CUDA_SUCCESS; k++) {
		result = gpu->cu->cuModuleGetFunction(&gpu->kernel[k], gpu->module,
						      tcpx_launch_kernel_name(k));
		/* A driver may load a function at its first query and wait for the whole GPU
		 * meanwhile, so the query is made before transfers. */
		if (result == CUDA_SUCCESS)
			result = gpu->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(
				&blocks, gpu->kernel[k], tcpx_launch_threads_max(k), 0);
	}
	if (result != CUDA_SUCCESS && gpu->module) {
		(void)gpu->cu->cuModuleUnload(gpu->module);
		gpu->module = NULL;
	}
	return result;
}

static int
need_kernels(struct tcpx_gpu *gpu)
{
	CUresult result;
	int rc;

	if (gpu->impl != TCPX_UNPACK_KERNEL || gpu->module)
		return 0;
	rc = tcpx_gpu_enter(gpu);
	if (rc)
		return rc;
	result = load_kernels(gpu);
	if (result != CUDA_SUCCESS) {
		tcpx_cuda_fail(gpu->cu, result, "load our kernels on GPU %d", gpu->ordinal);
		tcpx_warn(TCPX_SUB_DEV,
			  "GPU %d: using TCPX_UNPACK_IMPL=d2d instead; each piece of a scattered "
			  "list then costs a driver call of about 3 us", gpu->ordinal);
		gpu->impl = TCPX_UNPACK_D2D;
	}
	tcpx_gpu_leave(gpu);
	return 0;
}

static int
get(struct tcpx_device *dev, int ordinal, bool kernels, struct tcpx_gpu **gpu)
{
	int rc = 0;

	if (ordinal < 0 || ordinal >= dev->cu.gpus || ordinal >= TCPX_GPUS_MAX)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "GPU %d; there are 0 to %d", ordinal,
				 (dev->cu.gpus < TCPX_GPUS_MAX ? dev->cu.gpus : TCPX_GPUS_MAX) - 1);
	if (!dev->gpu[ordinal].cu)
		rc = retain(dev, ordinal);
	if (rc == 0 && kernels)
		rc = need_kernels(&dev->gpu[ordinal]);
	if (rc == 0)
		*gpu = &dev->gpu[ordinal];
	return rc;
}

int
tcpx_gpu_get(struct tcpx_device *dev, int ordinal, bool kernels, struct tcpx_gpu **gpu)
{
	int rc;

	pthread_mutex_lock(&dev->lock);
	rc = get(dev, ordinal, kernels, gpu);
	pthread_mutex_unlock(&dev->lock);
	return rc;
}

int
tcpx_gpu_home(struct tcpx_device *dev, struct tcpx_gpu **gpu)
{
	int ordinal = atomic_load(&dev->seen), rc = 0;

	pthread_mutex_lock(&dev->lock);
	for (int i = 0; i < TCPX_GPUS_MAX && !dev->home; i++) {
		if (dev->gpu[i].cu)
			dev->home = &dev->gpu[i];
	}
	if (!dev->home)
		rc = get(dev, ordinal >= 0 ? ordinal : 0, false, &dev->home);
	if (rc == 0)
		*gpu = dev->home;
	pthread_mutex_unlock(&dev->lock);
	return rc;
}

CUresult
tcpx_gpu_stream(struct tcpx_gpu *gpu, CUstream *stream)
{
	int least, greatest;
	CUresult result;

	result = gpu->cu->cuCtxGetStreamPriorityRange(&least, &greatest);
	if (result == CUDA_SUCCESS)
		result = gpu->cu->cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING,
							     greatest);
	return result;
}

CUresult
tcpx_gpu_copier(struct tcpx_device *dev, struct tcpx_gpu *gpu, enum tcpx_flow flow,
		struct tcpx_copier **copier)
{
	CUresult result = CUDA_SUCCESS;
	struct tcpx_copier *c;

	pthread_mutex_lock(&dev->lock);
	c = &gpu->copier[flow][gpu->copiers_given[flow] % TCPX_GPU_COPIERS];
	if (!c->stream)
		result = tcpx_gpu_stream(gpu, &c->stream);
	if (result == CUDA_SUCCESS) {
		gpu->copiers_given[flow]++;
		*copier = c;
	}
	pthread_mutex_unlock(&dev->lock);
	return result;
}

static void
put_copiers(struct tcpx_gpu *gpu)
{
	for (int f = 0; f < TCPX_FLOWS; f++)
		for (int i = 0; i < TCPX_GPU_COPIERS; i++) {
			if (gpu->copier[f][i].stream)
				(void)gpu->cu->cuStreamDestroy(gpu->copier[f][i].stream);
			pthread_mutex_destroy(&gpu->copier[f][i].lock);
		}
}

void
tcpx_gpu_put_all(struct tcpx_device *dev)
{
	for (int i = 0; i < TCPX_GPUS_MAX; i++) {
		struct tcpx_gpu *gpu = &dev->gpu[i];

		if (!gpu->cu)
			continue;
		if (tcpx_gpu_enter(gpu) == 0) {
			put_copiers(gpu);
			if (gpu->module)
				(void)dev->cu.cuModuleUnload(gpu->module);
			tcpx_gpu_leave(gpu);
		}
		(void)dev->cu.cuDevicePrimaryCtxRelease(gpu->device);
	}
}
