/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sliding window of one channel: slots from post until release. The states are a const
 * table; a step that the table lacks is TCPX_ESTATE, with state and event in the text. A
 * landed message holds its slot until it is unpacked. Slots are released in order, so the
 * oldest blocks those behind it.
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
	TCPX_SLOT_SPENT,     /* in place; waits for its turn           */
	/* sending */
	TCPX_SLOT_PICKED,    /* chunk picked, being packed             */
	TCPX_SLOT_SENDING,   /* provider has a part                    */
	TCPX_SLOT_SENT,      /* provider has all                       */
	TCPX_SLOT_RECEIVED,  /* off the wire: send memory is free      */
	TCPX_SLOT_STATES
};

enum tcpx_slot_event {
	TCPX_EV_LAND,    /* FREE -> LANDED                                        */
	TCPX_EV_PLACED,  /* FREE -> SPENT: received in place; LANDED -> SPENT     */
	TCPX_EV_LAUNCH,  /* LANDED -> UNPACKING                                   */
	TCPX_EV_UNPACKED,/* UNPACKING -> SPENT                                    */
	TCPX_EV_RELEASE, /* SPENT -> FREE                                         */
	TCPX_EV_PICK,    /* FREE -> PICKED                                        */
	TCPX_EV_SEND,    /* PICKED -> SENDING                                     */
	TCPX_EV_SENT,    /* SENDING -> SENT                                       */
	TCPX_EV_RECEIVED,/* SENT -> RECEIVED                                      */
	TCPX_EV_APPLIED, /* RECEIVED -> FREE                                      */
	TCPX_EV_ABORT,   /* the channel is down: LANDED, PICKED, SENDING, SENT, RECEIVED,
			  * SPENT -> FREE; UNPACKING refuses (the batch must end first) */
	TCPX_SLOT_EVENTS
};

struct tcpx_slot {
	uint64_t seq;
	uint8_t state;
};

/* Slots of sequence numbers (released, next): a ring indexed by seq. size is
 * a power of two. */
struct tcpx_window {
	struct tcpx_slot *slot; /* size of them, owned */
	uint32_t size, limit;   /* limit <= size: most slots in use  */
	uint64_t next;          /* sequence number of the next claim, from 1 */
	uint64_t released;      /* all up to here are FREE again     */
};

int tcpx_window_init(struct tcpx_window *w, uint32_t limit); /* -ENOMEM, -EINVAL */
void tcpx_window_fini(struct tcpx_window *w);
uint32_t tcpx_window_used(const struct tcpx_window *w);
bool tcpx_window_full(const struct tcpx_window *w);
/* Claims the next slot by ev (LAND, PLACED or PICK) and sets *seq. TCPX_ELIMIT when full. */
int tcpx_window_claim(struct tcpx_window *w, enum tcpx_slot_event ev, uint64_t *seq);
/* One step of the slot of seq. Only the oldest slot may step to FREE (else TCPX_ESTATE);
 * that moves released on. */
int tcpx_window_step(struct tcpx_window *w, uint64_t seq, enum tcpx_slot_event ev);
/* State of seq; FREE for anything outside (released, next). */
enum tcpx_slot_state tcpx_window_state(const struct tcpx_window *w, uint64_t seq);
/* The oldest sequence in use, 0 if none. */
uint64_t tcpx_window_oldest(const struct tcpx_window *w);
const char *tcpx_slot_state_name(enum tcpx_slot_state s);
const char *tcpx_slot_event_name(enum tcpx_slot_event e);

#endif
