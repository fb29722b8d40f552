/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of lanes that come: where they go, and what they complete. session.lock held, unless noted. */
#ifndef CORE_TRANSFER_LANE_CHUNKS_H
#define CORE_TRANSFER_LANE_CHUNKS_H

#include <stdbool.h>

#include "core/channel/channel.h"
#include "core/transfer/lane_state.h"

/* As the channels' place() and applied(), for the chunks of a lane. *done: a message is whole. */
int tcpx_lane_place(struct channel *c, const struct tcpx_head *h, struct rx_record *r,
		    enum chunk_place *how);
int tcpx_lane_chunk_applied(struct session *s, struct tcpx_xfer *x, const struct rx_record *r,
			    bool *done);
/* One that was sent on credit has come, to @x or, if that is NULL or has ended, to nobody. 0; TCPX_EFRAME.
 * *done: a message is whole; *over: its credit is to be released. */
int tcpx_lane_early_came(struct session *s, struct tcpx_xfer *x, const struct rx_record *r, bool *done,
			 bool *over);
/* ... does not come to @x, and perhaps again. */
void tcpx_lane_early_missed(struct session *s, struct tcpx_xfer *x);
/* Must the channel not acknowledge a chunk that has come for an ended message? It waits until it is
 * woken. */
bool tcpx_lane_holds(struct channel *c, const struct tcpx_lane *l);
/* As the channels' settled(). No lock held. */
bool tcpx_lane_settled(struct channel *c, const struct rx_record *r);

#endif
