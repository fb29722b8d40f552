/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's management library (NVML) counts of memory errors. It comes with the driver
 * and is looked for at run time; its interface is that of nvml.h, of which only what is used
 * here is told again.
 *
 * Threads: the caller's. Blocks: for the driver, which may take a second to begin with.
 */
#ifndef TOOL_NVML_H
#define TOOL_NVML_H

#include <stdbool.h>
#include <stddef.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_GPUS 64

struct nvml_gpu {
	char pci[32];                   /* "0000:04:00.0", as the kernel writes it            */
	bool ecc;                       /* its memory counts errors; else the rest is nothing */
	unsigned long long uncorrected; /* since the driver was loaded                        */
	bool remap_pending;             /* rows are replaced at the next reset                */
	bool remap_failed;              /* there was no row left to replace one with          */
};

/* All GPUs that the driver has. 0, or -ENOENT with the reason in @why; nothing is logged. */
int nvml_read(struct nvml_gpu gpu[NVML_GPUS], unsigned *count, char *why, size_t cap);
/* "00000000:04:00.0", of either case, as the kernel writes it; returns @buf. */
const char *nvml_pci(const char *bus_id, char *buf, size_t cap);

#endif
