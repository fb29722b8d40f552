/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one generation of a channel. */
#ifndef CORE_CHANNEL_STATE_H
#define CORE_CHANNEL_STATE_H

#include "core/channel/channel.h"

/* Makes the window, what is kept of messages, and what it needs to connect. 0; -ENOMEM, or the
 * window's code: nothing is made. */
int tcpx_channel_state_make(struct channel *c);
/* A channel that was lost and has closed is as new, not connected, with its rate and figures.
 * lock held, and the lease of its loop. -ENOMEM, TCPX_ELIMIT (no generation is left): it stays
 * closed. */
int tcpx_channel_renew(struct channel *c);

#endif
