/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The route of a batch to or from a GPU: a kernel over the bus, or a copy engine. Pure: lists
 * and recent history in, decision out.
 */
#ifndef DEVICE_ROUTE_H
#define DEVICE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

/* Up to this size a copy engine makes a lone copy sooner than a kernel (4 KiB: 7.9 us against 10
 * to 12 from launch to completion). */
#define TCPX_ROUTE_SMALL_BYTES (64u << 10)
/* Below this size a copy engine spends its time on starts: 16 GB/s with copies of 64 KiB, 35
 * with 256 KiB; a kernel has 50. */
#define TCPX_ROUTE_ENGINE_BYTES (128u << 10)
/* Most bytes of fragments in one copy to the GPU: a part of the bounce memory, so that the next
 * copy overlaps the kernel. */
#define TCPX_ROUTE_BOUNCE_BYTES (1u << 20)
/* A flow with a batch this large within this time is busy: both bus directions are full. With
 * shorter times the decision changes between two chunks of a slow session. */
#define TCPX_ROUTE_BUSY_BYTES (256u << 10)
#define TCPX_ROUTE_BUSY_NS    (2 * TCPX_MS)

enum tcpx_route {
	TCPX_ROUTE_KERNEL, /* a kernel reads and writes over the bus                  */
	TCPX_ROUTE_ENGINE, /* one driver copy, straight into place; of a batch: all of it */
	TCPX_ROUTE_BOUNCE, /* one driver copy into bounce memory, then a kernel       */
	TCPX_ROUTE_RUNS    /* of a batch only: tcpx_route_run() has its parts         */
};

/* The route of a whole batch. other_ns: time since the other flow of this GPU had a batch of
 * TCPX_ROUTE_BUSY_BYTES; UINT64_MAX: never. */
enum tcpx_route tcpx_route_batch(const struct tcpx_copy *list, size_t count,
				 enum tcpx_flow flow, uint64_t other_ns);

/* Entries at the start of a list that take one route together. */
struct tcpx_route_run {
	enum tcpx_route route; /* not RUNS                                            */
	size_t count;	       /* entries, at least 1                                 */
	uint64_t len;	       /* ENGINE, BOUNCE: bytes, contiguous from the first src */
};

/* The next run of a batch with route RUNS; count is at least 1. */
struct tcpx_route_run tcpx_route_run(const struct tcpx_copy *list, size_t count);

#endif
