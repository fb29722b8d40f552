/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of lanes that go out. session.lock held. One that does not fit into the log ends the session, and so
 * all of its lanes. */
#ifndef CORE_TRANSFER_LANE_TELL_H
#define CORE_TRANSFER_LANE_TELL_H

#include "core/transfer/lane_state.h"
#include "proto/frame.h"

void tcpx_lane_tell_open(struct tcpx_lane *l);
void tcpx_lane_tell_posts(struct session *s, const struct tcpx_lane_posts *p);
/* Of a receiver: all that are not announced. */
void tcpx_lane_tell_receives(struct tcpx_lane *l);
/* The same after a short time: those that are over by then do without. False: now, since it was long ago
 * and the loop sleeps. */
bool tcpx_lane_tell_later(struct tcpx_lane *l);
/* Those whose time has come. */
void tcpx_lanes_tell_due(struct session *s, uint64_t now_ns);
/* Byte credit: all costs may add up to @total. */
void tcpx_lane_tell_grant(struct session *s, uint64_t total);
/* @sending: by the end that sends. */
void tcpx_lane_tell_failure(struct session *s, uint64_t word, bool sending, int code,
			    const char *text);
void tcpx_lane_tell_close(struct session *s, uint64_t word);
/* Sends LANE_DONE with the finished messages of @r, a receiver's ring, if there are any: acknowledgements of
 * channels may come after the end of the lane or the session. */
void tcpx_lane_tell_done(struct session *s, uint64_t word, const struct tcpx_lane_ring *r);

#endif
