/* SPDX-License-Identifier: Apache-2.0 */
/* What a session's timer looks at in its channels: fences, silent paths, lost channels. */
#ifndef CORE_CHANNEL_CHECK_H
#define CORE_CHANNEL_CHECK_H

#include <stdint.h>

#include "core/session/session.h"

/* Fails the session if a fence has taken too long; gives up channels whose NIC is down, or whose path is
 * silent or too slow; goes on opening lost ones. lock held, and the lease of the session's loop. */
void tcpx_channels_check(struct session *s, uint64_t now_ns);
/* Gives up idle sending channels of NIC @near here and @far there, less than 0: any: they would swallow the
 * chunks that they are given next, as a connection beside them is silent. lock held. */
void tcpx_channels_leave(struct session *s, int near, int far);
/* Makes the channels between the two NICs for packets of @packet bytes at most from now on,
 * as larger ones do not pass. @swallowed: the size that does not pass; channels that send
 * are made again at once. 0: none is. */
void tcpx_channels_shrink(struct session *s, int near, int far, uint16_t packet, uint32_t swallowed);
/* Time in which nothing ran, here or there, counts for no fence and no silence. Likewise. */
void tcpx_channels_late(struct session *s, const struct pause *p);

#endif
