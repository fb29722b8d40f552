/* SPDX-License-Identifier: Apache-2.0 */
/* When a silence is one, and when a peer has gone: judged without a clock of its own. */
#ifndef PROTO_HEALTH_H
#define PROTO_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A living engine listens all its life. So it has gone when each of its addresses refuses twice,
 * in two rounds apart. A firewall that restarts refuses for a while, too: after a connection that
 * was reset the rounds are further apart than after one that the peer's kernel closed.
 */
struct tcpx_refusals {
	uint32_t row;      /* refusals in a row that count; 0: none                   */
	uint64_t round_ns; /* when the first round was complete                       */
};

/* The least time between the rounds. */
uint64_t tcpx_rounds_apart(bool closed, uint64_t stall_ns);
/* The next of @addresses, tried in turn, has refused. True: the peer has gone. */
bool tcpx_refused_again(struct tcpx_refusals *r, uint32_t addresses, uint64_t apart_ns,
			uint64_t now_ns);

#endif
