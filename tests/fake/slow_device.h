/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device whose batches take virtual time and copy only at their end: whoever lets go
 * of a source or looks at a destination too early sees wrong bytes.
 */
#ifndef FAKE_SLOW_DEVICE_H
#define FAKE_SLOW_DEVICE_H

#include "base/clock.h"
#include "device/device.h"

/* test_arg of open; borrowed for the device's life. */
struct tcpx_slow_device {
	const struct tcpx_clock *clock;
	uint64_t seed;
	uint64_t delay_min_ns, delay_max_ns; /* a batch, after the one before it */
	uint32_t full_ppm;                   /* copies answered with "no room"   */
	/* counted by the device */
	uint64_t live;      /* batches not done */
	uint64_t batches, pieces, bytes;
	uint64_t next_ns;   /* the next batch is done; UINT64_MAX: none waits */
};

extern const struct tcpx_device_ops tcpx_device_slow;

#endif
