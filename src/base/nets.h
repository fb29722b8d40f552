/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of networks as text: "10.0.0.0/8,fd00::/8,192.168.1.7". An address alone is a network of
 * one; bits behind the prefix do not count. An IPv4 address that is mapped into IPv6 counts as
 * IPv4, in the list and in what is looked up.
 */
#ifndef BASE_NETS_H
#define BASE_NETS_H

#include <stdbool.h>

#include "base/addr.h"

/* 0 for a list, also for "", which names no network; -EINVAL. Not logged. */
int tcpx_nets_check(const char *list);
/* Is the address in one of the networks of a checked list? */
bool tcpx_nets_have(const char *list, const struct tcpx_addr *a);

#endif
