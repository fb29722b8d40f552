/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data connections between this machine and a peer where `tcpx serve` runs, in both directions,
 * over each pair of NICs whose control port is open. Opens an engine for as long as that takes.
 */
#ifndef TUNE_DOCTOR_PEER_REACH_H
#define TUNE_DOCTOR_PEER_REACH_H

#include "tune/doctor/peer_route.h"
#include "tune/info/machine.h"

struct reach_result {
	unsigned pairs;      /* open both ways                                               */
	char bad[400];       /* "eth0 -> 10.0.0.2:40001 is silent, ..."; "" nothing           */
	char not_tried[256]; /* what was not, and why; "" all was                             */
};

/* Needs seconds where a port is silent. */
void peer_reach(const struct machine *m, const struct peer_addr *peer, unsigned count,
		struct reach_result *out);

#endif
