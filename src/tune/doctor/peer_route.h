/* SPDX-License-Identifier: Apache-2.0 */
/* The NIC of packets to an address, by the kernel's table. Pure. */
#ifndef TUNE_DOCTOR_PEER_ROUTE_H
#define TUNE_DOCTOR_PEER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "host/host.h"

#define PEERS_MAX 32

struct peer_addr {
	struct tcpx_addr addr;
	uint16_t port;
	char text[TCPX_HOST_ADDR_TEXT];
};

/* "HOST[:PORT],..."; literal addresses, [IPv6]:PORT. Names are looked up if @names, else
 * refused. 0, or -EINVAL with a sentence in @why. */
int peer_list_parse(const char *text, uint16_t port, bool names, struct peer_addr *out,
		    unsigned *count, char *why, size_t cap);

/* The interface in @ifname (of cap bytes): the longest prefix in the text of
 * proc/net/route, of equal ones that of least metric. False: no route, or not IPv4. */
bool peer_route_find(const char *route, const struct tcpx_addr *to, char *ifname, size_t cap);
/* True: the table has a way there by this interface, as a socket needs that is bound to it. */
bool peer_route_by(const char *route, const struct tcpx_addr *to, const char *ifname);

#endif
