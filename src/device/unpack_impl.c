/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of TCPX_UNPACK_IMPL. The settings table has the same, in the same order.
 */
#include "device/device.h"

#include <errno.h>
#include <strings.h>

static const char *const impl_names[] = {
	[TCPX_UNPACK_KERNEL] = "kernel",
	[TCPX_UNPACK_D2D] = "d2d",
	[TCPX_UNPACK_HOST] = "host",
	[TCPX_UNPACK_NONE] = "none",
};

#define IMPLS (sizeof(impl_names) / sizeof(impl_names[0]))

int
tcpx_unpack_impl_parse(const char *text, enum tcpx_unpack_impl *impl)
{
	for (unsigned i = 0; i < IMPLS; i++) {
		if (!strcasecmp(text, impl_names[i])) {
			*impl = (enum tcpx_unpack_impl)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *
tcpx_unpack_impl_name(enum tcpx_unpack_impl impl)
{
	return (unsigned)impl < IMPLS ? impl_names[impl] : "unknown";
}
