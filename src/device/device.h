/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that may be a GPU's: how it is copied, and how one learns that a copy is done.
 * The door of device/. A copy list is executed as one batch; pieces never overlap each
 * other's destination.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* One piece of a batch. Addresses are of the device's own space. */
struct tcpx_copy {
	uint64_t src, dst, len;
};

struct tcpx_device;

struct tcpx_device_ops {
	const char *name;
	int (*open)(int ordinal, void *test_arg, struct tcpx_device **dev);
	void (*close)(struct tcpx_device *dev);
	/* Starts a batch; *ticket names it. The list is read before the call returns.
	 * -EAGAIN: no room, poll first. */
	int (*copy)(struct tcpx_device *dev, const struct tcpx_copy *list, size_t count,
		    uint64_t *ticket);
	/* 0: that batch and all before it are done and visible; -EAGAIN; or what broke. */
	int (*poll)(struct tcpx_device *dev, uint64_t ticket);
	/* Waits for it; bounded by one batch. */
	int (*finish)(struct tcpx_device *dev, uint64_t ticket);
};

extern const struct tcpx_device_ops tcpx_device_host;

#endif
