/* SPDX-License-Identifier: Apache-2.0 */
/* Small messages of lanes, in a frame each: how they leave, and those kept until their receives are
 * posted. session.lock held. */
#ifndef CORE_TRANSFER_EAGER_H
#define CORE_TRANSFER_EAGER_H

#include "core/transfer/lane_state.h"

/* The lane's next message goes, if it may; @known: its receive has been announced. 1: it has gone, and
 * its memory is free; 0: it may not go so; -EFAULT: its memory cannot be read; or the session has
 * failed with that code. */
int tcpx_eager_send(struct tcpx_lane *l, struct tcpx_xfer *x, bool known);

/* Grants the peer its first credit of the session, if there is room for it. */
void tcpx_eager_begin(struct session *s);
/* The session fails: what is reserved for messages that have not come is given back. */
void tcpx_eager_end(struct session *s);
/* Keeps a message that has come, on credit. 0, or -ENOMEM. */
int tcpx_eager_keep(struct tcpx_lane *l, const struct tcpx_lane_data *d);
/* The oldest, which the receive just posted takes, to be given back; NULL: none is kept. */
struct early *tcpx_eager_take(struct tcpx_lane *l);
void tcpx_eager_put(struct tcpx_lane *l, struct early *m);
/* One of @len bytes that has come on credit takes no memory any more: the peer may get a new grant. */
void tcpx_eager_release(struct session *s, uint64_t len);
/* Drops all that the lane keeps. */
void tcpx_eager_drop(struct tcpx_lane *l);

#endif
