/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NIC here is paired with which NIC there. Pure: what two sides say of their NICs in, one
 * NIC pair for each channel out.
 */
#ifndef PROTO_PAIR_H
#define PROTO_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define TCPX_PAIR_PLACES 31 /* places by PCI order that can be named */

struct tcpx_pair {
	uint16_t near, far; /* indices of the opener's and the acceptor's NIC */
};

/* A NIC as its side describes it. */
struct tcpx_pair_nic {
	struct tcpx_addr addr;
	const char *name;
	uint8_t place; /* by PCI order among the machine's NICs, from 1; 0: on no PCI bus, or beyond
			* TCPX_PAIR_PLACES */
};

/* The fit of two NICs, larger is better; 0: no family is common. A subnet counts more than
 * a name, and a name more than a place. */
unsigned tcpx_pair_fit(const struct tcpx_pair_nic *a, const struct tcpx_pair_nic *b);
/* Compares by the longer prefix; one known prefix is enough. */
bool tcpx_pair_same_subnet(const struct tcpx_addr *a, const struct tcpx_addr *b);

/*
 * tcpx_pair_plan - channels spread evenly over NIC pairs
 * NICs on one subnet are paired first, then those of one name, then those of one place on the PCI
 * bus, then any by index; of several on one subnet, those of one name first, and so on. Loopback
 * addresses are paired with each other alone. With fewer NICs on one side, several of the other
 * share one. Channel k uses pair k mod pairs. Both sides compute the same answer from the same
 * lists. At most 64 NICs of each side are used.
 * Return: number of distinct pairs (>= 1), or -ENONET: no two have a family in common.
 */
int tcpx_pair_plan(const struct tcpx_pair_nic *near, uint32_t near_count,
		   const struct tcpx_pair_nic *far, uint32_t far_count, struct tcpx_pair *out,
		   uint32_t channels);

/* Where tcpx_pair_plan() found none: the reason, for the one who reads it on our side. */
void tcpx_pair_none(const struct tcpx_pair_nic *ours, uint32_t our_count,
		    const struct tcpx_pair_nic *theirs, uint32_t their_count, const char *peer,
		    char *text, size_t cap);

#endif
