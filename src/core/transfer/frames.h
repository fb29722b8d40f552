/* SPDX-License-Identifier: Apache-2.0 */
/* The effect of the peer's frames on transfers. session.lock held. */
#ifndef CORE_TRANSFER_FRAMES_H
#define CORE_TRANSFER_FRAMES_H

#include <stdint.h>

#include "core/session/session.h"

/* @payload stays while xfers.half_read is set. */
int tcpx_frames_handle(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload);
/* In the next turn: more of the list of which that frame has a part. */
int tcpx_frames_rest(struct session *s);

#endif
