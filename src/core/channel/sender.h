/* SPDX-License-Identifier: Apache-2.0 */
/* A turn of a sending channel. Lease held, lock not. */
#ifndef CORE_CHANNEL_SENDER_H
#define CORE_CHANNEL_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/channel/channel.h"

void tcpx_sender_step(struct channel *c, bool readable, uint64_t now_ns);

#endif
