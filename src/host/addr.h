/* SPDX-License-Identifier: Apache-2.0 */
/* What only host/ needs to know about addresses. */
#ifndef HOST_ADDR_H
#define HOST_ADDR_H

#include "host/host.h"

/* Reaches its own link only: 169.254.0.0/16, fe80::/10. */
bool tcpx_host_addr_link_local(const struct tcpx_addr *a);
/* Smaller is better to use. */
int tcpx_host_addr_rank(const struct tcpx_addr *a);
/* Is @addr the NIC's, or for a loopback of its subnet? Then *own is it, with the prefix. */
bool tcpx_host_nic_address(const struct tcpx_host_nic *nic, const struct tcpx_addr *addr,
			   struct tcpx_addr *own);

#endif
