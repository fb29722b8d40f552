/* SPDX-License-Identifier: Apache-2.0 */
/* A turn of a receiving channel. Lease held, lock not. */
#ifndef CORE_CHANNEL_RECEIVER_H
#define CORE_CHANNEL_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/channel/channel.h"

void tcpx_receiver_step(struct channel *c, uint64_t now_ns);

/* All messages of a batch are in place: acknowledges them together. */
void tcpx_receiver_acknowledge(struct copy_client *client);

#endif
