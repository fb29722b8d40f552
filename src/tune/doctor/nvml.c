/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/doctor/nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tool/tool.h"

/* Of nvml.h: kinds of errors and counters. */
enum { DONE = 0, ERROR_UNCORRECTED = 1, COUNTER_VOLATILE = 0 };

struct pci_info { /* nvmlPciInfo_t since version 3 of its call */
	char bus_id_legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

struct nvml {
	void *library;
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error)(int code);
	int (*count)(unsigned *count);
	int (*handle)(unsigned index, void **gpu);
	int (*pci)(void *gpu, struct pci_info *info);
	int (*errors)(void *gpu, int error, int counter, unsigned long long *count);
	int (*rows)(void *gpu, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
		    unsigned *failed);
};

static const struct wanted {
	const char *symbol;
	size_t offset; /* of the pointer in struct nvml */
	bool needed;
} wanted[] = {
	{ "nvmlInit_v2", offsetof(struct nvml, init), true },
	{ "nvmlShutdown", offsetof(struct nvml, shutdown), true },
	{ "nvmlErrorString", offsetof(struct nvml, error), true },
	{ "nvmlDeviceGetCount_v2", offsetof(struct nvml, count), true },
	{ "nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, handle), true },
	{ "nvmlDeviceGetPciInfo_v3", offsetof(struct nvml, pci), true },
	{ "nvmlDeviceGetTotalEccErrors", offsetof(struct nvml, errors), true },
	{ "nvmlDeviceGetRemappedRows", offsetof(struct nvml, rows), false }, /* since 460 */
};

static int
load(struct nvml *n, char *why, size_t cap)
{
	n->library = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!n->library) {
		const char *error = dlerror();

		snprintf(why, cap, "%s", error ? error : NVML_LIBRARY);
		return -ENOENT;
	}
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		void *address = dlsym(n->library, wanted[i].symbol);

		if (!address && wanted[i].needed) {
			snprintf(why, cap, "%s has no %s", NVML_LIBRARY, wanted[i].symbol);
			return -ENOENT;
		}
		memcpy((char *)n + wanted[i].offset, &address, sizeof(address));
	}
	return 0;
}

const char *
nvml_pci(const char *bus_id, char *buf, size_t cap)
{
	size_t domain = strcspn(bus_id, ":"), i = 0;

	/* its domain has 8 digits, the kernel's 4 unless more are needed */
	for (; domain > 4 && *bus_id == '0'; domain--)
		bus_id++;
	for (; bus_id[i] && i + 1 < cap; i++)
		buf[i] = (char)tolower((unsigned char)bus_id[i]);
	buf[i] = '\0';
	return buf;
}

static int
read_gpu(const struct nvml *n, unsigned index, struct nvml_gpu *out)
{
	unsigned corrected, uncorrected, pending = 0, failed = 0;
	struct nvml_gpu gpu = { .ecc = false };
	struct pci_info info = { .domain = 0 };
	void *handle;
	int rc = n->handle(index, &handle);

	if (rc == DONE)
		rc = n->pci(handle, &info);
	if (rc != DONE)
		return rc;
	info.bus_id[sizeof(info.bus_id) - 1] = '\0';
	nvml_pci(info.bus_id, gpu.pci, sizeof(gpu.pci));
	/* not supported: no ECC, or off */
	gpu.ecc = n->errors(handle, ERROR_UNCORRECTED, COUNTER_VOLATILE, &gpu.uncorrected) == DONE;
	if (n->rows && n->rows(handle, &corrected, &uncorrected, &pending, &failed) == DONE) {
		gpu.remap_pending = pending;
		gpu.remap_failed = failed;
	}
	*out = gpu;
	return DONE;
}

/* After init; DONE, or the failure. */
static int
read_all(const struct nvml *n, struct nvml_gpu gpu[NVML_GPUS], unsigned *count)
{
	unsigned have = 0;
	int rc = n->count(&have);

	*count = 0;
	for (unsigned i = 0; rc == DONE && i < have && i < NVML_GPUS; i++) {
		rc = read_gpu(n, i, &gpu[i]);
		*count += rc == DONE;
	}
	return rc;
}

int
nvml_read(struct nvml_gpu gpu[NVML_GPUS], unsigned *count, char *why, size_t cap)
{
	struct nvml n = { .library = NULL };
	int rc = load(&n, why, cap), code;

	*count = 0;
	if (rc == 0) {
		code = n.init();
		if (code == DONE) {
			code = read_all(&n, gpu, count);
			n.shutdown();
		}
		if (code != DONE) {
			snprintf(why, cap, "%s: %s", NVML_LIBRARY, n.error(code));
			rc = -ENOENT;
		}
	}
	if (n.library)
		dlclose(n.library);
	return rc;
}
