/* SPDX-License-Identifier: Apache-2.0 */
/* Waking a session's channels. session.lock held. */
#ifndef CORE_CHANNEL_WAKE_H
#define CORE_CHANNEL_WAKE_H

#include <stdbool.h>
#include <stdint.h>

struct channel;
struct session;

void tcpx_channels_wake_all(struct session *s); /* those that send */
/* May it send? Not while a late GPU may still reach its slots. */
bool tcpx_channel_usable(const struct channel *c);
/* Those that send and may. */
void tcpx_channels_wake_usable(struct session *s);
/* Wakes those that send, for this many chunks; of sleeping ones two, which wake the next. */
void tcpx_channels_wake(struct session *s, uint32_t want);

/* The session has failed: the loop of each channel, either way, closes it. */
void tcpx_channels_end(struct session *s);

#endif
