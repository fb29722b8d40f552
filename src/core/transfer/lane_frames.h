/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of lanes, both ways. session.lock held. */
#ifndef CORE_TRANSFER_LANE_FRAMES_H
#define CORE_TRANSFER_LANE_FRAMES_H

#include "core/transfer/lane.h"
#include "proto/frame.h"

void tcpx_lane_tell_open(struct tcpx_lane *l);
void tcpx_lane_tell_posts(struct session *s, const struct tcpx_lane_posts *p);
/* @sending: by the end that sends. */
void tcpx_lane_tell_failure(struct session *s, uint64_t word, bool sending, int code,
			    const char *text);
/* Of those that were opened before the session was. */
void tcpx_lanes_opened(struct session *s);
/* One that has come. 0, or TCPX_EPROTO. */
int tcpx_lane_frame(struct session *s, uint8_t type, struct tcpx_buf *b);

#endif
