/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing: the payload of a picked message is copied from the memory of its transfer into a
 * staging buffer or a slot. Called with the lease of the channel's loop held, session.lock not.
 */
#ifndef CORE_CHANNEL_PACK_H
#define CORE_CHANNEL_PACK_H

#include <stdint.h>

#include "core/channel/channel.h"

/* Starts the copy of the payload of message seq into r->mem. An error ends the transfer. */
void tcpx_pack_start(struct channel *c, uint64_t seq, struct tx_record *r);
/* The copy of message seq is done, or failed with @error: queues the channel to send it. */
void tcpx_pack_done(struct copy_client *client, uint64_t seq, int error);

#endif
