/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was posted with a session before it opened goes on with its twin, in the same order. Both locks are
 * held, so one who holds either sees where a transfer or a lane is.
 */
#ifndef CORE_TRANSFER_MOVE_H
#define CORE_TRANSFER_MOVE_H

struct session;
struct tcpx_xfer;

/* @to is open. */
void tcpx_xfers_move(struct session *s, struct session *to);
void tcpx_lanes_move(struct session *s, struct session *to);
/* The session of a posted transfer, locked, with a reference; NULL: it is a receive that waits. */
struct session *tcpx_xfer_lock_session(struct tcpx_xfer *x);

#endif
