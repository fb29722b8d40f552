/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU driver looked up at run time, so that the programs build and run where there is none.
 * Which one: TCPX_CUDA_LIBRARY, else libcuda.so.1.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* CUresult and CUdevice are int, handles void *. */
#define WANT(name, params) { #name, offsetof(struct driver, name) },

/* 0, or -ENODEV with the reason. Loaded anew by each thread: dlopen() counts. */
int
driver_load(struct driver *d, char *why, size_t cap)
{
	static const struct {
		const char *name;
		size_t at;
	} wanted[] = { DRIVER_FUNCTIONS(WANT) };
	const char *name = getenv("TCPX_CUDA_LIBRARY");
	void *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		snprintf(why, cap, "no GPU driver here");
		return -ENODEV;
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *function = dlsym(library, wanted[i].name);

		if (!function) {
			snprintf(why, cap, "the GPU driver has no %s", wanted[i].name);
			return -ENODEV;
		}
		memcpy((char *)d + wanted[i].at, &function, sizeof(function));
	}
	return 0;
}

int
driver_open(unsigned gpu, char *why, size_t cap)
{
	struct driver d;
	void *context;
	int count = 0, rc = driver_load(&d, why, cap);

	if (rc)
		return rc;
	if (d.cuInit(0) || d.cuDeviceGetCount(&count) || !count) {
		snprintf(why, cap, "no GPU here");
		return -ENODEV;
	}
	if (gpu >= (unsigned)count) {
		snprintf(why, cap, "%d GPUs here", count);
		return -ENODEV;
	}
	if (d.cuDevicePrimaryCtxRetain(&context, (int)gpu) || d.cuCtxPushCurrent_v2(context)) {
		snprintf(why, cap, "the GPU cannot be used");
		return -ENODEV;
	}
	return 0;
}

int
driver_pci(unsigned gpu, char pci[32])
{
	struct driver d;
	char why[64];
	int rc = driver_load(&d, why, sizeof(why));

	if (!rc && d.cuDeviceGetPCIBusId(pci, 32, (int)gpu))
		rc = -ENODEV;
	for (char *c = pci; !rc && *c; c++) /* as sysfs writes it */
		if (*c >= 'A' && *c <= 'F')
			*c = (char)(*c | 0x20);
	return rc;
}
