/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that have not introduced themselves: who goes when there are too many. They cannot
 * keep out those that do, because each address has a share: the one with most loses its oldest. One
 * that has just come is spared, and the next waits in the kernel, since to introduce oneself takes
 * a round trip.
 */
#ifndef BASE_ADMIT_H
#define BASE_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

struct tcpx_admit_guest {
	struct tcpx_addr from;
	uint64_t since_ns;
	bool known; /* it has shown that it belongs to a session: never goes */
};

/* Which of @count goes; -1: none has been here for @spare_ns. The addresses of an IPv6 network of
 * 64 bits count as one. */
int tcpx_admit_victim(const struct tcpx_admit_guest *guest, uint32_t count, uint64_t spare_ns,
		      uint64_t now_ns);
/* How many may wait at one port, with so many descriptors for the process and @ports: an eighth of
 * them together, at most @most, at least 8. */
uint32_t tcpx_admit_room(uint64_t descriptors, uint32_t ports, uint32_t most);

#endif
