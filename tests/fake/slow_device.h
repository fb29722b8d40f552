/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device whose batches take virtual time and copy only at their end. So a source released
 * or a destination read too early shows as wrong bytes. It may have GPUs: pieces of host
 * memory under that name.
 */
#ifndef FAKE_SLOW_DEVICE_H
#define FAKE_SLOW_DEVICE_H

#include "base/clock.h"
#include "device/device.h"

#define SLOW_RANGES 10

/* test_arg of open; borrowed for the device's life, one device each. */
struct tcpx_slow_device {
	const struct tcpx_clock *clock;
	uint64_t seed;
	uint64_t delay_min_ns, delay_max_ns; /* a batch, after the one before it */
	uint32_t full_ppm;                   /* copies answered with "no room"   */
	uint32_t broken_ppm;                 /* batches that end with -EIO       */
	bool hung;                           /* nothing ends, not even with an error */
	/* memory that is a GPU's; range_count 0: the device has no GPU at all */
	struct {
		const void *addr;
		size_t len;
		int place;
	} range[SLOW_RANGES];
	uint32_t range_count;
	/* counted by the device */
	uint64_t live;      /* batches not done */
	uint64_t batches, pieces, bytes, broken;
	uint64_t next_ns;   /* the next batch is done; UINT64_MAX: none waits */
	uint64_t queues, pinned; /* open now */
	/* words raised by stream_wait's callers are looked at by the test itself */
	const uint64_t *word;
	uint64_t word_value;
	/* event(): happened once the clock has passed what the event points to */
};

extern const struct tcpx_device_ops tcpx_device_slow;

#endif
