/* SPDX-License-Identifier: Apache-2.0 */
/* What only host/ needs to know about addresses. */
#ifndef HOST_ADDR_H
#define HOST_ADDR_H

#include "host/host.h"

/*
 * tcpx_host_addr_rank - how good an address of an interface is, with its flags (enum of links.h)
 *
 * Smaller is better: first those that reach far, then those that are there to stay, IPv4, the host's own
 * before one that floats between hosts (a /32 or /128), and none that is temporary or secondary.
 */
unsigned tcpx_host_addr_rank(const struct tcpx_addr *a, unsigned flags);
/* Can it be used, and is it of a grade above this one, down to containers' ends of cables? */
bool tcpx_host_nic_is_better(const struct tcpx_host_nic *nic, unsigned grade);
/* True: @a goes before @b in the default choice; else they keep their order. */
bool tcpx_host_nic_precedes(const struct tcpx_host_nic *a, const struct tcpx_host_nic *b);
/* Is @addr the NIC's, or for a loopback of its subnet? Then *own is it, with the prefix. */
bool tcpx_host_nic_address(const struct tcpx_host_nic *nic, const struct tcpx_addr *addr,
			   struct tcpx_addr *own);

#endif
