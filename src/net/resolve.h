/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of HOST:PORT,... that a user gave. It may block, so no I/O thread calls it. */
#ifndef NET_RESOLVE_H
#define NET_RESOLVE_H

#include "base/addr.h"

/* Writes up to @cap addresses (at least 1) to @out. Several HOST:PORT stand between commas; HOST is an
 * address, or a name that is looked up. -EINVAL: no such list; -EHOSTUNREACH: a host has no address
 * (both logged). */
int tcpx_addr_resolve(const char *list, struct tcpx_addr *out, uint32_t cap, uint32_t *count);

#endif
