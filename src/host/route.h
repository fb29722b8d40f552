/* SPDX-License-Identifier: Apache-2.0 */
/* The default route, from the kernel's tables as text. */
#ifndef HOST_ROUTE_H
#define HOST_ROUTE_H

#include <stddef.h>

/* The interface of the default route, of IPv4 if it has one; "" for none. */
void tcpx_host_route(const char *root, char *ifname, size_t cap);

#endif
