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

#include "core/channel/channel.h"
#include "core/transfer/lane_state.h"

/* One that sends, into its session, which is opening or open. A failed session's cause; TCPX_ELIMIT. */
int tcpx_lane_join(struct tcpx_lane *l);
/* Ends it here and at the other end, with all its messages. First cause wins. */
void tcpx_lane_fail(struct tcpx_lane *l, int code, const char *text);
/* The session has failed. */
void tcpx_lanes_end(struct session *s);
/* Ends all that have a message in that region. */
void tcpx_lanes_region_gone(struct session *s, uint64_t region_id, const char *text);

/* Gives a message its number and its slot; it goes, or is announced, if it may. 0; TCPX_ELIMIT;
 * -EINVAL; TCPX_ESTALE. */
int tcpx_lane_enqueue(struct tcpx_lane *l, struct tcpx_xfer *x);
/* Sends what has its receive. */
void tcpx_lane_launch(struct tcpx_lane *l);
void tcpx_lane_announce(struct tcpx_lane *l);
/* It has ended at the other end, or has nothing open; no frame is due. */
void tcpx_lane_end(struct tcpx_lane *l, int code, const char *text);
/* Its receiver has closed it, with no receive open: what has gone is acknowledged yet. */
void tcpx_lane_refused(struct tcpx_lane *l);
/* A message has come in a frame. TCPX_EPROTO. */
int tcpx_lane_arrived(struct tcpx_lane *l, const struct tcpx_lane_data *d);
/* Channels that hold chunks of a lane look again where they go. */
void tcpx_lanes_wake_held(struct session *s);

/* As the channels' place() and applied(), for the chunks of a lane. *done: a message is whole. */
int tcpx_lane_place(struct channel *c, const struct tcpx_head *h, struct rx_record *r,
		    enum chunk_place *how);
int tcpx_lane_chunk_applied(struct session *s, struct tcpx_xfer *x, const struct rx_record *r,
			    bool *done);
/* Must the channel not acknowledge a chunk that has come for an ended message? It waits until it is
 * woken. */
bool tcpx_lane_holds(struct channel *c, const struct tcpx_lane *l);
/* As the channels' settled(). No lock held. */
bool tcpx_lane_settled(struct channel *c, const struct rx_record *r);

#endif
