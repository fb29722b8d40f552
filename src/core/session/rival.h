/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that names the incarnation of a session which the same peer, as it seems, has opened
 * before. Names are in everybody's reach, or in that of everybody with the secret: the older session counts
 * as long as it answers, or its process may. An engine that dials us by a second name gives way by itself,
 * as our HELLO says whom it has reached. A session of our own to that peer is no rival: engines may open to
 * each other.
 */
#ifndef CORE_SESSION_RIVAL_H
#define CORE_SESSION_RIVAL_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct tcpx_engine;

struct tcpx_peer;

enum rival_verdict {
	RIVAL_ADMIT,   /* nobody has that incarnation            */
	RIVAL_REPLACE, /* admit, and end the older session       */
	RIVAL_WAIT,    /* the newcomer may give way meanwhile    */
	RIVAL_LATER,   /* the older session's process hangs      */
	RIVAL_REFUSE
};

/* Facts about the older session. */
struct rival_facts {
	bool stands;   /* it has not ended                                    */
	bool overdue;  /* it has had the time to answer                       */
	bool answered; /* it has answered since it was asked                  */
	bool acked;    /* its kernel has acknowledged the question            */
};

enum rival_verdict tcpx_rival_judge(const struct rival_facts *f);

/* A newcomer's question to the older session. Zeroed at first. */
struct rival {
	struct session *older; /* owned reference; NULL: not asked */
	uint64_t answers;      /* that it had given before         */
	uint64_t until_ns;
};

/* So long a newcomer waits at most. */
uint64_t tcpx_rival_patience(const struct tcpx_engine *e);
/* Judges now; asks the older session the first time. After RIVAL_WAIT call again when the loop's
 * timers run. Lease of loop 0, no session's lock. */
enum rival_verdict tcpx_rival_look(struct tcpx_engine *e, struct rival *r, uint64_t incarnation,
				   uint64_t now_ns);
/* Without a session of ours the peer is gone with the older one, as what was said there is lost: the
 * newcomer is another of it. NULL: the peer stays. */
const struct tcpx_peer *tcpx_rival_leaver(const struct rival *r);
/* Ends the older session. The newcomer's stands already. */
void tcpx_rival_replace(struct rival *r);
void tcpx_rival_forget(struct rival *r);
/* The session has ended: a newcomer that waits for it looks again. Lease of loop 0. */
void tcpx_rival_ended(struct session *s);

#endif
