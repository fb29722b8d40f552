/* SPDX-License-Identifier: Apache-2.0 */
/* Full-size packets in both directions of pairs of NICs. */
#ifndef TUNE_DOCTOR_PEER_SIZE_H
#define TUNE_DOCTOR_PEER_SIZE_H

#include "tune/doctor/peer_connect.h"
#include "tune/doctor/peer_reach.h"

/* A pair whose data connection @fd stands, and that the server has answered on. */
struct size_try {
	struct reach_pair *pair;
	const struct tcpx_nic *nic;
	const struct tcpx_addr *to;
	int fd;
};

/* Fills in the ways of the pairs. */
void peer_sizes(const struct size_try *t, unsigned count, uint64_t token, const char *congestion);

#endif
