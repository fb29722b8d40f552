/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of two GPUs of the driver in software, which the CPU can read. */
#ifndef UNIT_CORE_GPUS_H
#define UNIT_CORE_GPUS_H

#include "rig.h"

#include <stdlib.h>

#include "device/cuda_api.h"

struct gpus {
	struct tcpx_cuda_api cu;
	CUcontext context[2];
	CUdeviceptr memory[2]; /* one an engine */
};

static inline const char *
gpus_library(void)
{
	const char *path = getenv("FAKECUDA_LIBRARY");

	if (!path)
		fail_msg("FAKECUDA_LIBRARY is not set");
	return path;
}

static inline void
gpus_open(struct gpus *g, size_t bytes)
{
	CUcontext old;

	assert_ok(tcpx_cuda_api_load(gpus_library(), &g->cu));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(g->cu.cuDevicePrimaryCtxRetain(&g->context[i], i), 0);
		assert_int_equal(g->cu.cuCtxPushCurrent(g->context[i]), 0);
		assert_int_equal(g->cu.cuMemAlloc(&g->memory[i], bytes), 0);
		assert_int_equal(g->cu.cuCtxPopCurrent(&old), 0);
	}
}

static inline void
gpus_close(struct gpus *g)
{
	CUcontext old;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(g->cu.cuCtxPushCurrent(g->context[i]), 0);
		assert_int_equal(g->cu.cuMemFree(g->memory[i]), 0);
		assert_int_equal(g->cu.cuCtxPopCurrent(&old), 0);
		assert_int_equal(g->cu.cuDevicePrimaryCtxRelease(i), 0);
	}
	tcpx_cuda_api_unload(&g->cu);
}

#endif
