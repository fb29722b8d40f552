/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte credit of eager messages: those that a sender lets go before their receive is announced, and
 * that the receiver keeps until then. One counter each way of a session, for all of its lanes. Both
 * sides count alike: a message costs its length and what it takes to keep it. The receiver says up
 * to which sum of these the sender may go, and raises that as messages are taken. A message counts when
 * all of it has come; the sender gives back what has not, and never will.
 */
#ifndef PROTO_EAGER_H
#define PROTO_EAGER_H

#include <stdbool.h>
#include <stdint.h>

#define TCPX_EAGER_KEEP  128u          /* to keep a message, besides its bytes            */
#define TCPX_EAGER_FRAME (16u << 10)   /* of one message: beyond, a channel may carry it    */
#define TCPX_EAGER_MOST  (64u << 10)   /* of one message that a channel carries             */
#define TCPX_EAGER_FIRST (256u << 10)  /* the first window, if there is room              */
#define TCPX_EAGER_LEAST (16u << 10)   /* ... and the least that is worth anything        */

static inline uint64_t
tcpx_eager_cost(uint64_t len)
{
	return len + TCPX_EAGER_KEEP;
}

/* The sender's side. */
struct tcpx_eager_tx {
	uint64_t granted; /* costs may add up to this, in the life of the session         */
	uint64_t used;
};
/* Uses credit, if there is enough. */
bool tcpx_eager_use(struct tcpx_eager_tx *t, uint64_t cost);
/* What it was used for has not gone, and never will. */
void tcpx_eager_unused(struct tcpx_eager_tx *t, uint64_t cost);
/* A grant has come. TCPX_EPROTO: it takes back. */
int tcpx_eager_granted(struct tcpx_eager_tx *t, uint64_t granted);

/* The receiver's side. */
struct tcpx_eager_rx {
	uint64_t window;  /* what may be kept; 0: nothing is granted                      */
	uint64_t granted; /* as LANE_GRANT has said                                       */
	uint64_t used, taken;
	uint64_t coming; /* of those that come by channels and will be kept               */
};
/* A message that will be kept begins to come by a channel. TCPX_EPROTO: without enough credit. */
int tcpx_eager_begins(struct tcpx_eager_rx *r, uint64_t cost);
/* ... comes no longer: it has come, or will not be kept. */
void tcpx_eager_stops(struct tcpx_eager_rx *r, uint64_t cost);
/* A message has come on credit. TCPX_EPROTO: without enough of it. */
int tcpx_eager_arrived(struct tcpx_eager_rx *r, uint64_t cost);
/* ... has been taken, or dropped. True: a grant is due. */
bool tcpx_eager_taken(struct tcpx_eager_rx *r, uint64_t cost);
/* Would more have been used, or is there no credit for a message of @longest bytes? A larger window then
 * lets the sender go on. */
bool tcpx_eager_short(const struct tcpx_eager_rx *r, uint64_t longest);
/* What LANE_GRANT is to say: it counts from now on. */
uint64_t tcpx_eager_grant(struct tcpx_eager_rx *r);

#endif
