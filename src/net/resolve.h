/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of a HOST:PORT that a user gave. It may block, so no I/O thread calls it. */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "base/addr.h"

/* Writes up to @cap addresses (at least 1) to @out. HOST is an address, or a name that is looked
 * up. -EINVAL: not HOST:PORT; -EHOSTUNREACH: no address (both logged). */
int tcpx_addr_resolve(const char *host_port, struct tcpx_addr *out, uint32_t cap,
		      uint32_t *count);

#endif
