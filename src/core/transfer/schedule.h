/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunk a channel sends next, and which channels are woken for the chunks of a transfer. */
#ifndef CORE_TRANSFER_SCHEDULE_H
#define CORE_TRANSFER_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/channel/channel.h"
#include "core/transfer/transfer.h"

/* Picks the next chunk if this channel may: its record, in the window's newest slot. NULL:
 * none. Lease of its loop held, session.lock not. */
struct tx_record *tcpx_schedule_pick(struct channel *c, uint64_t now_ns);

#endif
