/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways between this machine and a peer, by the engine's own sockets: its control ports; and where
 * `tcpx serve` runs there, for pairs of NICs, data connections, the way back, and full-size packets
 * in both directions. Opens an engine for as long as that takes.
 */
#ifndef TUNE_DOCTOR_PEER_REACH_H
#define TUNE_DOCTOR_PEER_REACH_H

#include "net/net.h"
#include "tune/doctor/peer_route.h"
#include "tune/info/machine.h"

#define REACH_PAIRS 128

/* A NIC of the peer. */
struct reach_far {
	struct tcpx_addr addr; /* port 0: nobody there says which it is  */
	char text[64];         /* "10.0.0.2:40001", or without the port  */
	char host[TCPX_HOST_ADDR_TEXT]; /* without it                    */
	uint16_t control;      /* its port for control                   */
};

/* A direction of a pair of NICs. */
struct reach_way {
	uint32_t full;   /* bytes of its full-size packets                     */
	uint32_t passes; /* bytes of the greatest that arrived                 */
	bool small;      /* full-size ones do not arrive                       */
};

struct reach_pair {
	unsigned nic, far; /* of the machine's chosen ones; of the peer's           */
	bool subnet;       /* both are in one                                       */
	int data;          /* 0: connected; ETIMEDOUT: silent; EINPROGRESS: not tried */
	int path;          /* likewise, to the control port                         */
	char back;         /* REACH_OPEN...; 0: not tried                           */
	char tried[64];    /* the address of ours that the peer tried               */
	struct reach_way out, in;
	uint32_t mtu, far_mtu;
};

struct reach {
	bool done;
	struct peer_addr peer[PEERS_MAX]; /* as they were given                      */
	unsigned peer_count;
	int control[PEERS_MAX];           /* connecting there, as an engine does     */
	struct reach_far far[TCPX_HOST_NICS];
	unsigned far_count;
	struct reach_pair pair[REACH_PAIRS];
	unsigned pair_count;
	unsigned left_out;                /* pairs that were more                    */
	char silent[128];    /* "10.0.0.2:40001 is silent": why no channel came up; "" */
	char not_tried[256]; /* why no data connection was tried; "" they were         */
};

/* Looks once: r->done, peer and peer_count are the caller's. Needs seconds where a port is
 * silent. */
void peer_reach(const struct machine *m, struct reach *r);

#endif
