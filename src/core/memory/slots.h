/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of channels that a GPU may still reach, since it was late with copies from or to them. No other
 * device writes them meanwhile, and their channel is closed when it has finished. Lease held.
 */
#ifndef CORE_MEMORY_SLOTS_H
#define CORE_MEMORY_SLOTS_H

#include <stdbool.h>

struct copy_client;
struct loop;
struct tcpx_chan;

/* No slot of @c may be written now (tcpx_late_reaches()): its work runs when one perhaps may. True: it had
 * not waited. */
bool tcpx_slots_wait(struct copy_client *c);
/* Closes the connection of @c, now or when no late GPU reaches its slots any more. No copy of it is in
 * flight. */
void tcpx_slots_close(struct copy_client *c, struct tcpx_chan *chan);
/* After tcpx_flight_timer(). */
void tcpx_slots_timer(struct loop *l);
/* What a late GPU still reaches is left to it, and the provider with it. */
void tcpx_slots_fini(struct loop *l);

#endif
