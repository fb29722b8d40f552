/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NIC here is paired with which NIC there. Pure: two address lists in, one NIC pair
 * for each channel out.
 */
#ifndef PROTO_PAIR_H
#define PROTO_PAIR_H

#include <stdint.h>

#include "base/addr.h"

struct tcpx_pair {
	uint16_t near, far; /* indices of the opener's and the acceptor's NIC */
};

/*
 * tcpx_pair_plan - channels spread evenly over NIC pairs
 * NICs on one subnet are paired first, in order. The remaining ones are paired by index
 * within the same family, and loopback addresses only with each other. With fewer NICs on
 * one side, several of the other share one. Channel k uses pair k mod pairs. Both sides
 * compute the same answer from the same lists. At most 64 NICs of each side are used.
 * Return: number of distinct pairs (>= 1), or -ENONET: no two have a family in common.
 */
int tcpx_pair_plan(const struct tcpx_addr *near, uint32_t near_count,
		   const struct tcpx_addr *far, uint32_t far_count, struct tcpx_pair *out,
		   uint32_t channels);

/* Where tcpx_pair_plan() found none: the reason, for the one who reads it on our side. */
void tcpx_pair_none(const struct tcpx_addr *ours, uint32_t our_count,
		    const struct tcpx_addr *theirs, uint32_t their_count, const char *peer,
		    char *text, size_t cap);

#endif
