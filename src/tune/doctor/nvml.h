/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory errors counted by NVIDIA's management library (NVML). It comes with the driver and is
 * looked for at run time. Its interface is that of nvml.h; only the used part is declared here.
 *
 * Threads: the caller's. Blocks: for the driver, whose start may take a second.
 */
#ifndef TUNE_DOCTOR_NVML_H
#define TUNE_DOCTOR_NVML_H

#include <stdbool.h>
#include <stddef.h>

#define NVML_LIBRARY "libnvidia-ml.so.1"
#define NVML_GPUS 64

struct nvml_gpu {
	char pci[32];                   /* "0000:04:00.0", as the kernel writes it            */
	bool ecc;                       /* its memory counts errors; else the
					 * rest means nothing */
	unsigned long long uncorrected; /* since the driver was loaded                        */
	bool remap_pending;             /* rows are replaced at the next reset                */
	bool remap_failed;              /* no spare row was left                              */
};

/* All GPUs of the driver. 0, or -ENOENT with the reason in @why; nothing is logged. */
int nvml_read(struct nvml_gpu gpu[NVML_GPUS], unsigned *count, char *why, size_t cap);
/* "00000000:04:00.0", in either case, in the kernel's form; returns @buf. */
const char *nvml_pci(const char *bus_id, char *buf, size_t cap);

#endif
