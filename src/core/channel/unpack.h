/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacking: the payload of a landed message is copied from where it landed into the memory of
 * its transfer. Called with the lease of the channel's loop held, session.lock not.
 */
#ifndef CORE_CHANNEL_UNPACK_H
#define CORE_CHANNEL_UNPACK_H

#include <stdint.h>

#include "core/channel/channel.h"

/* A message has landed: starts the copy to its destination. Takes over *r, which is empty then.
 * A failure is the code that ends the channel. */
int tcpx_unpack_add(struct channel *c, const struct tcpx_landed *msg, struct rx_record *r);
/* The copy of message seq is done: reports it to the transfer, which ends if there is an @error,
 * and acknowledges the message. */
void tcpx_unpack_done(struct copy_client *client, uint64_t seq, int error, uint64_t now_ns);

#endif
