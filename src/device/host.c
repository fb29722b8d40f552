/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device that is no device: host memory, copied at once by the caller. A ticket is
 * done when it is given out.
 */
#include "device/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tcpx_device {
	uint64_t tickets; /* given out; the newest is this number */
};

static int
host_open(int ordinal, void *test_arg, struct tcpx_device **dev)
{
	struct tcpx_device *d;

	(void)test_arg;
	if (ordinal != 0)
		return tcpx_fail(TCPX_SUB_DEV, -ENODEV, "open host device %d; there is only 0",
				 ordinal);
	d = calloc(1, sizeof(*d));
	if (!d)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "open the host device");
	*dev = d;
	return 0;
}

static void
host_close(struct tcpx_device *dev)
{
	free(dev);
}

static int
host_copy(struct tcpx_device *dev, const struct tcpx_copy *list, size_t count,
	  uint64_t *ticket)
{
	for (size_t i = 0; i < count; i++) {
		if (!list[i].len)
			continue; /* its addresses need not be any */
		memcpy((void *)(uintptr_t)list[i].dst, (const void *)(uintptr_t)list[i].src,
		       list[i].len);
	}
	*ticket = ++dev->tickets;
	return 0;
}

static int
host_poll(struct tcpx_device *dev, uint64_t ticket)
{
	if (ticket <= dev->tickets)
		return 0;
	return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "poll for batch %llu of %llu",
			 (unsigned long long)ticket, (unsigned long long)dev->tickets);
}

const struct tcpx_device_ops tcpx_device_host = {
	.name = "host",
	.open = host_open,
	.close = host_close,
	.copy = host_copy,
	.poll = host_poll,
	.finish = host_poll,
};
