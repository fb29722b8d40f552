/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NIC here talks to which NIC there. Pure: two address lists in, one pair a
 * channel out.
 */
#ifndef PROTO_PAIR_H
#define PROTO_PAIR_H

#include <stdint.h>

struct tcpx_pair_nic {
	uint8_t family; /* 4 or 6 */
	uint8_t prefix; /* subnet bits, 0 unknown */
	uint8_t ip[16];
};
struct tcpx_pair {
	uint16_t near, far; /* indices of the opener's and the acceptor's NIC */
};

/*
 * tcpx_pair_plan - channels spread evenly over NIC pairs
 * NICs on one subnet are paired with each other first, in order; what is left by index
 * within the same family, never loopback addresses with others. With fewer NICs on one
 * side several of the other share it. Channel k uses pair k mod pairs. Both sides
 * compute the same answer from the same lists. At most 64 NICs of each side are used.
 * Return: number of distinct pairs (>= 1), or -ENONET: no two have a family in common.
 */
int tcpx_pair_plan(const struct tcpx_pair_nic *near, uint32_t near_count,
		   const struct tcpx_pair_nic *far, uint32_t far_count, struct tcpx_pair *out,
		   uint32_t channels);

#endif
