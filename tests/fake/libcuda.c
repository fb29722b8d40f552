/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software driver: start, devices, contexts, and the hooks of the tests.
 */
#include "fake/libcuda.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct fake fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .memops = true,
};

static __thread CUcontext stack[DEPTH_MAX];
static __thread int depth;

#define CALL_NAME(name, symbol, params) #name,
static const char *const call_names[] = { TCPX_CUDA_REQUIRED(CALL_NAME)
						  TCPX_CUDA_OPTIONAL(CALL_NAME) };

static const struct {
	CUresult result;
	const char *name, *text;
} results[] = {
	{ CUDA_SUCCESS, "CUDA_SUCCESS", "no error" },
	{ CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
	{ CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
	{ CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
	{ CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
};

static int
call_of(const char *name)
{
	for (int i = 0; i < CALLS; i++) {
		if (!strcmp(name, call_names[i]))
			return i;
	}
	fprintf(stderr, "fakecuda: there is no %s\n", name);
	return CALLS;
}

CUresult
fake_enter(enum call call)
{
	pthread_mutex_lock(&fake.lock);
	fake.calls[call]++;
	fake.calls_all++;
	if (fake.fail_in && call == fake.fail_call && --fake.fail_in == 0)
		return fake_leave(fake.fail_result);
	return CUDA_SUCCESS;
}

CUresult
fake_leave(CUresult result)
{
	pthread_mutex_unlock(&fake.lock);
	return result;
}

CUresult
fake_mistake(CUresult result, const char *fmt, ...)
{
	va_list ap;

	fake.errors++;
	va_start(ap, fmt);
	fprintf(stderr, "# fakecuda: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	return result;
}

uint64_t
fake_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

CUcontext
fake_context(const char *what)
{
	if (depth && stack[depth - 1])
		return stack[depth - 1];
	fake_mistake(CUDA_ERROR_INVALID_CONTEXT, "%s without a current context", what);
	return NULL;
}

/* ---- start and texts ------------------------------------------------------------------ */

static unsigned
env_number(const char *name, unsigned other)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : other;
}

static void
read_environment(void)
{
	const char *fail = getenv("FAKECUDA_FAIL"), *colon = fail ? strchr(fail, ':') : NULL;
	char name[64];

	fake.devices = (int)env_number("FAKECUDA_DEVICES", 2);
	if (fake.devices > DEVICES_MAX)
		fake.devices = DEVICES_MAX;
	fake.queues = env_number("FAKECUDA_QUEUES", 0);
	fake.delay_ns = env_number("FAKECUDA_DELAY_US", 0) * 1000ull;
	fake.memops = env_number("FAKECUDA_MEMOPS", 1) != 0;
	if (colon && (size_t)(colon - fail) < sizeof(name)) {
		snprintf(name, sizeof(name), "%.*s", (int)(colon - fail), fail);
		fake.fail_call = (enum call)call_of(name);
		fake.fail_in = (unsigned)strtoul(colon + 1, NULL, 10);
		fake.fail_result = CUDA_ERROR_LAUNCH_FAILED;
	}
}

EXPORT CUresult
cuInit(unsigned flags)
{
	ENTER(cuInit);
	if (!fake.started) {
		fake.started = true;
		read_environment();
		for (int i = 0; i < DEVICES_MAX; i++)
			fake.context[i].device = i;
		fake_streams_start();
	}
	LEAVE(flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

EXPORT CUresult
cuDriverGetVersion(int *version)
{
	ENTER(cuDriverGetVersion);
	*version = 12040;
	LEAVE(CUDA_SUCCESS);
}

static CUresult
text_of(CUresult result, bool name, const char **text)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		if (results[i].result == result) {
			*text = name ? results[i].name : results[i].text;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult
cuGetErrorName(CUresult result, const char **text)
{
	return text_of(result, true, text);
}

EXPORT CUresult
cuGetErrorString(CUresult result, const char **text)
{
	return text_of(result, false, text);
}

/* ---- devices --------------------------------------------------------------------------- */

EXPORT CUresult
cuDeviceGetCount(int *count)
{
	ENTER(cuDeviceGetCount);
	*count = fake.devices;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuDeviceGet(CUdevice *device, int ordinal)
{
	ENTER(cuDeviceGet);
	if (ordinal < 0 || ordinal >= fake.devices)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*device = ordinal;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuDeviceGetName(char *name, int cap, CUdevice device)
{
	ENTER(cuDeviceGetName);
	snprintf(name, (size_t)cap, "software GPU %d", device);
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuDeviceGetPCIBusId(char *id, int cap, CUdevice device)
{
	ENTER(cuDeviceGetPCIBusId);
	snprintf(id, (size_t)cap, "0000:%02X:00.0", 0x1A + device); /* large letters, as NVIDIA's */
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	(void)device;
	ENTER(cuDeviceTotalMem);
	*bytes = (size_t)4 << 30;
	LEAVE(CUDA_SUCCESS);
}

/* As if nothing had been taken. */
EXPORT CUresult
cuMemGetInfo_v2(size_t *left, size_t *total)
{
	ENTER(cuMemGetInfo);
	*left = *total = (size_t)4 << 30;
	LEAVE(fake_context("cuMemGetInfo") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

EXPORT CUresult
cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
	ENTER(cuDeviceGetAttribute);
	if (device < 0 || device >= fake.devices)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = 132;
		LEAVE(CUDA_SUCCESS);
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = 9;
		LEAVE(CUDA_SUCCESS);
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = 0;
		LEAVE(CUDA_SUCCESS);
	case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
		*value = fake.memops;
		LEAVE(CUDA_SUCCESS);
	case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
		*value = 1;
		LEAVE(CUDA_SUCCESS);
	default:
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
}

EXPORT CUresult
cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	ENTER(cuDeviceCanAccessPeer);
	*can = device != peer;
	LEAVE(CUDA_SUCCESS);
}

/* ---- contexts -------------------------------------------------------------------------- */

EXPORT CUresult
cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	ENTER(cuDevicePrimaryCtxRetain);
	if (device < 0 || device >= fake.devices)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	fake.context[device].retained++;
	*context = &fake.context[device];
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	ENTER(cuDevicePrimaryCtxRelease);
	if (device < 0 || device >= fake.devices || !fake.context[device].retained)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_CONTEXT, "context %d was not retained",
				   device));
	fake.context[device].retained--;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuCtxPushCurrent_v2(CUcontext context)
{
	ENTER(cuCtxPushCurrent);
	if (!context || !context->retained || depth == DEPTH_MAX)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_CONTEXT, "push of a context at depth %d",
				   depth));
	stack[depth++] = context;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuCtxPopCurrent_v2(CUcontext *context)
{
	ENTER(cuCtxPopCurrent);
	if (!depth)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_CONTEXT, "pop of no context"));
	*context = stack[--depth];
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuCtxGetCurrent(CUcontext *context)
{
	ENTER(cuCtxGetCurrent);
	*context = depth ? stack[depth - 1] : NULL;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	(void)flags;
	ENTER(cuCtxEnablePeerAccess);
	LEAVE(fake_context("peer access") && peer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

EXPORT CUresult
cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	ENTER(cuCtxGetStreamPriorityRange);
	if (!fake_context("stream priorities"))
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	*least = 0;
	*greatest = -5;
	LEAVE(CUDA_SUCCESS);
}

/* ---- hooks ------------------------------------------------------------------------------ */

/* The hooks are declared by their table. */
#define DECLARE(result, name, params) EXPORT result name params;
FAKECUDA_HOOKS(DECLARE)
#undef DECLARE

void
fakecuda_reset(void)
{
	pthread_mutex_lock(&fake.lock);
	memset(fake.calls, 0, sizeof(fake.calls));
	fake.calls_all = fake.errors = fake.fail_in = fake.allowed = 0;
	fake.held = fake.mute = false;
	fake.memops = true;
	fake.broken = 0;
	fake.delay_ns = 0;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
}

unsigned
fakecuda_calls(const char *name)
{
	int call = call_of(name);
	unsigned n;

	pthread_mutex_lock(&fake.lock);
	n = call < CALLS ? fake.calls[call] : 0;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

#define LOCKED(statement)                                                                  \
	do {                                                                               \
		pthread_mutex_lock(&fake.lock);                                            \
		statement;                                                                 \
		pthread_cond_broadcast(&fake.changed);                                     \
		pthread_mutex_unlock(&fake.lock);                                          \
	} while (0)

unsigned
fakecuda_calls_all(void)
{
	unsigned n;

	LOCKED(n = fake.calls_all);
	return n;
}

unsigned
fakecuda_errors(void)
{
	unsigned n;

	LOCKED(n = fake.errors);
	return n;
}

unsigned
fakecuda_live(void)
{
	unsigned n = 0;

	pthread_mutex_lock(&fake.lock);
	for (int i = 0; i < DEVICES_MAX; i++)
		n += fake.context[i].retained;
	for (struct memory *m = fake.memory; m; m = m->next)
		n += m->live;
	for (CUstream s = fake.streams; s; s = s->next)
		n += s->live;
	for (CUevent e = fake.events; e; e = e->next)
		n += e->live;
	for (CUmodule m = fake.modules; m; m = m->next)
		n += m->live;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

void
fakecuda_fail(const char *name, unsigned n, int result)
{
	int call = call_of(name);

	LOCKED(fake.fail_call = (enum call)call; fake.fail_in = n; fake.fail_result = result);
}

void
fakecuda_hold(bool on)
{
	LOCKED(fake.held = on);
}

void
fakecuda_allow(unsigned works)
{
	LOCKED(fake.allowed = works);
}

unsigned
fakecuda_retained(int device)
{
	unsigned n;

	LOCKED(n = fake.context[device].retained);
	return n;
}

void
fakecuda_break(int result)
{
	LOCKED(fake.broken = result);
}

void
fakecuda_mute(bool on)
{
	LOCKED(fake.mute = on);
}

void
fakecuda_memops(bool on)
{
	LOCKED(fake.memops = on);
}

void
fakecuda_delay_us(unsigned us)
{
	LOCKED(fake.delay_ns = us * 1000ull);
}
