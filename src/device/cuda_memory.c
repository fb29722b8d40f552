/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a GPU that providers keep slots in, and how one GPU reaches another's.
 */
#include "device/cuda_memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>

#include "device/cuda.h"
#include "device/cuda_gpu.h"

#define PAGE_BYTES 4096u
#define GRANULE    ((size_t)2 << 20) /* allocations of this size have pages of their own     */

int
tcpx_cuda_list(struct tcpx_device *dev, char pci[][TCPX_PCI_TEXT], uint32_t cap, uint32_t *count)
{
	const struct tcpx_cuda_api *cu = &dev->cu;
	CUdevice device;
	CUresult result;
	int n = 0, i;

	result = cu->cuDeviceGetCount(&n);
	if (n > (int)cap)
		n = (int)cap;
	for (i = 0; i < n && result == CUDA_SUCCESS; i++) {
		result = cu->cuDeviceGet(&device, i);
		if (result == CUDA_SUCCESS)
			result = cu->cuDeviceGetPCIBusId(pci[i], TCPX_PCI_TEXT, device);
		for (char *c = pci[i]; result == CUDA_SUCCESS && *c; c++)
			*c = (char)tolower((unsigned char)*c); /* the kernel writes small letters */
	}
	if (result != CUDA_SUCCESS)
		return tcpx_cuda_fail(cu, result, "ask for the GPUs of this process");
	*count = (uint32_t)n;
	return 0;
}

int
tcpx_cuda_alloc(struct tcpx_device *dev, int place, size_t size, void **mem)
{
	size_t whole = (size + GRANULE - 1) / GRANULE * GRANULE;
	struct tcpx_gpu *gpu;
	CUdeviceptr at = 0;
	CUresult result;
	int rc;

	rc = tcpx_gpu_get(dev, place, false, &gpu);
	if (rc == 0)
		rc = tcpx_gpu_enter(gpu);
	if (rc)
		return rc;
	result = dev->cu.cuMemAlloc(&at, whole);
	if (result == CUDA_SUCCESS)
		result = dev->cu.cuMemsetD8(at, 0, whole);
	if (result != CUDA_SUCCESS) {
		rc = tcpx_cuda_fail(&dev->cu, result, "%zu bytes of GPU %d", whole, place);
	} else if (at % PAGE_BYTES) {
		rc = tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "memory of GPU %d at 0x%llx, which is no page",
			       place, (unsigned long long)at);
	}
	if (rc && at)
		(void)dev->cu.cuMemFree(at);
	tcpx_gpu_leave(gpu);
	if (rc == 0)
		*mem = (void *)(uintptr_t)at;
	return rc;
}

void
tcpx_cuda_free(struct tcpx_device *dev, int place, void *mem)
{
	struct tcpx_gpu *gpu;
	CUresult result;

	if (!mem || tcpx_gpu_get(dev, place, false, &gpu) || tcpx_gpu_enter(gpu))
		return;
	result = dev->cu.cuMemFree((uintptr_t)mem);
	tcpx_gpu_leave(gpu);
	if (result != CUDA_SUCCESS)
		tcpx_cuda_fail(&dev->cu, result, "give back memory of GPU %d", place);
}

int
tcpx_cuda_lock(struct tcpx_device *dev, void *addr, size_t len)
{
	struct tcpx_gpu *gpu;
	CUresult result;
	int rc;

	rc = tcpx_gpu_home(dev, &gpu);
	if (rc == 0)
		rc = tcpx_gpu_enter(gpu);
	if (rc)
		return rc;
	result = dev->cu.cuMemHostRegister(addr, len, CU_MEMHOSTREGISTER_PORTABLE |
						      CU_MEMHOSTREGISTER_DEVICEMAP);
	tcpx_gpu_leave(gpu);
	if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
		return 1;
	if (result == CUDA_SUCCESS)
		return 0;
	return tcpx_cuda_fail(&dev->cu, result, "let GPUs reach %zu bytes of host memory", len);
}

void
tcpx_cuda_unlock(struct tcpx_device *dev, void *addr)
{
	struct tcpx_gpu *gpu;
	CUresult result;

	if (tcpx_gpu_home(dev, &gpu) || tcpx_gpu_enter(gpu))
		return;
	result = dev->cu.cuMemHostUnregister(addr);
	tcpx_gpu_leave(gpu);
	if (result != CUDA_SUCCESS)
		tcpx_cuda_fail(&dev->cu, result, "take host memory back from the GPUs");
}

int
tcpx_cuda_enter(struct tcpx_device *dev, int place)
{
	struct tcpx_gpu *gpu;
	int rc = tcpx_gpu_get(dev, place, false, &gpu);

	return rc ? rc : tcpx_gpu_enter(gpu);
}

void
tcpx_cuda_leave(struct tcpx_device *dev, int place)
{
	struct tcpx_gpu *gpu;

	if (tcpx_gpu_get(dev, place, false, &gpu) == 0)
		tcpx_gpu_leave(gpu);
}

int
tcpx_cuda_read(struct tcpx_device *dev, int place, void *dst, uint64_t src, size_t len)
{
	struct tcpx_gpu *gpu;
	CUresult result;
	int rc;

	rc = tcpx_gpu_get(dev, place, false, &gpu);
	if (rc == 0)
		rc = tcpx_gpu_enter(gpu);
	if (rc)
		return rc;
	result = dev->cu.cuMemcpyDtoH(dst, src, len);
	tcpx_gpu_leave(gpu);
	if (result == CUDA_SUCCESS)
		return 0;
	return tcpx_cuda_fail(&dev->cu, result, "read %zu bytes of GPU %d", len, place);
}

int
tcpx_cuda_peer(struct tcpx_device *dev, int place, int peer)
{
	struct tcpx_gpu *gpu, *other;
	CUresult result;
	int can = 0, rc;

	rc = tcpx_gpu_get(dev, place, false, &gpu);
	if (rc == 0)
		rc = tcpx_gpu_get(dev, peer, false, &other);
	if (rc || place == peer)
		return rc;
	result = dev->cu.cuDeviceCanAccessPeer(&can, gpu->device, other->device);
	if (result != CUDA_SUCCESS || !can)
		return tcpx_fail(TCPX_SUB_DEV, -ENOTSUP, "let GPU %d reach GPU %d", place, peer);
	rc = tcpx_gpu_enter(gpu);
	if (rc)
		return rc;
	result = dev->cu.cuCtxEnablePeerAccess(other->context, 0);
	tcpx_gpu_leave(gpu);
	if (result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
		return 0;
	return tcpx_cuda_fail(&dev->cu, result, "let GPU %d reach GPU %d", place, peer);
}
