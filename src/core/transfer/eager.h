/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of lanes that leave before their receives are known, or in a frame, and those kept until their
 * receives are posted. session.lock held. */
#ifndef CORE_TRANSFER_EAGER_H
#define CORE_TRANSFER_EAGER_H

#include "core/transfer/lane_state.h"

/* The lane's next message goes, if it may; @known: its receive has been announced. 1: it has gone, and
 * its memory is free; 0: it may not go so; -EFAULT: its memory cannot be read. */
int tcpx_eager_send(struct tcpx_lane *l, struct tcpx_xfer *x, bool known);

/* May it go before its receive is known, once there is credit and room for it? */
bool tcpx_eager_is_worth(struct tcpx_lane *l, const struct tcpx_xfer *x);

/* May it go by a channel, whose receive is not known? Then its credit is used. */
bool tcpx_eager_by_channel(struct tcpx_lane *l, const struct tcpx_xfer *x);

/* Grants the peer its first credit of the session, if there is room for it. */
void tcpx_eager_begin(struct session *s);
/* The session fails: what is reserved for messages that have not come is given back. */
void tcpx_eager_end(struct session *s);
/* Keeps a message that has come, on credit. 0, or -ENOMEM. */
int tcpx_eager_keep(struct tcpx_lane *l, const struct tcpx_lane_data *d);
/* Keeps one that begins to come by a channel. *x, of the lane: where its chunk goes. 0, -ENOMEM;
 * TCPX_EPROTO: without credit. */
int tcpx_eager_begins_here(struct tcpx_lane *l, uint64_t word, uint32_t len, struct tcpx_xfer **x);
/* ... has come: no channel touches it any more. */
void tcpx_eager_whole(struct tcpx_lane *l, struct early *m);
/* What is kept under that number; NULL: nothing. */
struct early *tcpx_eager_at(struct tcpx_lane *l, uint64_t seq);
/* The same, to be given back. */
struct early *tcpx_eager_take(struct tcpx_lane *l, uint64_t seq);
void tcpx_eager_put(struct tcpx_lane *l, struct early *m);
/* One of @len bytes that has come on credit takes no memory any more: the peer may get a new grant. */
void tcpx_eager_release(struct session *s, uint64_t len);
/* Drops what the lane keeps: all, or all but what the next receives can take now. */
void tcpx_eager_drop(struct tcpx_lane *l, bool all);

#endif
