/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's means for GPU memory: the driver and its GPUs, and the ways to send without
 * a copy. Only this machine is asked, and only on request.
 */
#ifndef TUNE_INFO_MACHINE_GPU_H
#define TUNE_INFO_MACHINE_GPU_H

#include "tune/info/machine.h"
#include "tool/gpu/gpu.h"

struct machine_driver {
	struct gpus *gpus; /* NULL: none usable, see why                          */
	char why[192];
	int version;       /* 13000: the interface of CUDA 13.0; 0 unknown        */
	unsigned count;
	struct gpu_facts gpu[PLACE_GPUS];
};

void machine_driver_open(const struct machine *m, struct machine_driver *d);
void machine_driver_close(struct machine_driver *d);
json_t *machine_driver_json(const struct machine_driver *d);

/* Ways to send without a copy; sizes are bytes, -1 unknown. */
struct machine_lend {
	long long pipe_max, pipe_user_soft; /* fs.pipe-max-size, fs.pipe-user-pages-soft; 0 of
	                                     * the latter: no limit                        */
	bool msg;                           /* sockets take SO_ZEROCOPY                    */
};

struct machine_lend machine_lend_read(const struct machine *m);

#endif
