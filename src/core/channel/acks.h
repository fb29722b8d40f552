/* SPDX-License-Identifier: Apache-2.0 */
/* A sending channel's window. Lease held, lock not, unless noted. */
#ifndef CORE_CHANNEL_ACKS_H
#define CORE_CHANNEL_ACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/channel/channel.h"

/* Nothing reads the message's buffer any more. */
void tcpx_acks_free_staging(struct channel *c, struct tx_record *r);
/* The connection is closed and no batch is in flight. fenced: the peer's side is closed,
 * too, so no one reads the buffers any more; else lent pages may still be read. */
void tcpx_acks_drop_staging(struct channel *c, bool fenced);
/* TCPX_EFRAME: no peer may acknowledge that. */
int tcpx_acks_take(struct channel *c, const struct tcpx_ack *ack, uint64_t now_ns);
/* The connection is closed; chunks that the peer did not take over go to other channels. lock
 * held. */
void tcpx_acks_give_back(struct channel *c);

#endif
