/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: ordered one-way pipes whose messages are transfers. A message's id is its word of
 * proto/lane.h, so that tables, channels, ends and deadlines of transfers are its own, too.
 * session.lock held, unless noted.
 */
#ifndef CORE_TRANSFER_LANE_H
#define CORE_TRANSFER_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/transfer/lane_state.h"

/* One that sends, into its session, which is opening or open, and has a reference then. It may end the
 * session, and with it the lane. A failed session's cause; TCPX_ELIMIT. */
int tcpx_lane_join(struct tcpx_lane *l);
/* Ends it here and at the other end, with all its messages. First cause wins. */
void tcpx_lane_fail(struct tcpx_lane *l, int code, const char *text);
/* The session has failed. */
void tcpx_lanes_end(struct session *s);
/* Sends LANE_DONE for each receiving lane, before the BYE of a session that ends. */
void tcpx_lanes_leave(struct session *s);
/* Ends sends whose messages the receiver has finished. TCPX_EPROTO: it cannot have. */
int tcpx_lane_done(struct tcpx_lane *l, const struct tcpx_lane_progress *p);
/* Ends all that have a message in that region. */
void tcpx_lanes_region_gone(struct session *s, uint64_t region_id, const char *text);

/* Gives a message its number and its slot; it goes, or is announced, if it may. 0; TCPX_ELIMIT;
 * -EINVAL; TCPX_ESTALE. */
int tcpx_lane_enqueue(struct tcpx_lane *l, struct tcpx_xfer *x);
/* Sends what has its receive. */
void tcpx_lane_launch(struct tcpx_lane *l);
/* ... of all lanes, as there may be room or credit for it now. */
void tcpx_lanes_launch(struct session *s);
void tcpx_lane_announce(struct tcpx_lane *l);
/* It has ended at the other end, or has nothing open; no frame is due. */
void tcpx_lane_end(struct tcpx_lane *l, int code, const char *text);
/* Its receiver has closed it, with no receive open: what has gone is acknowledged yet. */
void tcpx_lane_refused(struct tcpx_lane *l);
/* A message has come in a frame. TCPX_EPROTO. */
int tcpx_lane_arrived(struct tcpx_lane *l, const struct tcpx_lane_data *d);
/* Channels that hold chunks of a lane look again where they go. */
void tcpx_lanes_wake_held(struct session *s);
/* The receive takes what has come for it, and is whole. */
void tcpx_lane_take(struct tcpx_lane *l, struct tcpx_xfer *x);
/* Chunks may come for the receive. */
void tcpx_lane_expect(struct session *s, struct tcpx_xfer *x);
/* A message of @len bytes, whose sender did not know of its receive, is longer than that: the lane fails. */
void tcpx_lane_refuse(struct tcpx_lane *l, const struct tcpx_xfer *x, uint64_t len);

#endif
