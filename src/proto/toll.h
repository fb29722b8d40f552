/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a peer pays for work that came to nothing: a message of a hundred bytes may name a list of a
 * million entries and be refused at the last, and a session may break the protocol and come again at
 * once. Pure: counts and times in, a time out.
 */
#ifndef PROTO_TOLL_H
#define PROTO_TOLL_H

#include <stdbool.h>
#include <stdint.h>

/* Of a session: the peer's next frames wait until paid_ns. */
struct tcpx_toll {
	uint64_t paid_ns;
};

#define TCPX_TOLL_ENTRY_NS 20ull /* what reading an entry of a list takes              */
#define TCPX_TOLL_TIMES    32ull /* ... and how many times as long it is paid for      */
#define TCPX_TOLL_FREE_NS  (100ull * 1000 * 1000) /* that much is free, if nothing was refused
						   * for as long: a region may go while
						   * a few transfers name it             */

/* Work of so many entries was refused. The peer waits for @most_ns at most. */
void tcpx_toll_charge(struct tcpx_toll *t, uint64_t entries, uint64_t most_ns, uint64_t now_ns);

static inline bool
tcpx_toll_is_due(const struct tcpx_toll *t, uint64_t now_ns)
{
	return now_ns < t->paid_ns;
}

/* Sessions of a peer, or from an address, that broke the protocol. All zero: none. */
struct tcpx_breaches {
	uint32_t count;       /* one is forgotten in each TCPX_BREACH_NS                */
	uint64_t newest_ns;
};

#define TCPX_BREACH_NS   (10ull * 1000 * 1000 * 1000)
#define TCPX_BREACH_FEW  8 /* peers of an address come one by one after so many */
#define TCPX_BREACH_TURN 4 /* turns are this part of a breaker's first wait apart  */

void tcpx_breach(struct tcpx_breaches *b, uint64_t now_ns);
/* When the peer may open a session again: @first_ns after a breach, and twice as long after each more, up to
 * 32 times. 0: now. */
uint64_t tcpx_breach_until(const struct tcpx_breaches *b, uint64_t first_ns, uint64_t now_ns);
/* When the next peer of an address may be let in, if the last one was at @last_ns: it may be the breaker under
 * another name. 0: now. */
uint64_t tcpx_breach_turn(const struct tcpx_breaches *b, uint64_t last_ns, uint64_t first_ns, uint64_t now_ns);

#endif
