/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an engine: its devices, regions and staging buffers. */
#ifndef CORE_MEMORY_MEMORY_H
#define CORE_MEMORY_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/context/context.h"
#include "core/memory/batch.h"
#include "core/memory/gpu.h"
#include "core/memory/region.h"
#include "core/memory/release.h"
#include "core/memory/touch.h"
#include "device/device.h"
#include "net/net.h"

/* The buffers of all loops, in one piece of pinned memory. */
struct staging {
	uint8_t *mem; /* NULL: none needed so far */
	const struct tcpx_device_ops *ops;
	struct tcpx_device *dev;
};

struct memory {
	const struct tcpx_device_ops *host_ops;
	struct tcpx_device *host;
	struct gpus gpus;
	void *gpu_arg;           /* of a test's device */
	struct regions regions;
	struct touch touch;
	struct touch *room;      /* one a loop, for payload that is summed; NULL: none so far */
	struct staging staging;
	_Atomic bool slots_left; /* channels stay open for a late GPU, so their provider does */
	struct release release;
	struct batches *batches; /* one a loop */
	struct tcpx_net_memory for_provider;
	_Atomic uint64_t copied[TCPX_FLOWS][CORE_PLACES]; /* bytes copied by devices */
	_Atomic int late[TCPX_FLOWS][CORE_PLACES]; /* batches that devices were late with, and keep */
};

#endif
