/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels are woken for chunks. session.lock held. */
#ifndef CORE_TRANSFER_SPREAD_H
#define CORE_TRANSFER_SPREAD_H

#include <stdbool.h>

#include "core/channel/channel.h"
#include "core/transfer/transfer.h"

#define SPREAD_FEW_CHANNELS 8 /* enough for a staged transfer of middle size */

/* Offers the chunks of x to the channels and wakes those that are to pick. */
void tcpx_spread_chunks(struct session *s, struct tcpx_xfer *x);
/* Wakes a channel for a single chunk. False: none is idle. */
bool tcpx_spread_one(struct session *s, const struct tcpx_xfer *x);
/* Is one of these channels up, on another loop than the session's? */
bool tcpx_spread_others(const struct session *s, struct channel *const *chan);
/* Large messages of lanes keep off a loop that a thread has borrowed by testing: its turns would
 * hold that thread up, which has other connections to look after. */
bool tcpx_spread_keeps_off(const struct session *s, const struct channel *c, const struct tcpx_xfer *x);

#endif
