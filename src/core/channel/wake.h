/* SPDX-License-Identifier: Apache-2.0 */
/* Waking a session's sending channels. lock held. */
#ifndef CORE_CHANNEL_WAKE_H
#define CORE_CHANNEL_WAKE_H

#include <stdint.h>

struct session;

void tcpx_channels_wake_all(struct session *s); /* lock held */
/* Wakes channels for this many chunks. lock held. */
void tcpx_channels_wake(struct session *s, uint32_t want);

/* The session has failed: each channel's loop closes it. */
void tcpx_channels_end(struct session *s);

#endif
