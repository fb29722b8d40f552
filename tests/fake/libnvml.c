/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library in software, for tests of tcpx doctor. FAKENVML has its GPUs,
 * "BUS-ID ECC UNCORRECTED PENDING FAILED" each, ";" between; without it there is no driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { DONE = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, NO_DRIVER = 9 };

struct gpu {
	char bus_id[32];
	int ecc;
	unsigned long long uncorrected;
	unsigned pending, failed;
};

struct pci_info {
	char legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char bus_id[32];
};

static struct gpu gpus[8];
static unsigned count, users;

EXPORT int
nvmlInit_v2(void)
{
	const char *at = getenv("FAKENVML");

	if (!at)
		return NO_DRIVER;
	users++;
	for (count = 0; count < 8 && *at; count++) {
		struct gpu *g = &gpus[count];

		if (sscanf(at, "%31s %d %llu %u %u", g->bus_id, &g->ecc, &g->uncorrected, &g->pending,
			   &g->failed) != 5)
			abort();
		at += strcspn(at, ";");
		at += *at == ';';
	}
	return DONE;
}

EXPORT int
nvmlShutdown(void)
{
	if (!users)
		abort();
	users--;
	return DONE;
}

EXPORT const char *
nvmlErrorString(int code)
{
	return code == NO_DRIVER ? "Driver Not Loaded" : "Unknown Error";
}

EXPORT int
nvmlDeviceGetCount_v2(unsigned *out)
{
	*out = count;
	return DONE;
}

EXPORT int
nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
	if (index >= count || !users)
		return NOT_FOUND;
	*out = &gpus[index];
	return DONE;
}

EXPORT int
nvmlDeviceGetPciInfo_v3(void *handle, struct pci_info *info)
{
	const struct gpu *g = handle;

	memset(info, 0xee, sizeof(*info));
	memcpy(info->bus_id, g->bus_id, sizeof(info->bus_id));
	return DONE;
}

EXPORT int
nvmlDeviceGetTotalEccErrors(void *handle, int error, int counter, unsigned long long *out)
{
	const struct gpu *g = handle;

	if (!g->ecc)
		return NOT_SUPPORTED;
	/* of corrected ones, and of those in the card's life, there are always some */
	*out = error == 1 && counter == 0 ? g->uncorrected : 7;
	return DONE;
}

EXPORT int
nvmlDeviceGetRemappedRows(void *handle, unsigned *corrected, unsigned *uncorrected,
			  unsigned *pending, unsigned *failed)
{
	const struct gpu *g = handle;

	if (!g->ecc)
		return NOT_SUPPORTED;
	*corrected = *uncorrected = 1;
	*pending = g->pending;
	*failed = g->failed;
	return DONE;
}
