/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait of a peer that broke the protocol, as its sessions may come again at once. Pure: counts and
 * times in, a time out.
 */
#ifndef PROTO_BREACH_H
#define PROTO_BREACH_H

#include <stdint.h>

/* Sessions of a peer, or from an address, that broke the protocol. All zero: none. */
struct tcpx_breaches {
	uint32_t count;       /* one is forgotten in each TCPX_BREACH_FORGET_NS         */
	uint64_t newest_ns;
};

#define TCPX_BREACH_FORGET_NS (10ull * 1000 * 1000 * 1000)
#define TCPX_BREACH_FEW  8 /* peers of an address come one by one after so many */
#define TCPX_BREACH_TURN 4 /* turns are this part of a breaker's first wait apart  */

void tcpx_breach(struct tcpx_breaches *b, uint64_t now_ns);
/* The time at which the peer may open a session again: @first_ns after a breach, and twice
 * as long after each more, up to 32 times. 0: now. */
uint64_t tcpx_breach_until(const struct tcpx_breaches *b, uint64_t first_ns, uint64_t now_ns);
/* The time at which the next peer of an address may be let in, if the last one was at
 * @last_ns: it may be the breaker under another name. 0: now. */
uint64_t tcpx_breach_turn(const struct tcpx_breaches *b, uint64_t last_ns, uint64_t first_ns, uint64_t now_ns);

#endif
