/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs through the driver that the process has loaded. Driver calls that depend on a context
 * are made between enter and leave, so the caller's current context does not change.
 */
#include "device/cuda.h"

#include <errno.h>
#include <stdlib.h>

#include "device/cuda_gpu.h"
#include "device/cuda_memory.h"
#include "device/cuda_queue.h"

static int
cuda_open(const struct tcpx_device_params *params, struct tcpx_device **dev)
{
	struct tcpx_device *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "open the GPU driver");
	rc = tcpx_cuda_api_load(params->library, &d->cu);
	if (rc) {
		free(d);
		return rc;
	}
	d->impl = params->impl;
	d->clock = params->clock;
	atomic_init(&d->seen, TCPX_ON_HOST);
	pthread_mutex_init(&d->lock, NULL);
	*dev = d;
	return 0;
}

static void
cuda_close(struct tcpx_device *dev)
{
	tcpx_gpu_put_all(dev);
	tcpx_cuda_api_unload(&dev->cu);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

/* The memory around an address, from the driver. */
struct found {
	int place;
	uint64_t end; /* of the range with these properties; 0: unknown */
};

static int
find(struct tcpx_device *dev, uint64_t addr, struct found *found)
{
	int what[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
	};
	unsigned type = 0, managed = 0; /* the driver may write 1 or 4 bytes of managed */
	CUdeviceptr start = 0;
	size_t size = 0;
	int ordinal = -1;
	void *value[] = { &type, &managed, &ordinal, &start, &size };
	CUresult result;

	result = dev->cu.cuPointerGetAttributes(sizeof(what) / sizeof(what[0]), what, value, addr);
	if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE)
		return tcpx_cuda_fail(&dev->cu, result, "ask where 0x%llx lies",
				      (unsigned long long)addr);
	*found = (struct found){ TCPX_ON_HOST, 0 };
	if (result == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE && !managed)
		*found = (struct found){ ordinal, start + size };
	return 0;
}

/* A range may consist of several allocations that are mapped side by side. */
static int
cuda_where(struct tcpx_device *dev, uint64_t addr, uint64_t len, int *place)
{
	struct found first, next;
	uint64_t at = addr;
	int rc;

	if (addr + len < addr)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "0x%llx + %llu bytes is no memory",
				 (unsigned long long)addr, (unsigned long long)len);
	rc = find(dev, addr, &first);
	for (next = first; rc == 0 && next.end > at && next.end < addr + len &&
	     next.place == first.place;) {
		at = next.end;
		rc = find(dev, at, &next);
	}
	if (rc == 0 && next.place == first.place && next.end < addr + len && len)
		rc = find(dev, addr + len - 1, &next); /* host memory: its end is unknown */
	if (rc)
		return rc;
	if (next.place != first.place)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL,
				 "0x%llx + %llu bytes begins in place %d and goes on in %d "
				 "(-1: host); it must lie in one",
				 (unsigned long long)addr, (unsigned long long)len, first.place,
				 next.place);
	if (first.place >= TCPX_GPUS_MAX)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "0x%llx is of GPU %d; 0 to %d are used",
				 (unsigned long long)addr, first.place, TCPX_GPUS_MAX - 1);
	if (first.place >= 0)
		atomic_store(&dev->seen, first.place);
	*place = first.place;
	return 0;
}

static int
cuda_pinned(struct tcpx_device *dev, size_t size, void **mem)
{
	struct tcpx_gpu *gpu;
	CUresult result;
	void *m = NULL;
	int rc;

	rc = tcpx_gpu_home(dev, &gpu);
	if (rc == 0)
		rc = tcpx_gpu_enter(gpu);
	if (rc)
		return rc;
	result = dev->cu.cuMemHostAlloc(&m, size,
					CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	tcpx_gpu_leave(gpu);
	if (result != CUDA_SUCCESS)
		return tcpx_cuda_fail(&dev->cu, result, "%zu bytes of page-locked memory", size);
	*mem = m;
	return 0;
}

static void
cuda_unpin(struct tcpx_device *dev, void *mem)
{
	struct tcpx_gpu *gpu;
	CUresult result;

	if (!mem || tcpx_gpu_home(dev, &gpu) || tcpx_gpu_enter(gpu))
		return;
	result = dev->cu.cuMemFreeHost(mem);
	tcpx_gpu_leave(gpu);
	if (result != CUDA_SUCCESS)
		tcpx_cuda_fail(&dev->cu, result, "give back page-locked memory");
}

static int
cuda_event(struct tcpx_device *dev, void *event)
{
	CUresult result = dev->cu.cuEventQuery(event);

	if (result == CUDA_SUCCESS)
		return 0;
	if (result == CUDA_ERROR_NOT_READY)
		return -EAGAIN;
	return tcpx_cuda_fail(&dev->cu, result, "ask for the caller's event");
}

static int
cuda_stream_wait(struct tcpx_device *dev, void *stream, uint64_t *word, uint64_t value)
{
	const struct tcpx_cuda_api *cu = &dev->cu;
	CUcontext context = NULL, ours;
	CUresult result;

	if (!cu->cuStreamWaitValue64)
		return tcpx_fail(TCPX_SUB_DEV, -ENOTSUP,
				 "let a stream wait: the driver is older than stream memory "
				 "operations");
	/* a default stream belongs to the caller's current context; others have their own */
	result = cu->cuStreamGetCtx(stream, &context);
	if (result == CUDA_SUCCESS)
		result = cu->cuCtxPushCurrent(context);
	if (result != CUDA_SUCCESS)
		return tcpx_cuda_fail(cu, result, "enter the context of the caller's stream");
	result = cu->cuStreamWaitValue64(stream, (uintptr_t)word, value,
					 CU_STREAM_WAIT_VALUE_GEQ);
	(void)cu->cuCtxPopCurrent(&ours);
	if (result != CUDA_SUCCESS)
		return tcpx_cuda_fail(cu, result, "let the caller's stream wait");
	return 0;
}

int
tcpx_cuda_dmabuf(struct tcpx_device *dev, uint64_t addr, uint64_t len, int *fd)
{
	const struct tcpx_cuda_api *cu = &dev->cu;
	int place, supported = 0, handle = -1, rc;
	struct tcpx_gpu *gpu;
	CUresult result;

	rc = cuda_where(dev, addr, len, &place);
	if (rc)
		return rc;
	if (place == TCPX_ON_HOST)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "a dma-buf of host memory");
	rc = tcpx_gpu_get(dev, place, false, &gpu);
	if (rc)
		return rc;
	if (!cu->cuMemGetHandleForAddressRange ||
	    cu->cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED,
				     gpu->device) != CUDA_SUCCESS || !supported)
		return tcpx_fail(TCPX_SUB_DEV, -ENOTSUP, "a dma-buf of GPU %d", place);
	rc = tcpx_gpu_enter(gpu);
	if (rc)
		return rc;
	result = cu->cuMemGetHandleForAddressRange(&handle, addr, len, CU_DMA_BUF_FD, 0);
	tcpx_gpu_leave(gpu);
	if (result != CUDA_SUCCESS)
		return tcpx_cuda_fail(cu, result, "a dma-buf of %llu bytes of GPU %d",
				      (unsigned long long)len, place);
	*fd = handle;
	return 0;
}

const struct tcpx_device_ops tcpx_device_cuda = {
	.name = "cuda",
	.open = cuda_open,
	.close = cuda_close,
	.where = cuda_where,
	.pinned = cuda_pinned,
	.unpin = cuda_unpin,
	.event = cuda_event,
	.stream_wait = cuda_stream_wait,
	.list = tcpx_cuda_list,
	.alloc = tcpx_cuda_alloc,
	.free = tcpx_cuda_free,
	.lock = tcpx_cuda_lock,
	.unlock = tcpx_cuda_unlock,
	.reach = tcpx_cuda_peer,
	.enter = tcpx_cuda_enter,
	.leave = tcpx_cuda_leave,
	.read = tcpx_cuda_read,
	.queue_open = tcpx_cuda_queue_open,
	.queue_close = tcpx_cuda_queue_close,
	.copy = tcpx_cuda_queue_copy,
	.sum = tcpx_cuda_queue_sum,
	.poll = tcpx_cuda_queue_poll,
	.finish = tcpx_cuda_queue_finish,
};
