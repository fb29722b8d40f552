/* SPDX-License-Identifier: Apache-2.0 */
/* Waking a session's channels. session.lock held. */
#ifndef CORE_CHANNEL_WAKE_H
#define CORE_CHANNEL_WAKE_H

#include <stdint.h>

struct session;

void tcpx_channels_wake_all(struct session *s); /* those that send */
/* Those that send, and whose slots no late GPU may still reach. */
void tcpx_channels_wake_usable(struct session *s);
/* Wakes those that send, for this many chunks; of sleeping ones two, which wake the next. */
void tcpx_channels_wake(struct session *s, uint32_t want);

/* The session has failed: the loop of each channel, either way, closes it. */
void tcpx_channels_end(struct session *s);

#endif
