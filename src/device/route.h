/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way a batch goes to or from a GPU: by our kernel over the bus, or by a copy engine.
 * Pure: lists and recent history in, decision out.
 */
#ifndef DEVICE_ROUTE_H
#define DEVICE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

/* A lone copy up to here is done sooner by a copy engine than by a kernel (4 KiB: 7.9 us
 * against 10 to 12 from launch to done). */
#define TCPX_ROUTE_SMALL_BYTES (64u << 10)
/* Below this a copy engine spends its time starting: 16 GB/s with 64 KiB a copy, 35 with
 * 256 KiB, where a kernel has 50. */
#define TCPX_ROUTE_ENGINE_BYTES (128u << 10)
/* Fragments that go to the GPU in one copy, at most: a part of the bounce memory, so that
 * the next can come while the kernel works on this. */
#define TCPX_ROUTE_BOUNCE_BYTES (1u << 20)
/* A flow with a batch this large, this recently, is at work: both bus directions are full.
 * Shorter and the decision flutters between two chunks of a slow session. */
#define TCPX_ROUTE_BUSY_BYTES (256u << 10)
#define TCPX_ROUTE_BUSY_NS    (2 * TCPX_MS)

enum tcpx_route {
	TCPX_ROUTE_KERNEL, /* read and written by a kernel, over the bus              */
	TCPX_ROUTE_ENGINE, /* one driver copy, straight into place; of a batch: all of it */
	TCPX_ROUTE_BOUNCE, /* one driver copy into bounce memory, then a kernel       */
	TCPX_ROUTE_RUNS    /* of a batch only: see its parts by tcpx_route_run()      */
};

/* A whole batch. other_ns: how long ago the other flow of this GPU had a batch of
 * TCPX_ROUTE_BUSY_BYTES; UINT64_MAX: never. */
enum tcpx_route tcpx_route_batch(const struct tcpx_copy *list, size_t count,
				 enum tcpx_flow flow, uint64_t other_ns);

/* Entries at the start of a list that go one way together. */
struct tcpx_route_run {
	enum tcpx_route route; /* not RUNS                                            */
	size_t count;	       /* entries, at least 1                                 */
	uint64_t len;	       /* ENGINE, BOUNCE: bytes, together from the first src  */
};

/* The next run of a batch that goes by RUNS; count is at least 1. */
struct tcpx_route_run tcpx_route_run(const struct tcpx_copy *list, size_t count);

#endif
