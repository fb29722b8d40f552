/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a slot. The memory behind a receive slot belongs to the provider and must not
 * go back before the copy out of it has finished. The table guarantees it by what is
 * missing: RELEASE is only possible from SPENT, and a slot that is being unpacked becomes SPENT
 * by UNPACKED alone; it cannot even be aborted. A message that is received in place is SPENT at
 * once.
 */
#include "proto/window.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define LIMIT_MAX 65536u

#define NO   TCPX_SLOT_STATES /* this event is a bug in this state */
#define FREE TCPX_SLOT_FREE
#define LAND TCPX_SLOT_LANDED
#define UNPA TCPX_SLOT_UNPACKING
#define SPEN TCPX_SLOT_SPENT
#define PICK TCPX_SLOT_PICKED
#define SNDG TCPX_SLOT_SENDING
#define SENT TCPX_SLOT_SENT
#define RECV TCPX_SLOT_RECEIVED

/* clang-format off */
static const uint8_t next_state[TCPX_SLOT_STATES][TCPX_SLOT_EVENTS] = {
	/*                        LAND  PLAC  LAUN  UNPA  RELE  PICK  SEND  SENT  RECE  APPL  ABOR */
	[TCPX_SLOT_FREE]      = { LAND, SPEN, NO,   NO,   NO,   PICK, NO,   NO,   NO,   NO,   NO   },
	[TCPX_SLOT_LANDED]    = { NO,   SPEN, UNPA, NO,   NO,   NO,   NO,   NO,   NO,   NO,   FREE },
	[TCPX_SLOT_UNPACKING] = { NO,   NO,   NO,   SPEN, NO,   NO,   NO,   NO,   NO,   NO,   NO   },
	[TCPX_SLOT_SPENT]     = { NO,   NO,   NO,   NO,   FREE, NO,   NO,   NO,   NO,   NO,   FREE },
	[TCPX_SLOT_PICKED]    = { NO,   NO,   NO,   NO,   NO,   NO,   SNDG, NO,   NO,   NO,   FREE },
	[TCPX_SLOT_SENDING]   = { NO,   NO,   NO,   NO,   NO,   NO,   NO,   SENT, NO,   NO,   FREE },
	[TCPX_SLOT_SENT]      = { NO,   NO,   NO,   NO,   NO,   NO,   NO,   NO,   RECV, NO,   FREE },
	[TCPX_SLOT_RECEIVED]  = { NO,   NO,   NO,   NO,   NO,   NO,   NO,   NO,   NO,   FREE, FREE },
};
/* clang-format on */

static const char *const state_name[] = {
	"FREE", "LANDED", "UNPACKING", "SPENT", "PICKED", "SENDING", "SENT", "RECEIVED",
};
static const char *const event_name[] = {
	"LAND", "PLACED", "LAUNCH", "UNPACKED", "RELEASE", "PICK",
	"SEND", "SENT",	  "RECEIVED", "APPLIED", "ABORT",
};
_Static_assert(sizeof(state_name) / sizeof(state_name[0]) == TCPX_SLOT_STATES,
	       "name every state");
_Static_assert(sizeof(event_name) / sizeof(event_name[0]) == TCPX_SLOT_EVENTS,
	       "name every event");

const char *
tcpx_slot_state_name(enum tcpx_slot_state s)
{
	return (unsigned)s < TCPX_SLOT_STATES ? state_name[s] : "?";
}

const char *
tcpx_slot_event_name(enum tcpx_slot_event e)
{
	return (unsigned)e < TCPX_SLOT_EVENTS ? event_name[e] : "?";
}

int
tcpx_window_init(struct tcpx_window *w, uint32_t limit)
{
	struct tcpx_slot *slot;
	uint32_t size = 1;

	if (!limit || limit > LIMIT_MAX)
		return tcpx_fail(TCPX_SUB_CHAN, -EINVAL,
				 "a window of %u slots; 1 to %u are allowed", limit, LIMIT_MAX);
	while (size < limit)
		size *= 2;
	slot = calloc(size, sizeof(*slot));
	if (!slot)
		return tcpx_fail(TCPX_SUB_CHAN, -ENOMEM, "a window of %u slots", limit);
	*w = (struct tcpx_window){ .slot = slot, .size = size, .limit = limit, .next = 1 };
	return 0;
}

void
tcpx_window_fini(struct tcpx_window *w)
{
	free(w->slot);
	*w = (struct tcpx_window){ .slot = NULL };
}

uint32_t
tcpx_window_used(const struct tcpx_window *w)
{
	return w->next ? (uint32_t)(w->next - 1 - w->released) : 0;
}

bool
tcpx_window_full(const struct tcpx_window *w)
{
	return tcpx_window_used(w) >= w->limit;
}

static struct tcpx_slot *
slot_of(const struct tcpx_window *w, uint64_t seq)
{
	if (seq <= w->released || seq >= w->next)
		return NULL;
	return &w->slot[seq & (w->size - 1)];
}

static int
refuse(uint64_t seq, enum tcpx_slot_event ev, enum tcpx_slot_state s, const char *why)
{
	return tcpx_fail(TCPX_SUB_CHAN, TCPX_ESTATE,
			 "slot of message %" PRIu64 ": %s while %s%s", seq,
			 tcpx_slot_event_name(ev), tcpx_slot_state_name(s), why);
}

int
tcpx_window_claim(struct tcpx_window *w, enum tcpx_slot_event ev, uint64_t *seq)
{
	struct tcpx_slot *slot = &w->slot[w->next & (w->size - 1)];
	uint8_t next;

	if (tcpx_window_full(w))
		return tcpx_fail(TCPX_SUB_CHAN, TCPX_ELIMIT,
				 "message %" PRIu64 ": all %u slots of the window are in use",
				 w->next, w->limit);
	next = (unsigned)ev < TCPX_SLOT_EVENTS ? next_state[TCPX_SLOT_FREE][ev] : NO;
	if (next == NO)
		return refuse(w->next, ev, TCPX_SLOT_FREE, "");
	*slot = (struct tcpx_slot){ .seq = w->next, .state = next };
	*seq = w->next++;
	return 0;
}

int
tcpx_window_step(struct tcpx_window *w, uint64_t seq, enum tcpx_slot_event ev)
{
	struct tcpx_slot *slot = slot_of(w, seq);
	uint8_t next;

	if (!slot)
		return refuse(seq, ev, TCPX_SLOT_FREE, " (not in the window)");
	next = (unsigned)ev < TCPX_SLOT_EVENTS ? next_state[slot->state][ev] : NO;
	if (next == NO)
		return refuse(seq, ev, slot->state, "");
	if (next == TCPX_SLOT_FREE && seq != w->released + 1)
		return refuse(seq, ev, slot->state, " and not the oldest");
	slot->state = next;
	if (next == TCPX_SLOT_FREE)
		w->released++;
	return 0;
}

enum tcpx_slot_state
tcpx_window_state(const struct tcpx_window *w, uint64_t seq)
{
	const struct tcpx_slot *slot = slot_of(w, seq);

	return slot ? slot->state : TCPX_SLOT_FREE;
}

uint64_t
tcpx_window_oldest(const struct tcpx_window *w)
{
	return tcpx_window_used(w) ? w->released + 1 : 0;
}
