/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of lanes that have come. session.lock held. */
#ifndef CORE_TRANSFER_LANE_FRAMES_H
#define CORE_TRANSFER_LANE_FRAMES_H

#include "core/transfer/lane.h"
#include "proto/frame.h"

/* Of those that were opened before the session was. */
void tcpx_lanes_opened(struct session *s);
/* One that has come. 0, or TCPX_EPROTO. */
int tcpx_lane_frame(struct session *s, uint8_t type, struct tcpx_buf *b);

#endif
