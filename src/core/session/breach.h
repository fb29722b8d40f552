/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses from which sessions came that broke the protocol. The newest are remembered; what is
 * forgotten makes room. Lease of loop 0.
 */
#ifndef CORE_SESSION_BREACH_H
#define CORE_SESSION_BREACH_H

#include <stdint.h>

#include "base/addr.h"
#include "proto/toll.h"

struct session;
struct tcpx_engine;
struct tcpx_refusal;

#define BREACH_ADDRS 32
#define BREACH_NS (100 * TCPX_MS)

struct breach_table {
	struct {
		struct tcpx_addr from;
		struct tcpx_breaches made;
	} at[BREACH_ADDRS];
};

/* The session, which the peer has opened, ends with @code. A no-op for what is no breach. lock held. */
void tcpx_breach_ended(const struct session *s, int code, uint64_t now_ns);
/* May that incarnation open a session? 0, or TCPX_ELIMIT: later. */
int tcpx_breach_check(const struct tcpx_engine *e, const struct tcpx_addr *from,
		      uint64_t incarnation, uint64_t now_ns, struct tcpx_refusal *no);

#endif
