/* SPDX-License-Identifier: Apache-2.0 */
/* One channel's way to its connection: which side listens, its identity, an attempt. lock held. */
#ifndef CORE_CHANNEL_ATTEMPT_H
#define CORE_CHANNEL_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/channel/channel.h"

/* Does each side of the session listen for what it receives? Else the acceptor alone listens. */
bool tcpx_attempt_both_listen(const struct session *s);
/* Which side of a channel listens. The other connects with its handle. */
bool tcpx_attempt_listens(const struct channel *c);
/* Sets the identity of the channel's present generation, but for its token. */
void tcpx_attempt_identify(struct channel *c);
/* Listens for the channel, and writes where. 0: it is usable; or a code. */
int tcpx_attempt_listen(struct channel *c, uint8_t handle[TCPX_HANDLE_BYTES]);
/* Connects, or accepts, a step further. 0: the channel is up; -EAGAIN; or why that failed. */
int tcpx_attempt_step(struct channel *c);
/* How long until the next look at attempts of this side that have run for so long. */
uint64_t tcpx_attempt_look_ns(const struct session *s, bool listens, uint64_t running_ns);

#endif
