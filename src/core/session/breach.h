/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers whose sessions broke the protocol, and addresses from which they came. The newest are remembered; what
 * is forgotten makes room. A peer waits ever longer. It may come again under another incarnation: so after a few
 * breaches from an address all that come from there take turns. Lease of loop 0.
 */
#ifndef CORE_SESSION_BREACH_H
#define CORE_SESSION_BREACH_H

#include <stdint.h>

#include "base/addr.h"
#include "proto/breach.h"

struct session;
struct tcpx_engine;
struct tcpx_refusal;

#define BREACH_ROWS 32
#define BREACH_NS (100 * TCPX_MS)

struct breach_row {
	uint64_t incarnation;  /* of a peer; else 0                          */
	struct tcpx_addr from; /* the address; of a peer: none               */
	struct tcpx_breaches made;
	uint64_t let_in_ns;    /* when the last one from this address had its turn */
};

struct breach_table {
	struct breach_row peer[BREACH_ROWS], addr[BREACH_ROWS];
};

/* The session, which the peer has opened, ends with @code. A no-op for what is no breach. lock held. */
void tcpx_breach_ended(const struct session *s, int code, uint64_t now_ns);
/* May that incarnation open a session? 0, or TCPX_ELIMIT: later. */
int tcpx_breach_check(const struct tcpx_engine *e, uint64_t incarnation, uint64_t now_ns,
		      struct tcpx_refusal *no);
/* When one from that address may have its turn; 0: now. */
uint64_t tcpx_breach_turn_of(const struct tcpx_engine *e, const struct tcpx_addr *from, uint64_t now_ns);
/* The turn of one from that address begins. */
void tcpx_breach_let_in(struct tcpx_engine *e, const struct tcpx_addr *from, uint64_t now_ns);

#endif
