/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the CUDA driver in the process or by its name, and its results as codes of the library.
 */
#include "device/cuda_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct wanted {
	const char *symbol;
	size_t offset; /* of the pointer in struct tcpx_cuda_api */
	bool optional;
};

#define REQUIRED(name, symbol, params) { #symbol, offsetof(struct tcpx_cuda_api, name), false },
#define OPTIONAL(name, symbol, params) { #symbol, offsetof(struct tcpx_cuda_api, name), true },

static const struct wanted wanted[] = {
	TCPX_CUDA_REQUIRED(REQUIRED)
	TCPX_CUDA_OPTIONAL(OPTIONAL)
};

static int
find_symbols(const char *library, struct tcpx_cuda_api *api)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *address = dlsym(api->library, wanted[i].symbol);

		if (!address && !wanted[i].optional)
			return tcpx_fail(TCPX_SUB_DEV, -EINVAL,
					 "%s is no GPU driver that we can use: it has no %s",
					 library, wanted[i].symbol);
		memcpy((char *)api + wanted[i].offset, &address, sizeof(address));
	}
	return 0;
}

/* A machine without a usable GPU is no error. */
static int
start(const char *library, struct tcpx_cuda_api *api)
{
	const char *text = "no GPU";
	CUresult result = api->cuInit(0);

	if (result == CUDA_SUCCESS)
		result = api->cuDeviceGetCount(&api->gpus);
	if (result == CUDA_SUCCESS && api->gpus > 0)
		return 0;
	if (result != CUDA_SUCCESS && api->cuGetErrorString(result, &text) != CUDA_SUCCESS)
		text = "not known";
	tcpx_info(TCPX_SUB_DEV, "%s: no GPU memory: %s (%d)", library, text, result);
	return -ENODEV;
}

int
tcpx_cuda_api_load(const char *library, struct tcpx_cuda_api *api)
{
	bool usual = !library || !*library;
	struct tcpx_cuda_api a = { 0 };
	int rc;

	if (usual)
		library = TCPX_CUDA_LIBRARY;
	a.library = dlopen(library, RTLD_NOW | RTLD_LOCAL | (usual ? RTLD_NOLOAD : 0));
	if (!a.library) {
		const char *why = dlerror();

		if (usual)
			tcpx_info(TCPX_SUB_DEV, "%s is not loaded: no GPU memory", library);
		else
			tcpx_info(TCPX_SUB_DEV, "no GPU memory: %s", why ? why : library);
		return -ENODEV;
	}
	rc = find_symbols(library, &a);
	if (rc == 0)
		rc = start(library, &a);
	if (rc) {
		dlclose(a.library);
		return rc;
	}
	*api = a;
	return 0;
}

void
tcpx_cuda_api_unload(struct tcpx_cuda_api *api)
{
	dlclose(api->library);
	memset(api, 0, sizeof(*api));
}

static int
code_of(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_OUT_OF_MEMORY:
		return -ENOMEM;
	case CUDA_ERROR_NO_DEVICE:
		return -ENODEV;
	case CUDA_ERROR_NOT_SUPPORTED:
		return -ENOTSUP;
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_HANDLE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

int
tcpx_cuda_fail(const struct tcpx_cuda_api *api, CUresult result, const char *fmt, ...)
{
	const char *name = NULL, *text = NULL;
	char what[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (api->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
		name = "an unknown CUDA error";
	if (api->cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
		text = "no text";
	return tcpx_fail(TCPX_SUB_DEV, code_of(result), "%s: %s (%d): %s", what, name, result,
			 text);
}
