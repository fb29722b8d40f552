/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait that a peer pays for work that came to nothing: a message of a hundred bytes may name a list of a
 * million entries and be refused at the last. Pure: counts and times in, a time out.
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

#endif
