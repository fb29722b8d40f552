/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine has for memory of GPUs: the driver and its GPUs, and what lets payload
 * leave without a copy. Asked of this machine only, and only when somebody wants to know.
 */
#ifndef TOOL_MACHINE_GPU_H
#define TOOL_MACHINE_GPU_H

#include "tool/info/machine.h"
#include "tool/perf/perf_gpu.h"

struct machine_driver {
	struct gpus *gpus; /* NULL: there is none to use, see why                 */
	char why[192];
	int version;       /* 13000: the interface of CUDA 13.0; 0 unknown        */
	unsigned count;
	struct gpu_facts gpu[PLACE_GPUS];
};

void machine_driver_open(const struct machine *m, struct machine_driver *d);
void machine_driver_close(struct machine_driver *d);
json_t *machine_driver_json(const struct machine_driver *d);

/* Ways for payload to leave; sizes are bytes, -1 unknown. */
struct machine_lend {
	long long pipe_max, pipe_user_soft; /* fs.pipe-max-size, fs.pipe-user-pages-soft; 0 of
	                                     * the latter: no limit                        */
	bool msg;                           /* sockets take SO_ZEROCOPY                    */
};

struct machine_lend machine_lend_read(const struct machine *m);

#endif
