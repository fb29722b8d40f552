/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the software driver. Addresses are never used twice, so any use
 * after free is found.
 */
#include "fake/libcuda.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct memory *
fake_memory_at(uint64_t addr)
{
	for (struct memory *m = fake.memory; m; m = m->next) {
		if (addr >= m->start && addr - m->start < m->size)
			return m;
	}
	return NULL;
}

bool
fake_memory_good(uint64_t addr, uint64_t len, bool gpu, const char *what)
{
	while (len) {
		struct memory *m = fake_memory_at(addr);
		uint64_t left;

		if (!m && !gpu)
			return true;
		if (!m || !m->live) {
			fake_mistake(0, "%s of %llu bytes at 0x%llx: %s", what,
				     (unsigned long long)len, (unsigned long long)addr,
				     m ? "freed" : "no memory of a GPU or pinned");
			return false;
		}
		left = m->size - (addr - m->start);
		if (len <= left)
			return true;
		addr += left;
		len -= left;
	}
	return true;
}

static struct memory *
record(uint64_t start, uint64_t size, int device)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	*m = (struct memory){ .start = start, .size = size, .device = device, .live = true,
			      .next = fake.memory };
	return fake.memory = m;
}

/* With a page on each side that nobody may touch; filled with rubbish. */
static uint64_t
make(size_t size, int device)
{
	size_t whole = (size + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	struct memory *m;
	char *map;

	map = mmap(NULL, whole + 2 * PAGE_BYTES, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED || mprotect(map + PAGE_BYTES, whole, PROT_READ | PROT_WRITE))
		return 0;
	memset(map + PAGE_BYTES, 0xa5, size < 65536 ? size : 65536);
	m = record((uintptr_t)map + PAGE_BYTES, size, device);
	if (!m)
		return 0;
	m->map = map;
	m->mapped = whole + 2 * PAGE_BYTES;
	return m->start;
}

static CUresult
release(uint64_t start, bool host)
{
	struct memory *m = fake_memory_at(start);

	if (!m || m->start != start || !m->live || (m->device < 0) != host)
		return fake_mistake(CUDA_ERROR_INVALID_VALUE, "free of 0x%llx",
				    (unsigned long long)start);
	m->live = false;
	if (m->map && madvise(m->map, m->mapped, MADV_DONTNEED) == 0)
		mprotect(m->map, m->mapped, PROT_NONE);
	return CUDA_SUCCESS;
}

EXPORT CUresult
cuMemAlloc_v2(CUdeviceptr *ptr, size_t size)
{
	CUcontext context;
	uint64_t start;

	ENTER(cuMemAlloc);
	context = fake_context("cuMemAlloc");
	start = context && size ? make(size, context->device) : 0;
	if (!start)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*ptr = start;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuMemFree_v2(CUdeviceptr ptr)
{
	ENTER(cuMemFree);
	LEAVE(fake_context("cuMemFree") ? release(ptr, false) : CUDA_ERROR_INVALID_CONTEXT);
}

EXPORT CUresult
cuMemHostAlloc(void **ptr, size_t size, unsigned flags)
{
	uint64_t start;

	ENTER(cuMemHostAlloc);
	if (!(flags & CU_MEMHOSTALLOC_PORTABLE) || !(flags & CU_MEMHOSTALLOC_DEVICEMAP))
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_VALUE, "pinned memory of one GPU only"));
	start = fake_context("cuMemHostAlloc") && size ? make(size, -1) : 0;
	if (!start)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*ptr = (void *)(uintptr_t)start;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuMemFreeHost(void *ptr)
{
	ENTER(cuMemFreeHost);
	LEAVE(fake_context("cuMemFreeHost") ? release((uintptr_t)ptr, true)
					    : CUDA_ERROR_INVALID_CONTEXT);
}

EXPORT CUresult
cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags)
{
	(void)flags;
	ENTER(cuMemHostRegister);
	if (!fake_context("cuMemHostRegister"))
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	if (fake_memory_at((uintptr_t)ptr))
		LEAVE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	LEAVE(record((uintptr_t)ptr, size, -1) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

EXPORT CUresult
cuMemHostUnregister(void *ptr)
{
	struct memory *m;
	CUresult result;

	ENTER(cuMemHostUnregister);
	result = release((uintptr_t)ptr, true);
	m = fake_memory_at((uintptr_t)ptr);
	if (result == CUDA_SUCCESS)
		m->size = 0; /* its pages are the caller's again */
	LEAVE(result);
}

static void
attribute_of(const struct memory *m, int attribute, void *value)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)value = !m ? 0 : m->device < 0 ? CU_MEMORYTYPE_HOST
							    : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)value = m && m->managed;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)value = m ? (m->device < 0 ? 0 : m->device) : -2;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(uint64_t *)value = m ? m->start : 0;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)value = m ? m->size : 0;
		break;
	}
}

EXPORT CUresult
cuPointerGetAttributes(unsigned count, int *attribute, void **value, CUdeviceptr ptr)
{
	struct memory *m;

	ENTER(cuPointerGetAttributes);
	m = fake_memory_at(ptr);
	for (unsigned i = 0; i < count; i++)
		attribute_of(m && m->live ? m : NULL, attribute[i], value[i]);
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr, size_t size, int type,
			      unsigned long long flags)
{
	int fd;

	(void)flags;
	ENTER(cuMemGetHandleForAddressRange);
	if (type != CU_DMA_BUF_FD || (ptr | size) % PAGE_BYTES ||
	    !fake_context("cuMemGetHandleForAddressRange"))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	fd = memfd_create("fakecuda", MFD_CLOEXEC);
	if (fd < 0)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*(int *)handle = fd;
	LEAVE(CUDA_SUCCESS);
}

EXPORT void
fakecuda_split(uint64_t ptr, size_t at, int device)
{
	struct memory *m;

	pthread_mutex_lock(&fake.lock);
	m = fake_memory_at(ptr);
	if (m && at < m->size && record(m->start + at, m->size - at, device))
		m->size = at;
	pthread_mutex_unlock(&fake.lock);
}

EXPORT void
fakecuda_managed(uint64_t ptr, bool on)
{
	struct memory *m;

	pthread_mutex_lock(&fake.lock);
	m = fake_memory_at(ptr);
	if (m)
		m->managed = on;
	pthread_mutex_unlock(&fake.lock);
}
