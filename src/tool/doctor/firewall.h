/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet filter does to new TCP connections that come in: a reading of what
 * `nft list ruleset` and `iptables-save` print. Pure. A condition that is not understood
 * (addresses, marks, limits) may hold or not, so the answer may be "depends".
 */
#ifndef TOOL_FIREWALL_H
#define TOOL_FIREWALL_H

#include <stdint.h>

#define FIREWALL_BYTES (1u << 20)

/* What may become of a connection: any of these. */
enum { FIREWALL_ACCEPT = 1, FIREWALL_DROP = 2 };

/* One connection to @port by interface @ifname. 0: no memory. */
unsigned firewall_judge(const char *ruleset, const char *ifname, uint16_t port);

#endif
