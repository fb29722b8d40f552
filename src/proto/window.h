/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sliding window of one channel: slots from post until release. The states are a
 * const table; a step the table does not have is TCPX_ESTATE naming state and event. A
 * landed but not yet unpacked message holds its slot; slots are released in order of
 * sequence, so the oldest slot blocks those behind it.
 */
#ifndef PROTO_WINDOW_H
#define PROTO_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum tcpx_slot_state {
	TCPX_SLOT_FREE,
	/* receiving */
	TCPX_SLOT_LANDED,    /* message is in provider memory          */
	TCPX_SLOT_UNPACKING, /* a batch reads it                       */
	TCPX_SLOT_SPENT,     /* copied out; waits for its turn         */
	/* sending */
	TCPX_SLOT_TAKEN,     /* chunk chosen, being packed             */
	TCPX_SLOT_SENDING,   /* provider has a part                    */
	TCPX_SLOT_SENT,      /* provider has all                       */
	TCPX_SLOT_RECEIVED,  /* out of the wire: send memory is free   */
	TCPX_SLOT_STATES
};

enum tcpx_slot_event {
	TCPX_EV_LAND,    /* FREE -> LANDED                                        */
	TCPX_EV_LAUNCH,  /* LANDED -> UNPACKING                                   */
	TCPX_EV_UNPACKED,/* UNPACKING -> SPENT                                    */
	TCPX_EV_RELEASE, /* SPENT -> FREE                                         */
	TCPX_EV_TAKE,    /* FREE -> TAKEN                                         */
	TCPX_EV_SEND,    /* TAKEN -> SENDING                                      */
	TCPX_EV_SENT,    /* SENDING -> SENT                                       */
	TCPX_EV_RECEIVED,/* SENT -> RECEIVED                                      */
	TCPX_EV_APPLIED, /* RECEIVED -> FREE                                      */
	TCPX_EV_ABORT,   /* the channel is down: LANDED, TAKEN, SENDING, SENT, RECEIVED,
			  * SPENT -> FREE; UNPACKING refuses (the batch must end first) */
	TCPX_SLOT_EVENTS
};

struct tcpx_slot {
	uint64_t seq;
	uint8_t state;
};

/* Slots of sequences (released, next): a ring indexed by seq. size is a power of two. */
struct tcpx_window {
	struct tcpx_slot *slot; /* size of them, owned by the window */
	uint32_t size, limit;   /* limit <= size: most in use        */
	uint64_t next;          /* sequence of the next post, from 1 */
	uint64_t released;      /* all up to here are FREE again     */
};

int tcpx_window_init(struct tcpx_window *w, uint32_t limit); /* -ENOMEM, -EINVAL */
void tcpx_window_fini(struct tcpx_window *w);
uint32_t tcpx_window_used(const struct tcpx_window *w);
bool tcpx_window_full(const struct tcpx_window *w);
/* Takes the next slot by ev (LAND or TAKE): *seq. TCPX_ELIMIT when full. */
int tcpx_window_post(struct tcpx_window *w, enum tcpx_slot_event ev, uint64_t *seq);
/* One step of the slot of seq. Stepping a slot to FREE is allowed for the oldest only
 * (TCPX_ESTATE otherwise), and moves released on. */
int tcpx_window_step(struct tcpx_window *w, uint64_t seq, enum tcpx_slot_event ev);
/* State of seq; FREE for anything outside (released, next). */
enum tcpx_slot_state tcpx_window_state(const struct tcpx_window *w, uint64_t seq);
/* The oldest sequence in use, 0 if none. */
uint64_t tcpx_window_oldest(const struct tcpx_window *w);
const char *tcpx_slot_state_name(enum tcpx_slot_state s);
const char *tcpx_slot_event_name(enum tcpx_slot_event e);

#endif
