/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that the emulator needs; without a driver, host memory. */
#include "emu/gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/bounds.h"
#include "emu/say.h"

#define LIBRARY		 "libcuda.so.1"
#define PORTABLE_MAPPED	 3u /* CU_MEMHOSTALLOC_PORTABLE | _DEVICEMAP        */
#define NON_BLOCKING	 1u /* CU_STREAM_NON_BLOCKING                       */
#define DISABLE_TIMING	 2u /* CU_EVENT_DISABLE_TIMING                      */
#define ATTRIBUTE_MEMORY 2  /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE             */
#define MEMORY_DEVICE	 2u
#define STREAMS		 4  /* of a GPU: with a client's one and NCCL's two fewer than 8 */

/* X(name, symbol, required, parameters) */
#define FUNCTIONS(X)                                                                          \
	X(init, cuInit, true, (unsigned))                                                     \
	X(count, cuDeviceGetCount, true, (int *))                                             \
	X(retain, cuDevicePrimaryCtxRetain, true, (void **, int))                             \
	X(push, cuCtxPushCurrent_v2, true, (void *))                                          \
	X(pop, cuCtxPopCurrent_v2, true, (void **))                                           \
	X(current, cuCtxGetCurrent, true, (void **))                                          \
	X(device, cuCtxGetDevice, false, (int *))                                             \
	X(alloc, cuMemAlloc_v2, true, (uint64_t *, size_t))                                   \
	X(free, cuMemFree_v2, true, (uint64_t))                                               \
	X(host_alloc, cuMemHostAlloc, true, (void **, size_t, unsigned))                      \
	X(host_free, cuMemFreeHost, true, (void *))                                           \
	X(copy, cuMemcpyAsync, true, (uint64_t, uint64_t, size_t, void *))                    \
	X(fill, cuMemsetD8Async, true, (uint64_t, unsigned char, size_t, void *))             \
	X(attributes, cuPointerGetAttributes, true, (unsigned, int *, void **, uint64_t))     \
	X(priorities, cuCtxGetStreamPriorityRange, true, (int *, int *))                      \
	X(stream, cuStreamCreateWithPriority, true, (void **, unsigned, int))                 \
	X(event, cuEventCreate, true, (void **, unsigned))                                    \
	X(event_free, cuEventDestroy_v2, true, (void *))                                      \
	X(record, cuEventRecord, true, (void *, void *))                                      \
	X(wait, cuEventSynchronize, true, (void *))

struct driver {
	bool present;
	int gpus;
	void *context[EMU_GPUS_MAX];
	void *streams[EMU_GPUS_MAX][STREAMS];
	unsigned copiers[EMU_GPUS_MAX]; /* ever made */
#define X(name, symbol, required, params) int (*name) params;
	FUNCTIONS(X)
#undef X
};

static const struct {
	const char *symbol;
	size_t offset;
	bool required;
} wanted[] = {
#define X(name, symbol, required, params) { #symbol, offsetof(struct driver, name), required },
	FUNCTIONS(X)
#undef X
};

static struct driver driver;
static const struct emu_config *config;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A driver that was asked for by name and is none is said; "none" asks for none. */
static bool
library_load(void)
{
	const char *name = getenv("TCPX_CUDA_LIBRARY");
	bool named = name && *name;
	int flags = RTLD_NOW | RTLD_LOCAL;
	void *library;

	if (named && !strcmp(name, "none"))
		return false;
	/* a process with GPU memory has usually loaded the driver */
	if (!named && config->memory == EMU_MEMORY_AUTO)
		flags |= RTLD_NOLOAD;
	library = dlopen(named ? name : LIBRARY, flags);
	if (!library) {
		if (named)
			emu_warn("[driver] TCPX_CUDA_LIBRARY: %s", dlerror());
		return false;
	}
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *address = dlsym(library, wanted[i].symbol);

		if (!address && wanted[i].required) {
			emu_warn("[driver] %s has no %s", named ? name : LIBRARY,
				 wanted[i].symbol);
			return false;
		}
		memcpy((char *)&driver + wanted[i].offset, &address, sizeof(address));
	}
	if (driver.init(0) == 0 && driver.count(&driver.gpus) == 0 && driver.gpus > 0)
		return true;
	if (named)
		emu_warn("[driver] TCPX_CUDA_LIBRARY=%s has no GPU", name);
	return false;
}

enum nccl_result
emu_gpu_start(const struct emu_config *c)
{
	enum nccl_result result = NCCL_OK;

	pthread_mutex_lock(&lock);
	if (!config) {
		config = c;
		driver.present = c->memory != EMU_MEMORY_HOST && library_load();
		emu_info("memory of %s", driver.present ? "GPUs" : "the host stands for GPUs");
	}
	if (!driver.present && (c->memory == EMU_MEMORY_GPU || c->memory == EMU_MEMORY_PINNED)) {
		emu_warn("[driver] TCPX_EMU_MEMORY asks for a GPU's driver, and there is none");
		result = NCCL_INVALID_ARGUMENT;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* Retained for ever, like the real plugin's. */
static void *
context_of(int gpu)
{
	void *context;

	pthread_mutex_lock(&lock);
	if (!driver.context[gpu] && driver.retain(&driver.context[gpu], gpu))
		driver.context[gpu] = NULL;
	context = driver.context[gpu];
	pthread_mutex_unlock(&lock);
	return context;
}

static bool
enter(int gpu)
{
	void *context = gpu < driver.gpus ? context_of(gpu) : NULL;

	if (context && driver.push(context) == 0)
		return true;
	emu_warn("[driver] no context of GPU %d of %d", gpu, driver.gpus);
	return false;
}

static bool
leave(int result)
{
	void *context;

	driver.pop(&context);
	if (result)
		emu_warn("[driver] the driver failed: CUDA error %d", result);
	return result == 0;
}

int
emu_gpu_current(void)
{
	void *context = NULL;
	int gpu;

	if (!driver.present || driver.current(&context) || !context)
		return config->gpu;
	if (driver.device)
		return driver.device(&gpu) ? config->gpu : gpu;
	for (gpu = 0; gpu < driver.gpus; gpu++) {
		if (context_of(gpu) == context)
			return gpu;
	}
	return config->gpu;
}

static bool
device_at(uint64_t at)
{
	unsigned kind = 0;
	int attribute = ATTRIBUTE_MEMORY;
	void *value = &kind;

	return driver.attributes(1, &attribute, &value, at) == 0 && kind == MEMORY_DEVICE;
}

bool
emu_gpu_owns(const void *ptr, size_t len)
{
	uint64_t at = (uintptr_t)ptr;

	return !driver.present || (device_at(at) && device_at(at + len - 1));
}

void *
emu_gpu_alloc(int gpu, enum emu_kind kind, size_t size)
{
	uint64_t device = 0;
	void *ptr = NULL;

	if (!driver.present) {
		ptr = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		return ptr == MAP_FAILED ? NULL : ptr;
	}
	if (!enter(gpu))
		return NULL;
	if (kind == EMU_PINNED)
		return leave(driver.host_alloc(&ptr, size, PORTABLE_MAPPED)) ? ptr : NULL;
	return leave(driver.alloc(&device, size)) ? (void *)(uintptr_t)device : NULL;
}

void
emu_gpu_free(int gpu, enum emu_kind kind, void *ptr, size_t size)
{
	if (!ptr)
		return;
	if (!driver.present)
		munmap(ptr, size);
	else if (enter(gpu))
		leave(kind == EMU_PINNED ? driver.host_free(ptr) : driver.free((uintptr_t)ptr));
}

enum emu_kind
emu_gpu_pool_kind(void)
{
	return config->memory == EMU_MEMORY_PINNED ? EMU_PINNED : EMU_DEVICE;
}

bool
emu_gpu_direct(enum emu_kind kind)
{
	return !driver.present || kind == EMU_PINNED;
}

/* Makes all streams at once, before there is work: later a waiting kernel may block that.
 * Streams of the highest priority share queues with few others. */
static int
streams_make(int gpu)
{
	int least = 0, greatest = 0, result = driver.priorities(&least, &greatest);

	for (unsigned i = 0; i < STREAMS && !result; i++)
		result = driver.stream(&driver.streams[gpu][i], NON_BLOCKING, greatest);
	return result;
}

bool
emu_copier_init(struct emu_copier *c, int gpu)
{
	int result = 0;

	*c = (struct emu_copier){ .gpu = gpu };
	if (!driver.present)
		return true;
	if (!enter(gpu))
		return false;
	pthread_mutex_lock(&lock);
	if (!driver.streams[gpu][STREAMS - 1])
		result = streams_make(gpu);
	if (!result)
		c->stream = driver.streams[gpu][driver.copiers[gpu]++ % STREAMS];
	pthread_mutex_unlock(&lock);
	return leave(result ? result : driver.event(&c->event, DISABLE_TIMING));
}

void
emu_copier_fini(struct emu_copier *c)
{
	if (c->event && emu_copier_wait(c) && enter(c->gpu))
		leave(driver.event_free(c->event));
	*c = (struct emu_copier){ .gpu = c->gpu };
}

bool
emu_copier_copy(struct emu_copier *c, void *dst, const void *src, size_t len)
{
	if (!c->stream) {
		memcpy(dst, src, len);
		return true;
	}
	return enter(c->gpu) &&
	       leave(driver.copy((uintptr_t)dst, (uintptr_t)src, len, c->stream));
}

bool
emu_copier_fill(struct emu_copier *c, void *dst, int byte, size_t len)
{
	if (!c->stream) {
		memset(dst, byte, len);
		return true;
	}
	return enter(c->gpu) &&
	       leave(driver.fill((uintptr_t)dst, (unsigned char)byte, len, c->stream));
}

bool
emu_copier_wait(struct emu_copier *c)
{
	int result;

	if (!c->stream)
		return true;
	if (!enter(c->gpu))
		return false;
	result = driver.record(c->event, c->stream);
	return leave(result ? result : driver.wait(c->event));
}
